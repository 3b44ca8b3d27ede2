"""Engine `sqlite`: which library a build names, and what is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine_callbacks import ask_nothing, say_nothing
from stub_programs import stub

from dyno.builds.path import find_system_library
from dyno.engines import find_engine
from dyno.engines.sqlite.builds import CRATE, CRATES
from dyno.errors import HostError, UsageError


def test_an_unknown_version_is_answered_with_its_neighbours() -> None:
    engine = find_engine("sqlite", ask_nothing)
    with pytest.raises(UsageError, match=r"3\.24\.0 and 3\.26\.0"):
        engine.program("3.25.1", {}, say_nothing)
    with pytest.raises(UsageError, match=r"nearest: 3\.54\.1;"):
        engine.program("3.99.0", {}, say_nothing)
    with pytest.raises(UsageError, match=r"unknown sqlite version '3\.5'"):
        engine.program("3.5", {"cflags": "-O3"}, say_nothing)
    with pytest.raises(UsageError, match="did you mean system"):
        engine.program("sistem", {}, say_nothing)


@pytest.mark.usefixtures("own_cache")
def test_the_beginning_of_a_version_means_the_newest_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub(tmp_path / "bin", "cargo", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    engine = find_engine("sqlite", ask_nothing)
    for build, version in (("3.50", "3.50.2"), ("3", "3.54.1"), ("", "3.54.1")):
        with pytest.raises(HostError, match=f"cannot fetch crate {CRATE} {CRATES[version]}"):
            engine.program(build, {}, say_nothing)


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF\x02\x01\x01"])
def test_a_file_that_is_no_library_is_refused_in_one_sentence(
    content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "lib.so"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="is not a SQLite library: ") as caught:
        find_engine("sqlite", ask_nothing).program(str(file), {}, say_nothing)
    assert len(str(caught.value).splitlines()) == 2


def test_another_library_is_refused_too() -> None:
    engine = find_engine("sqlite", ask_nothing)
    with pytest.raises(UsageError, match="is not a SQLite library: undefined symbol"):
        engine.program(str(find_system_library("libc.so.6", "libc6")), {}, say_nothing)


def test_a_library_that_is_built_already_takes_no_flags() -> None:
    with pytest.raises(UsageError, match="takes no flags"):
        find_engine("sqlite", ask_nothing).program("system", {"cflags": "-O3"}, say_nothing)


def test_the_library_of_this_system_describes_itself() -> None:
    engine = find_engine("sqlite", ask_nothing)
    try:
        build = engine.program("system", {}, say_nothing)
    except HostError:
        pytest.skip("this system has no SQLite library")
    assert build.version.startswith("3.") and build.program.is_file()
    assert "THREADSAFE" in build.facts["compile_options"] and len(build.facts["sha256"]) == 64
    again = engine.program(str(build.program), {}, say_nothing)
    assert (again.version, again.facts) == (build.version, build.facts)
