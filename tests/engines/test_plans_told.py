"""What an engine says of a statement's plan, as lines that do not differ by chance."""

from __future__ import annotations

from pathlib import Path

from pgbench_files import sqlite_with_table

from dyno import driver
from dyno.engines import Ask, Explains, find_engine


def explaining(name: str, ask: Ask) -> Explains:
    engine = find_engine(name, ask)
    assert isinstance(engine, Explains)
    return engine


def no_ask(session: object, statements: object) -> list[list[list[str | None]]]:
    raise AssertionError("nobody is asked")


def test_sqlite_tells_its_steps(tmp_path: Path) -> None:
    session = sqlite_with_table(tmp_path)
    driver.ask(session, ["create index i on r (name)"])
    engine = explaining("sqlite", driver.ask)
    (rows,) = driver.ask(session, [f"{engine.explain} select value from r where name = 'x'"])
    assert engine.plan_of(rows) == "SEARCH r USING INDEX i (name=?)"


def test_mysql_leaves_estimates_out_whatever_its_age() -> None:
    engine = explaining("mysql", no_ask)
    old: list[str | None] = [
        "1",
        "SIMPLE",
        "item",
        "ref",
        "name",
        "name",
        "43",
        "const",
        "17",
        "Using where",
    ]
    new = [*old[:3], None, *old[3:9], "100.00", old[9]]
    assert engine.plan_of([old]) == engine.plan_of([new]) == "item ref name Using where"


def test_duckdb_leaves_frames_and_estimates_out() -> None:
    engine = explaining("duckdb", no_ask)
    text = "┌───────┐\n│ SEQ_SCAN  │\n│ Table: item │\n│   ~42 Rows   │\n└───────┘\n"
    assert engine.plan_of([["physical_plan", text]]) == "SEQ_SCAN\nTable: item"
