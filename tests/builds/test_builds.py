"""The sources of builds: what npm, cargo and a path bring, and every refusal."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from types import ModuleType

import pytest
from processes import users_of, wait_for
from stub_programs import SAID, stub

from dyno.builds import SETTLED_S, cache, crate, keep_answers, npm, path
from dyno.errors import HostError, UsageError
from dyno.plugins import load_things

pytestmark = pytest.mark.usefixtures("own_cache")


def test_every_source_offers_fetch() -> None:
    assert {"crate", "npm", "path"} <= set(load_things("dyno.builds", "fetch"))


FETCHED = """
import sys
from dyno.builds import {source}
{source}.fetch("some-thing", "1.2.3", print)
"""


@pytest.mark.parametrize(("source", "client"), [("npm", "npm"), ("crate", "cargo")])
def test_a_client_that_fetches_ends_with_a_killed_dyno(
    source: str, client: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub(tmp_path / "bin", client, f"touch {tmp_path}/begun; sleep 60; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with subprocess.Popen(
        [sys.executable, "-c", FETCHED.format(source=source)], stdout=subprocess.DEVNULL
    ) as process:
        wait_for((tmp_path / "begun").exists)
        process.kill()
    wait_for(lambda: not users_of(tmp_path))
    assert cache.list_entries() == []


def test_a_missing_cargo_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="no cargo") as caught:
        crate.fetch("some-crate", "1.0.0", SAID.append)
    assert "Rust" in caught.value.hint


def test_a_crate_is_what_cargo_vendored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = "grep -q '=1.2.3' Cargo.toml && mkdir -p vendor/some-crate && touch $3/some-crate/a.c"
    stub(tmp_path / "bin", "cargo", script.replace("$3", "vendor"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    folder = crate.fetch("some-crate", "1.2.3", SAID.append)
    assert [file.name for file in folder.iterdir()] == ["a.c"]
    assert SAID == ["fetching crate some-crate 1.2.3"]


def test_what_cargo_complains_of_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub(tmp_path / "bin", "cargo", "echo 'no network today' >&2; exit 101")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(HostError, match="no network today"):
        crate.fetch("some-crate", "1.2.3", SAID.append)
    assert cache.list_entries() == []


def test_a_path_must_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "lib.so"
    file.touch()
    assert path.fetch("library", str(file), SAID.append) == file
    for wrong, why in ((tmp_path, "is a folder"), (tmp_path / "none", "does not exist")):
        with pytest.raises(UsageError, match=why):
            path.fetch("library", str(wrong), SAID.append)


def test_a_library_is_found_where_the_loader_finds_it() -> None:
    assert path.find_system_library("libc.so.6", "libc6").is_file()
    with pytest.raises(HostError, match=r"no libnone\.so\.1") as caught:
        path.find_system_library("libnone.so.1", "libnone1")
    assert "libnone1" in caught.value.hint


def test_npm_that_is_missing_or_offline_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(HostError, match="no npm on PATH") as caught:
        npm.fetch("@some/thing", "1.0.0", SAID.append)
    assert "install Node.js" in caught.value.hint
    speaks = """case "$*" in *--silent*) ;; *) echo 'npm error code ENOTFOUND' >&2;; esac; exit 1"""
    stub(tmp_path / "bin", "npm", speaks)
    with pytest.raises(HostError, match=r"(?s)@some/thing@1\.0\.0.*ENOTFOUND") as caught:
        npm.fetch("@some/thing", "1.0.0", SAID.append)
    assert "mirror" in caught.value.hint
    assert not [entry for entry in cache.list_entries() if entry.kind == "npm"]


@pytest.mark.parametrize(("source", "client"), [(npm, "npm"), (crate, "cargo")])
def test_a_registry_that_never_answers_is_given_up(
    source: ModuleType, client: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    stub(tmp_path / "bin", client, "exec /bin/sleep 30")
    with pytest.raises(HostError, match=f"{client} fetched .*thing.* for 0 s") as caught:
        source.fetch("thing", "1.0.0", SAID.append, limit_s=0.2)
    assert "reachable?" in caught.value.hint


def test_a_package_is_what_npm_packed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "lib.so").write_text("a library")
    with tarfile.open(tmp_path / "it.tgz", "w:gz") as packed:
        packed.add(tmp_path / "package", "package")
    script = f'[ "$1" = pack ] && for last; do :; done; echo $last; cp {tmp_path}/it.tgz it.tgz'
    stub(tmp_path / "bin", "npm", f'{script}; [ "$last" = @some/thing@1.2.3 ]')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    folder = npm.fetch("@some/thing", "1.2.3", SAID.append)
    assert folder.name == "some-thing-1.2.3" and (folder / "lib.so").read_text() == "a library"
    assert SAID == ["fetching npm package @some/thing 1.2.3"]
    monkeypatch.setenv("PATH", "")
    assert npm.fetch("@some/thing", "1.2.3", SAID.append) == folder


def test_a_package_that_reaches_out_of_its_folder_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with tarfile.open(tmp_path / "it.tgz", "w:gz") as packed:
        packed.addfile(tarfile.TarInfo("package/../../evil"))
    stub(tmp_path / "bin", "npm", f"cp {tmp_path}/it.tgz it.tgz")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(HostError, match=r"cannot unpack it\.tgz"):
        npm.fetch("thing", "1.0.0", SAID.append)
    assert not list(tmp_path.rglob("evil"))


def test_a_file_is_asked_again_once_it_changed_and_where_it_failed(tmp_path: Path) -> None:
    asked: list[str] = []

    @keep_answers
    def read(file: Path, word: str) -> str:
        asked.append(word)
        return file.read_text() + word

    program = tmp_path / "program"
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            read(program, "a")
    program.write_text("1")
    assert read(program, "b") == read(program, "b") == "1b", "it may change at once"
    assert asked == ["a", "a", "b", "b"]
    _let_settle(program)
    assert [read(program, word) for word in "cdcd"] == ["1c", "1d", "1c", "1d"]
    assert asked[4:] == ["c", "d"]
    program.write_text("2")
    os.utime(program, (0, 0))
    _let_settle(program)
    assert read(program, "c") == "2c", "same length, and no time of writing tells"


def _let_settle(file: Path) -> None:
    while abs(time.time() - file.stat().st_ctime) < SETTLED_S:
        time.sleep(0.05)
