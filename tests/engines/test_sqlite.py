"""Engine `sqlite`: settings and settling, asked through Python's own SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from engine_callbacks import ask_nothing

from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import find_engine
from dyno.engines.sqlite import OPTIONS, Engine
from dyno.errors import TrialFailed, UsageError


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


BUILD = Build("sqlite", "test", "3", Path("/lib/none.so"))


def test_settings_are_read_back_as_they_were_asked_for(tmp_path: Path) -> None:
    engine = find_engine("sqlite", _ask)
    asked = {"journal_mode": "DELETE", "page_size": "8192", "synchronous": "full"}
    server = engine.start(BUILD, tmp_path, asked)
    found = engine.settings(server)
    assert found["version"] == sqlite3.sqlite_version
    assert (found["journal_mode"], found["page_size"]) == ("delete", "8192")
    assert found["synchronous"] == "full" and set(found) == {*OPTIONS, "version"}


def test_the_size_of_a_page_holds_under_the_default_journal(tmp_path: Path) -> None:
    engine = find_engine("sqlite", _ask)
    server = engine.start(BUILD, tmp_path, {"page_size": "16384"})
    found = engine.settings(server)
    assert (found["journal_mode"], found["page_size"]) == ("wal", "16384")


def test_a_setting_that_the_engine_did_not_take_fails_the_trial(tmp_path: Path) -> None:
    def refusing(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        kept = [pair for pair in session["pragmas"] if pair[0] != "journal_mode"]
        return _ask({**session, "pragmas": kept}, statements)

    engine = find_engine("sqlite", refusing)
    with pytest.raises(TrialFailed, match="journal_mode=delete, though wal"):
        engine.settings(engine.start(BUILD, tmp_path, {}))


def test_a_library_that_knows_no_pragma_is_weighed_without(tmp_path: Path) -> None:
    def answer_nothing(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        return [[["3"]] if "version" in it else [] for it in statements]

    engine = Engine(answer_nothing)
    server = engine.start(BUILD, tmp_path, {"profile": "stock"})
    weighed = engine.weigh(server, {}, engine.settings(server))
    assert (weighed.survives, weighed.cache_bytes) == ("", 2000 * 1024)


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
        find_engine("sqlite", ask_nothing).start(BUILD, tmp_path, {name: value})
    assert hint in caught.value.hint


def test_settling_empties_the_log_and_analyses(tmp_path: Path) -> None:
    engine = find_engine("sqlite", _ask)
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
    engine = find_engine("sqlite", _ask)
    server = engine.start(BUILD, tmp_path, {"busy_timeout": "10"})
    with closing(sqlite3.connect(server.session["database"], isolation_level=None)) as other:
        other.executescript("PRAGMA journal_mode=wal; CREATE TABLE t (a); INSERT INTO t VALUES(1)")
        other.execute("BEGIN")
        other.execute("SELECT * FROM t").fetchall()
        with pytest.raises(TrialFailed, match="could not finish its checkpoint"):
            engine.settle(server)
