"""The engines' room: every engine keeps the door's promises; null and sqlite in particular."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from dyno.builds import Build
from dyno.builds.path import library
from dyno.engines import Ask, Checks, find
from dyno.engines.null import delay_ns
from dyno.errors import HostError, TrialFailed, UsageError
from dyno.plan import Session
from dyno.plugins import modules

ROOM = sorted(modules("dyno.engines"))
VERBS = ("program", "start", "settings", "settle", "stop")


def _ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
    """What the driver's `ask` does, by Python's own SQLite; it never waits for a lock."""
    with closing(sqlite3.connect(session["database"], 0.0, isolation_level=None)) as connection:
        for name, value in session["pragmas"]:
            if name == "busy_timeout":
                continue
            connection.execute(f"PRAGMA {name}={value}").fetchall()
        return [
            [
                [None if field is None else str(field) for field in row]
                for row in connection.execute(sql)
            ]
            for sql in statements
        ]


def _never(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
    raise AssertionError(f"asked {statements} of {session}")


def _quiet(clause: str) -> None:
    assert clause


BUILD = Build("sqlite", "test", "3", Path("/lib/none.so"))


@pytest.mark.parametrize("name", ROOM)
def test_an_engine_has_the_verbs_and_describes_its_options(name: str) -> None:
    engine = find(name, _never)
    assert all(callable(getattr(engine, verb)) for verb in VERBS)
    assert isinstance(engine.embedded, bool) and isinstance(engine.versions, tuple)
    for default, meaning in (*engine.options.values(), *engine.flags.values()):
        assert isinstance(default, str) and meaning
    assert not set(engine.options) & set(engine.flags)


def test_an_unknown_engine_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="sqlite"):
        find("sqlight", _never)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("200us", 200_000), ("1.5ms", 1_500_000), ("2s", 2_000_000_000), ("7µs", 7_000)],
)
def test_a_delay_is_read_in_ns(text: str, expected: int, tmp_path: Path) -> None:
    engine = find("null", _never)
    server = engine.start(engine.program(text, {}, _quiet), tmp_path, {})
    assert server.session == {"kind": "null", "delay_ns": expected}
    assert engine.settings(server) == {"delay_ns": str(expected)}


def test_bare_null_answers_at_once() -> None:
    assert find("null", _never).program("", {}, _quiet).facts["delay_ns"] == "0"


@pytest.mark.parametrize("text", ["200", "us", "-5us", "1h", "fast", "1e3us", "61s", ""])
def test_what_is_no_delay_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        delay_ns(text)
    assert caught.value.hint


def test_an_unknown_version_is_answered_with_its_neighbours() -> None:
    engine = find("sqlite", _never)
    with pytest.raises(UsageError, match=r"3\.24\.0 and 3\.26\.0"):
        engine.program("3.25.1", {}, _quiet)
    with pytest.raises(UsageError, match=r"nearest: 3\.54\.1;"):
        engine.program("3.99.0", {}, _quiet)
    with pytest.raises(UsageError, match=r"unknown sqlite version '3\.45'"):
        engine.program("3.45", {"cflags": "-O3"}, _quiet)
    with pytest.raises(UsageError, match="did you mean system"):
        engine.program("sistem", {}, _quiet)


@pytest.mark.parametrize(
    ("engine", "build", "flags", "settings"),
    [
        ("null", "soon", {}, {}),
        ("sqlite", "3.99.0", {}, {}),
        ("sqlite", "system", {"cflags": "-O3"}, {}),
        ("sqlite", "3.54.1", {}, {"journal_mode": "wall"}),
        ("duckdb", "1.0.0", {}, {}),
        ("duckdb", "1.4.4", {"cflags": "-O3"}, {}),
        ("duckdb", "1.4.4", {}, {"memory_limit": "much"}),
        ("duckdb", "1.4.4", {}, {"threads": "0"}),
        ("duckdb", "1.4.4", {}, {"preserve_insertion_order": "perhaps"}),
    ],
)
def test_a_wrong_word_is_known_before_anything_is_built(
    engine: str, build: str, flags: dict[str, str], settings: dict[str, str]
) -> None:
    found = find(engine, _never)
    assert isinstance(found, Checks)
    found.check("", {}, {})
    with pytest.raises(UsageError):
        found.check(build, flags, settings)


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF\x02\x01\x01"])
def test_a_file_that_is_no_library_is_refused_in_one_sentence(
    content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "lib.so"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="is not a SQLite library: ") as caught:
        find("sqlite", _never).program(str(file), {}, _quiet)
    assert len(str(caught.value).splitlines()) == 2


def test_another_library_is_refused_too() -> None:
    engine = find("sqlite", _never)
    with pytest.raises(UsageError, match="is not a SQLite library: undefined symbol"):
        engine.program(str(library("libc.so.6", "libc6")), {}, _quiet)


def test_a_library_that_is_built_already_takes_no_flags() -> None:
    with pytest.raises(UsageError, match="not compiled here"):
        find("sqlite", _never).program("system", {"cflags": "-O3"}, _quiet)


def test_the_library_of_this_system_describes_itself() -> None:
    engine = find("sqlite", _never)
    try:
        build = engine.program("system", {}, _quiet)
    except HostError:
        pytest.skip("this system has no SQLite library")
    assert build.version.startswith("3.") and build.program.is_file()
    assert "THREADSAFE" in build.facts["compile_options"] and len(build.facts["sha256"]) == 64
    again = engine.program(str(build.program), {}, _quiet)
    assert (again.version, again.facts) == (build.version, build.facts)


def test_settings_are_read_back_as_they_were_asked_for(tmp_path: Path) -> None:
    engine = find("sqlite", _ask)
    asked = {"journal_mode": "DELETE", "page_size": "8192", "synchronous": "full"}
    server = engine.start(BUILD, tmp_path, asked)
    found = engine.settings(server)
    assert found["version"] == sqlite3.sqlite_version
    assert (found["journal_mode"], found["page_size"]) == ("delete", "8192")
    assert found["synchronous"] == "full" and set(found) == {*engine.options, "version"}


def test_the_size_of_a_page_holds_under_the_default_journal(tmp_path: Path) -> None:
    engine = find("sqlite", _ask)
    server = engine.start(BUILD, tmp_path, {"page_size": "16384"})
    found = engine.settings(server)
    assert (found["journal_mode"], found["page_size"]) == ("wal", "16384")


def test_a_setting_that_the_engine_did_not_take_fails_the_trial(tmp_path: Path) -> None:
    def refusing(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        kept = [pair for pair in session["pragmas"] if pair[0] != "journal_mode"]
        return _ask({**session, "pragmas": kept}, statements)

    engine = find("sqlite", refusing)
    with pytest.raises(TrialFailed, match="journal_mode=delete, though wal"):
        engine.settings(engine.start(BUILD, tmp_path, {}))


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("journal_mode", "wall", "wal"),
        ("journal_mod", "wal", "journal_mode"),
        ("synchronous", "3", "known"),
        ("cache_size", "big", "whole number"),
        ("page_size", "5000", "power of two"),
        ("mmap_size", "-1", "from 0 on"),
        ("busy_timeout", "--1", "whole number"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_would_be_right(
    name: str, value: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        find("sqlite", _never).start(BUILD, tmp_path, {name: value})
    assert hint in caught.value.hint


def test_settling_empties_the_log_and_analyses(tmp_path: Path) -> None:
    engine = find("sqlite", _ask)
    server = engine.start(BUILD, tmp_path, {})
    with closing(sqlite3.connect(server.session["database"])) as writer:
        writer.executescript("PRAGMA journal_mode=wal; CREATE TABLE t (a); CREATE INDEX i ON t(a)")
        writer.execute("INSERT INTO t VALUES (1)")
        writer.commit()
        log = Path(server.session["database"] + "-wal")
        assert log.stat().st_size > 0
        engine.settle(server)
        assert log.stat().st_size == 0
        assert writer.execute("SELECT count(*) FROM sqlite_stat1").fetchone() == (1,)


def test_a_checkpoint_that_a_reader_prevents_fails_the_trial(tmp_path: Path) -> None:
    engine = find("sqlite", _ask)
    server = engine.start(BUILD, tmp_path, {"busy_timeout": "10"})
    with closing(sqlite3.connect(server.session["database"], isolation_level=None)) as other:
        other.executescript("PRAGMA journal_mode=wal; CREATE TABLE t (a); INSERT INTO t VALUES(1)")
        other.execute("BEGIN")
        other.execute("SELECT * FROM t").fetchall()
        with pytest.raises(TrialFailed, match="could not finish its checkpoint"):
            engine.settle(server)


def _reporting(**other: str) -> Ask:
    """A DuckDB that reports sizes as it does, and `other` in the place of what it was told."""

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        told = dict(session["settings"]) | {"memory_limit": "1.0 GiB"}
        told |= {"checkpoint_threshold": "16.0 MiB", "temp_directory": session["database"]} | other
        return [[[name, value] for name, value in told.items()], [["v1.4.4"]]]

    return ask


def test_sizes_are_compared_as_sizes_and_paths_of_the_trial_are_left_out(tmp_path: Path) -> None:
    engine = find("duckdb", _reporting())
    found = engine.settings(engine.start(BUILD, tmp_path, {"memory_limit": "1024MiB"}))
    assert set(found) == {*engine.options, "version"} and found["version"] == "1.4.4"


@pytest.mark.parametrize("other", [{"memory_limit": "1.2 GiB"}, {"threads": "2"}])
def test_a_duckdb_that_runs_with_other_settings_fails_the_trial(
    other: dict[str, str], tmp_path: Path
) -> None:
    engine = find("duckdb", _reporting(**other))
    with pytest.raises(TrialFailed, match="was asked for"):
        engine.settings(engine.start(BUILD, tmp_path, {}))


def test_what_is_no_duckdb_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nearest: 1\.5\.6; or a build"):
        find("duckdb", _never).program("2.0.0", {}, _quiet)
    with pytest.raises(UsageError, match="is not a DuckDB library: undefined symbol"):
        find("duckdb", _never).program(str(library("libc.so.6", "libc6")), {}, _quiet)


def test_a_damaged_build_in_the_cache_is_told_with_the_way_to_have_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libduckdb.so").write_bytes(b"half of it")
    monkeypatch.setattr("dyno.engines._duckdb_builds.npm.fetch", lambda *_: tmp_path)
    with pytest.raises(HostError, match="is not a DuckDB library: ") as caught:
        find("duckdb", _never).program("1.4.4", {}, _quiet)
    assert caught.value.message == f"{tmp_path.name} in the cache is damaged"
    assert caught.value.hint.startswith(f"`dyno clean {tmp_path.name} --yes` removes it")
