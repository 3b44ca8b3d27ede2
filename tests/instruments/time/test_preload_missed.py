"""A cache that could not be filled is not recorded as filled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dyno.driver.plan import Session
from dyno.engines import MISSED, Server, postgres
from dyno.engines.postgres import settle
from dyno.instruments.time.controls import ControlStack, fill_cache
from dyno.instruments.time.job import TrialNotes

TABLES = [["big", "r"], ["big_pkey", "i"]]


def preloaded(installed: str, handle: object) -> tuple[dict[str, str], list[str]]:
    asked: list[str] = []

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        asked.extend(statements)
        rows: list[list[str | None]] = [[*row] for row in TABLES]
        return [[[installed]], rows] if len(statements) > 1 else [[]]

    return settle.preload(ask, Server({}, Path(), handle=handle)), asked[2:]


def test_nothing_is_installed_on_a_server_that_runs_already() -> None:
    found, asked = preloaded("f", None)
    assert asked == ["SELECT count(*) FROM big"]
    assert found == {"read": "1 tables", MISSED: settle.UNFILLED}


def test_what_is_installed_there_is_used() -> None:
    found, asked = preloaded("t", None)
    assert asked == ["SELECT pg_prewarm('big')", "SELECT pg_prewarm('big_pkey')"]
    assert found == {"read": "1 tables, 1 indexes by pg_prewarm"}


def test_a_cache_that_was_not_filled_is_not_recorded_as_held() -> None:
    class Unfilled(postgres.Engine):
        def preload(self, server: Server) -> dict[str, str]:
            return {"read": "1 tables", MISSED: "no pg_prewarm"}

    engine = Unfilled(lambda session, statements: [])
    notes = TrialNotes(controls={"preload": {"before": "as it was", "set": "on"}})
    fill_cache(ControlStack(preload="preload"), notes, engine, Server({}, Path()))
    kept = notes.controls["preload"]
    assert "set" not in kept and kept["refused"] == "no pg_prewarm"
