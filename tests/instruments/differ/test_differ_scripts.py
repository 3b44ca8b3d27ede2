"""What is asked of which version, what a release note explains, and how a script gets shorter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

import pytest

from dyno.errors import UsageError
from dyno.instruments.differ.grammar import (
    HERE,
    KnownChange,
    SharedDialect,
    join_sides,
    list_changes,
    parse_version,
    read_side,
)
from dyno.instruments.differ.judgement import AnswerDifference, explain
from dyno.instruments.differ.scripts import make_script
from dyno.instruments.differ.tree import (
    MadeStatement,
    Reducer,
    SqlNode,
    list_tags,
    make_list,
    make_optional,
    remove_tag,
)

ENGINES = sorted(it.stem for it in HERE.glob("*.toml"))


def join(engine: str, one: str, other: str) -> SharedDialect:
    return join_sides(read_side(engine, one), read_side(engine, other))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_s_file_makes_scripts_and_its_changes_are_told(engine: str) -> None:
    side = read_side(engine, "999.0")
    made = join_sides(side, side)
    assert all(make_script(made, 1, number) for number in range(20))
    assert all(it.what and it.since for it in side.file.change)
    needed = {sort for each in made.templates.values() for one in each for sort in one[1::2]}
    known = {*made.literals, *made.grammar, "total", "order", "frame", "rows", "keys"}
    assert needed <= known


@pytest.mark.parametrize(("one", "other"), [*combinations(ENGINES, 2)])
def test_two_engines_share_what_both_can_write_down(one: str, other: str) -> None:
    sides = read_side(one, "999.0"), read_side(other, "999.0")
    # these two write types and literals as no other does
    if len({"postgres", "duckdb"} & {one, other}) == 1:
        with pytest.raises(UsageError, match="share too little SQL"):
            join_sides(*sides)
        return
    both = join_sides(*sides)
    assert all(make_script(both, 1, number) for number in range(60))


def test_only_what_both_versions_understand_is_asked() -> None:
    old, new = join("sqlite", "3.24.0", "3.54.1"), join("sqlite", "3.46.0", "3.54.1")
    assert "windows" not in old.features and "windows" in new.features
    texts = "\n".join(it.sql for number in range(60) for it in make_script(old, 1, number))
    assert " OVER " not in texts and "RETURNING" not in texts and "LEFT JOIN" in texts
    assert "ctes" not in join("mysql", "5.6.14", "8.0.33").features
    both = join_sides(read_side("mysql", "9.7.4"), read_side("mariadb", "11.8.9"))
    assert "expression_indexes" not in both.features and "windows" in both.features
    with pytest.raises(UsageError, match="knows no SQL of redis"):
        read_side("redis", "8.0")


def test_a_change_lies_between_two_versions() -> None:
    old, mid, new = (read_side("sqlite", it) for it in ("3.24.0", "3.46.0", "3.54.1"))
    early, late = list_changes(old, mid), list_changes(mid, new)
    assert early and late == list_changes(new, mid)
    whole = list_changes(old, new)
    assert len(whole) == len(early) + len(late) and all(it in whole for it in (*early, *late))
    assert parse_version("10.11.5-MariaDB") == (10, 11, 5)


def test_a_pattern_alone_explains_no_long_script() -> None:
    change = KnownChange(
        "views", "notes", pattern="GROUP BY", since="2", classes=("order differs",)
    )
    found = AnswerDifference(0, "order differs", "why", ("'1'",), ("'2'",))
    texts = ["SELECT 1 GROUP BY 1"]
    assert explain([change], found, texts, reduced=True) is change
    assert explain([change], found, texts, reduced=False) is None
    other = AnswerDifference(0, "rows differ", "why", ("'1'",), ("'2'",))
    assert explain([change], other, texts, reduced=True) is None
    told = KnownChange("views", "notes", error="no such view")
    refused = AnswerDifference(
        0, "error on one side", "", ("x",), ("(no error)",), "No such view v"
    )
    assert explain([told], refused, texts, reduced=False) is told
    assert refused.side == "base" and refused.tells_enough


def test_a_script_loses_all_that_does_not_matter() -> None:
    def shows(script: Sequence[MadeStatement]) -> bool:
        first, last = script[0].sql, script[-1].sql
        return first.startswith("MAKE") and "b" in first and "bad(" in last

    columns = [SqlNode((name,), tag=name) for name in "abc"]
    call = SqlNode(("bad(", SqlNode(("7",), "int", ("1",)), ")"), "int")
    deep = SqlNode(("(2 + ", SqlNode(("(", call, " + 3)"), "int"), ")"), "int", ("1",))
    script = [
        MadeStatement(SqlNode(("MAKE (", make_list(columns), ")"))),
        *(MadeStatement(SqlNode((f"NOISE {at}",))) for at in range(9)),
        MadeStatement(SqlNode(("ASK ", deep, make_optional(" WHERE ", deep)))),
    ]
    reducer = Reducer(shows)
    assert [it.sql for it in reducer.shorten(script)] == ["MAKE (b)", "ASK 1 WHERE bad(1)"]
    assert reducer.is_left and reducer.trials < 200
    assert remove_tag(script[0].tree, "a").text == "MAKE (b, c)"


def test_a_list_that_is_kept_loses_nothing_but_by_its_tags() -> None:
    keys = make_list([SqlNode(("a",), tag="a"), SqlNode(("b",))], " ORDER BY ", kept=True)
    script = [MadeStatement(SqlNode(("ASK", keys)))]
    made = Reducer(lambda it: "b" in it[-1].sql).shorten(script)
    assert made[0].sql == "ASK ORDER BY b"
    assert remove_tag(keys, "a").text == " ORDER BY b"


def test_the_key_by_which_rows_are_ordered_goes_only_with_its_table() -> None:
    dialect, gone = join("postgres", "18", "18"), 0
    for number in range(30):
        for made in make_script(dialect, 1, number):
            for tag in (it for it in list_tags(made.tree) if re.fullmatch(r"a\d+", it)):
                gone += 1
                assert f" AS {tag}" not in remove_tag(made.tree, tag).text, made.sql
    assert gone > 100
