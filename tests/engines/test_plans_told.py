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
    assert engine.extract_plan(rows) == "SEARCH r USING INDEX i (name=?)"


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
    assert (
        engine.extract_plan([old])
        == engine.extract_plan([new])
        == "item: ref by name (Using where)"
    )
    scan = [*old[:3], "ALL", *([None] * 5), "Using where; Using filesort"]
    turned = [*scan[:9], "Using filesort; Using where"]
    assert engine.extract_plan([scan]) == engine.extract_plan([turned])
    assert engine.extract_plan([scan]) == "item: full table scan (Using filesort, Using where)"
    nothing = "Impossible WHERE noticed after reading const tables"
    assert engine.extract_plan([["1", "SIMPLE", *([None] * 7), nothing]]) == "", (
        "nothing was planned"
    )


def test_postgres_leaves_values_casts_and_words_of_single_versions_out() -> None:
    engine = explaining("postgres", no_ask)
    told = {
        " Index Scan using t_pkey on t2\n   Index Cond: ((c)::text = 'it''s 7'::text)",
        " Index Scan using t_pkey on t2\n   Index Cond: (c = 'other'::character varying(9))",
    }
    shapes = {engine.extract_plan([[line] for line in text.splitlines()]) for text in told}
    assert shapes == {" Index Scan using t_pkey on t2\n   Index Cond: (c = ?)"}
    one = ["Gather", "  Workers Planned: 2", "  ->  Seq Scan on t1", "        Filter: (id > $0)"]
    one += ["        Disabled: true", "  InitPlan 1 (returns $0)"]
    other = ["Gather", "  ->  Seq Scan on t1", "        Filter: (id > (InitPlan 1).col1)"]
    other += ["  InitPlan 1"]
    assert engine.extract_plan([[it] for it in one]) == engine.extract_plan([[it] for it in other])
    kept = ["Index Scan using sbtest1_pkey on sbtest1", "  Index Cond: (id = 17)"]
    assert engine.extract_plan([[it] for it in kept]).splitlines()[0] == kept[0]


def test_sqlite_tells_the_same_in_the_words_of_all_versions() -> None:
    engine = explaining("sqlite", no_ask)
    for old, new in (("SCAN TABLE r", "SCAN r"), ("SEARCH TABLE r USING x", "SEARCH r USING x")):
        assert engine.extract_plan([["0", old]]) == engine.extract_plan([["0", new]]) == new


def test_duckdb_leaves_frames_and_estimates_out() -> None:
    engine = explaining("duckdb", no_ask)
    text = "┌───────┐\n│ SEQ_SCAN  │\n│ Table: item │\n│   ~42 Rows   │\n└───────┘\n"
    assert engine.extract_plan([["physical_plan", text]]) == "SEQ_SCAN\nTable: item"
