"""What an engine says of a statement's plan, as lines that do not differ by chance."""

from __future__ import annotations

from pathlib import Path

import pytest
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


def test_mysql_says_rows_of_values_whatever_an_age_calls_their_plan() -> None:
    engine = explaining("mysql", no_ask)
    old = ["1", "SIMPLE", *([None] * 7), "No tables used"]
    new = ["1", "INSERT", "sbtest1", None, "ALL", *([None] * 7)]
    ours = ["1", "REPLACE", "sbtest1", "ALL", *([None] * 6)]
    assert {engine.extract_plan([row]) for row in (old, new, ours)} == {"rows of values"}
    read = ["1", "SIMPLE", "item", None, "ALL", *([None] * 7)]
    assert engine.extract_plan([new, read]) == "item: full table scan", "INSERT … SELECT reads"


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SCAN TABLE r", "SCAN r"),
        ("SEARCH TABLE r USING x", "SEARCH r USING x"),
        ("SCAN 100 CONSTANT ROWS", "SCAN 100-ROW VALUES CLAUSE"),
        ("LIST SUBQUERY", "LIST SUBQUERY 1"),
        ("CORRELATED SCALAR SUBQUERY", "CORRELATED SCALAR SUBQUERY 1"),
        ("SCAN TABLE t AS x", "SCAN x"),
        ("SEARCH u USING INDEX i (a=?)", "SEARCH u USING INDEX i (a=?) LEFT-JOIN"),
        ("USE TEMP B-TREE FOR RIGHT PART OF ORDER BY", "USE TEMP B-TREE FOR LAST TERM OF ORDER BY"),
        ("MULTI-INDEX OR|SEARCH t", "MULTI-INDEX OR|INDEX 1|SEARCH t"),
        ("CO-ROUTINE 0x5A|SCAN TABLE t|SCAN SUBQUERY 0x5A", "CO-ROUTINE v|SCAN t|SCAN v"),
        ("MATERIALIZE 1|SEARCH SUBQUERY 1 USING x", "MATERIALIZE c|SEARCH c USING x"),
        ("MATERIALIZE 1|SEARCH SUBQUERY 1 AS y USING x", "MATERIALIZE c|SEARCH y USING x"),
    ],
)
def test_sqlite_tells_the_same_in_the_words_of_all_versions(old: str, new: str) -> None:
    engine = explaining("sqlite", no_ask)
    plans = [engine.extract_plan(make_steps(it)) for it in (old, new)]
    assert plans[0] == plans[1]


def make_steps(words: str) -> list[list[str | None]]:
    """Rows of `EXPLAIN QUERY PLAN`, none below another."""
    return [[str(at), "0", "0", step] for at, step in enumerate(words.split("|"), 1)]


#: A recursive query over a tree, joined with its table again, in the words of five versions.
RECURSIVE = {
    "3.24": ("MATERIALIZE 0x55ED", "SCAN TABLE t AS u", "SEARCH SUBQUERY 0x55ED USING x"),
    "3.31": ("MATERIALIZE 2", "SCAN TABLE t AS u", "SEARCH SUBQUERY 2 USING x"),
    "3.37": ("MATERIALIZE t", "SCAN u", "SEARCH t USING x"),
}


def test_a_recursive_query_of_sqlite_has_one_plan_in_all_versions() -> None:
    engine = explaining("sqlite", no_ask)

    def extract(made: str, repeated: str, read: str) -> str:
        rows = [("2", "0", made), ("5", "2", "SETUP"), ("6", "5", "SEARCH n USING y")]
        rows += [("29", "2", "RECURSIVE STEP"), ("30", "29", repeated), ("80", "0", read)]
        return engine.extract_plan([[at, parent, "0", words] for at, parent, words in rows])

    plans = {version: extract(*words) for version, words in RECURSIVE.items()}
    assert len(set(plans.values())) == 1, plans
    by_name = [
        ("MATERIALIZE 2", "SCAN TABLE t", "SCAN SUBQUERY 2"),
        ("CO-ROUTINE t", "SCAN t", "SCAN t"),
    ]
    own, theirs = (extract(*words).splitlines()[1:] for words in by_name)
    assert own == theirs and own[-2:] == ["SCAN t", "SCAN SUBQUERY"]
    assert extract("MATERIALIZE t", "SCAN t", "SCAN t") != extract(
        "MATERIALIZE t", "SEARCH t USING x", "SCAN t"
    )


@pytest.mark.parametrize(
    ("base", "candidate"),
    [
        ("SCAN t", "SEARCH t USING INDEX i (a=?)"),
        ("SCAN t USING INDEX i", "SCAN t USING COVERING INDEX i"),
        ("SCAN 2-ROW VALUES CLAUSE", "SCAN 3-ROW VALUES CLAUSE"),
        ("SEARCH u USING INDEX i (a=?)", "BLOOM FILTER ON u (a=?)|SEARCH u USING INDEX i (a=?)"),
    ],
)
def test_another_plan_of_sqlite_stays_another(base: str, candidate: str) -> None:
    engine = explaining("sqlite", no_ask)
    plans = [engine.extract_plan(make_steps(it)) for it in (base, candidate)]
    assert plans[0] != plans[1]


def test_duckdb_leaves_frames_and_estimates_out() -> None:
    engine = explaining("duckdb", no_ask)
    text = "┌───────┐\n│ SEQ_SCAN  │\n│ Table: item │\n│   ~42 Rows   │\n└───────┘\n"
    assert engine.extract_plan([["physical_plan", text]]) == "SEQ_SCAN\nTable: item"
