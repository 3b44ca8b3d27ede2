"""Asked again and again over one connection: kept while it answers, begun anew after a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.driver import Conversation
from dyno.driver.plan import Session
from dyno.errors import TrialFailed

#: The first on a machine waits for SQLite to be compiled.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def sqlite(tmp_path: Path) -> Session:
    from dyno import driver
    from dyno.engines import find_engine

    engine = find_engine("sqlite", driver.ask)
    build = engine.program("", {}, lambda _: None)
    return engine.start(build, tmp_path, {}).session


def test_a_connection_is_kept_until_a_statement_fails(tmp_path: Path) -> None:
    session = sqlite(tmp_path)
    with Conversation(20) as ask:
        ask(session, ["CREATE TEMPORARY TABLE kept (n INTEGER)", "INSERT INTO kept VALUES (7)"])
        # a temporary table is its connection's alone
        assert ask(session, ["SELECT n FROM kept"]) == [[["7"]]]
        with pytest.raises(TrialFailed, match="no_such_table"):
            ask(session, ["SELECT * FROM no_such_table"])
        with pytest.raises(TrialFailed, match="kept"):
            ask(session, ["SELECT n FROM kept"])
        assert ask(session, ["SELECT 1", "SELECT 2"]) == [[["1"]], [["2"]]]


def test_another_session_is_opened_in_place_of_the_first(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = sqlite(tmp_path / "one"), sqlite(tmp_path / "two")
    with Conversation(20) as ask:
        ask(one, ["CREATE TABLE t (n INTEGER)"])
        assert ask(two, ["SELECT count(*) FROM sqlite_master"]) == [[["0"]]]
        assert ask(one, ["SELECT count(*) FROM sqlite_master"]) == [[["1"]]]
