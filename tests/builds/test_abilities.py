"""What a build lacks is asked once, kept with it in the cache, and told."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dyno.builds import Build, cache
from dyno.builds.abilities import keep_abilities, list_uneven_abilities, read_abilities
from dyno.builds.source.build import Named, name_build
from dyno.cli import engines
from dyno.engines._builds import build_lacking_error

pytestmark = pytest.mark.usefixtures("own_cache")


def put_build(name: str) -> Build:
    """A build from source in the cache, by name, of which nothing is asked."""

    def make(folder: Path) -> None:
        (folder / "postgres").touch()
        (folder / "build.json").write_text('{"version": "17.1", "label": "it", "facts": {}}')

    prefix = cache.ensure_entry("built", name, make, lambda _: None)
    name_build("postgres", name, Named(name, "/there"))
    return Build("postgres", name, "17.1", prefix / "postgres")


def test_a_build_is_asked_when_it_is_first_started_and_never_again() -> None:
    build, asked = put_build("old"), list[str]()

    def ask() -> dict[str, bool]:
        asked.append("once")
        return {"JIT": False, "LZ4": True, "TLS": False}

    assert read_abilities("old") is None
    keep_abilities(build, ask)
    keep_abilities(build, ask)
    assert asked == ["once"]
    assert read_abilities("old") == {"JIT": False, "LZ4": True, "TLS": False}


def test_a_program_that_is_not_the_caches_is_not_asked(tmp_path: Path) -> None:
    def ask() -> dict[str, bool]:
        raise AssertionError

    keep_abilities(Build("postgres", "mine", "17.1", tmp_path / "postgres"), ask)


def test_what_one_build_lacks_and_another_has_is_told_of_those_that_were_asked() -> None:
    builds = {name: put_build(name) for name in ("old", "new", "unasked")}
    keep_abilities(builds["old"], lambda: {"JIT": False, "LZ4": False, "TLS": True, "PAM": False})
    assert list(list_uneven_abilities(builds)) == []
    keep_abilities(builds["new"], lambda: {"JIT": True, "LZ4": True, "TLS": False, "PAM": False})
    assert list(list_uneven_abilities(builds)) == [
        "old lacks JIT, LZ4, which another's build has",
        "new lacks TLS, which another's build has",
    ]


def test_the_list_says_what_each_build_lacks_or_that_nobody_asked() -> None:
    put_build("new")
    keep_abilities(put_build("old"), lambda: {"JIT": False, "LZ4": True, "TLS": False})
    done = CliRunner().invoke(engines.command, ["list", "postgres", "--details"])
    lines = [line.split(maxsplit=1) for line in done.output.splitlines()]
    assert ["postgres@source:old", "JIT, TLS"] in lines
    (new,) = (words for name, words in lines if name == "postgres@source:new")
    assert new == "not asked: a server is, when it is first started"


def test_the_refusal_names_setting_ability_and_what_it_is_for() -> None:
    error = build_lacking_error(put_build("old"), "wal_compression=lz4", "LZ4")
    assert error.message == "wal_compression=lz4 needs a build with LZ4, which postgres 17.1 lacks"
    assert "compresses" in str(error.cause)
