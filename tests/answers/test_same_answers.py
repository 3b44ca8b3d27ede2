"""When two answers are the same: the field's known traps, each part of an answer, each type."""

from __future__ import annotations

from typing import Any

import pytest

from dyno.answers import Answer, Column, Notice, Refusal, Sameness, compare_answers

Cell = str | None


def answer(*rows: tuple[Cell, ...] | Cell, types: str = "", **parts: Any) -> Answer:
    """An answer of these rows (a bare cell is a row of one), its columns a, b, … of these types."""
    whole = tuple(row if isinstance(row, tuple) else (row,) for row in rows)
    width = max([len(types.split(";")), *map(len, whole)])
    kinds = [*(it.strip() for it in types.split(";")), *[""] * width]
    columns = tuple(Column("abcdef"[at], kinds[at]) for at in range(width))
    return Answer(**({"columns": columns, "rows": whole} | parts))


def compare(
    base: Answer, other: Answer, sql: str = "SELECT a FROM t", kind: str = "postgres", **how: Any
) -> Sameness:
    found = compare_answers(base, other, sql, kind=kind, **how)
    assert found.word == compare_answers(other, base, sql, kind=kind, **how).word, "not symmetric"
    return found


TIES = (("1", "x"), ("1", "y"), ("2", "z"))
PERMUTED = (("1", "y"), ("1", "x"), ("2", "z"))
UNSORTED = (("2", "z"), ("1", "x"), ("1", "y"))


@pytest.mark.parametrize(
    ("sql", "rows", "word"),
    [
        ("SELECT a, b FROM t ORDER BY a", PERMUTED, "same"),
        ("SELECT a, b FROM t ORDER BY a", UNSORTED, "differs"),
        ("SELECT a, b FROM t ORDER BY a, b", PERMUTED, "differs"),
        ("SELECT a, b FROM t ORDER BY 1", UNSORTED, "differs"),
        ("SELECT a, b FROM t ORDER BY 1, 2 DESC NULLS LAST", PERMUTED, "differs"),
        ("SELECT a AS n, b FROM t ORDER BY n", UNSORTED, "differs"),
        ("SELECT abs(a) n, b FROM t ORDER BY ABS( a )", UNSORTED, "differs"),
        ("SELECT t.a, t.b FROM t ORDER BY a DESC", UNSORTED, "differs"),
        ("SELECT * FROM t ORDER BY t.a", UNSORTED, "differs"),
        ("SELECT a, b FROM t UNION ALL SELECT c, d FROM u ORDER BY a", UNSORTED, "differs"),
        ("(SELECT a, b FROM t ORDER BY a);", UNSORTED, "differs"),
        ("WITH t AS (SELECT 1 ORDER BY 1) SELECT a, b FROM t", UNSORTED, "same"),
        ("SELECT a, b FROM t -- ORDER BY a", UNSORTED, "same"),
        ("SELECT a, b FROM t WHERE c = ' ORDER BY a'", UNSORTED, "same"),
        ("SELECT a, rank() OVER (ORDER BY a) FROM t", UNSORTED, "same"),
        ("SELECT a, b FROM t ORDER BY c", PERMUTED, "undecidable"),
        ("SELECT a, b FROM t ORDER BY a, c", PERMUTED, "undecidable"),
        ("SELECT a, b FROM t ORDER BY a, c", UNSORTED, "differs"),
    ],
)
def test_order_counts_where_the_statement_orders_and_only_there(
    sql: str, rows: Any, word: str
) -> None:
    """Traps 1 and 2: ties are free within their group, and a sorter that does not sort is found."""
    found = compare(answer(*TIES), answer(*rows), sql)
    assert found.word == word, found
    assert word == "same" or found.kind == "order"
    assert word != "undecidable" or "ordered by" in found.why


def test_rows_out_of_order_are_shown_side_by_side() -> None:
    found = compare(answer("1", "2", "3"), answer("1", "3", "2"), "SELECT a FROM t ORDER BY a")
    assert (found.ours, found.theirs) == (("'2'", "'3'"), ("'3'", "'2'"))


LIMITED = "SELECT a, b FROM t ORDER BY a LIMIT 3"


@pytest.mark.parametrize(
    ("sql", "rows", "word"),
    [
        (LIMITED, (("1", "x"), ("1", "y"), ("2", "w")), "undecidable"),
        (LIMITED, (("1", "x"), ("1", "w"), ("2", "z")), "differs"),
        (LIMITED, (("1", "x"), ("1", "y"), ("3", "z")), "differs"),
        (LIMITED, (("1", "x"), ("1", "y")), "differs"),
        (LIMITED.replace("LIMIT 3", "LIMIT 4"), (("1", "x"), ("1", "y"), ("2", "w")), "differs"),
        (LIMITED.replace("3", "$1"), (("1", "x"), ("1", "y"), ("2", "w")), "undecidable"),
        (f"{LIMITED} OFFSET 1", (("1", "x"), ("1", "w"), ("2", "z")), "undecidable"),
        (
            LIMITED.replace("LIMIT 3", "FETCH FIRST 3 ROWS ONLY"),
            (("1", "x"), ("1", "y"), ("2", "w")),
            "undecidable",
        ),
        (
            LIMITED.replace("LIMIT 3", "FETCH FIRST 3 ROWS WITH TIES"),
            (("1", "x"), ("1", "y"), ("2", "w")),
            "differs",
        ),
        ("SELECT TOP 3 a, b FROM t", (("1", "x"), ("1", "y"), ("9", "w")), "undecidable"),
        ("SELECT a, b FROM t LIMIT 3", (("1", "x"), ("1", "y"), ("9", "w")), "undecidable"),
        ("SELECT a, b FROM t LIMIT 3", (("1", "x"), ("1", "y")), "differs"),
        (
            "SELECT a, b FROM (SELECT * FROM u LIMIT 9) t",
            (("1", "x"), ("1", "y")),
            "undecidable",
        ),
        (
            "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a",
            (("1", "x"), ("1", "y"), ("2", "w")),
            "undecidable",
        ),
    ],
)
def test_a_limit_over_ties_is_undecidable_and_nothing_else_of_it(
    sql: str, rows: Any, word: str
) -> None:
    found = compare(answer(*TIES), answer(*rows), sql)
    assert found.word == word, found
    assert word == "differs" or "any of the rows that tie" in found.why


def test_duplicates_count() -> None:
    """Trap 3: the same set, another multiset."""
    found = compare(answer("1", "1", "2"), answer("1", "2", "2"))
    assert (found.word, found.kind, found.ours, found.theirs) == (
        "differs",
        "rows",
        ("'1'",),
        ("'2'",),
    )


def test_no_rounding_boundary_parts_two_floats_that_are_close() -> None:
    """Trap 4: the two round to other numbers of 15 digits, and differ in their last digit alone."""
    one, other = "0.12345678901234549", "0.12345678901234551"
    assert f"{float(one):.15g}" != f"{float(other):.15g}"
    found = compare(answer(one, types="float8"), answer(other, types="float8"))
    assert (found.word, found.kind) == ("differs", "digits")
    assert "the same to 15 digits, not exactly" in found.why
    found = compare(answer(one), answer(other))
    assert found.word == "undecidable" and "the column's type is unknown" in found.why


def test_rows_that_are_close_are_paired_whatever_order_they_come_in() -> None:
    ours = [(f"0.{n}", "7", f"{n / 3!r}") for n in range(11, 99)]
    theirs = [(a, b, repr(float(c) * (1 + 3e-16))) for a, b, c in reversed(ours)]
    types = "numeric;int4;float8"
    found = compare(answer(*ours, types=types), answer(*theirs, types=types))
    assert (found.word, found.kind) == ("differs", "digits"), found
    sums = "SELECT a, b, sum(c) FROM t GROUP BY a, b"
    found = compare(answer(*ours, types=types), answer(*theirs, types=types), sums)
    assert found.word == "same" and "the same to 15 digits" in found.why
    for ordered in (f"{sums} ORDER BY 3", f"{sums} ORDER BY max(d)"):
        found = compare(answer(*ours, types=types), answer(*theirs, types=types), ordered)
        assert found.word == "undecidable", "the rows come in another order, too"
        found = compare(answer(*ours, types=types), answer(*theirs[::-1], types=types), ordered)
        assert found.word == "same"


@pytest.mark.parametrize("types", ["", "float8", "real", "int8"])
def test_a_sum_of_whole_numbers_is_exact(types: str) -> None:
    sql = "SELECT SUM(a) FROM t"
    for one, other in (("5820004120", "5820004121"), ("5820004120.0", "5820004121.0")):
        found = compare(answer(one, types=types), answer(other, types=types), sql)
        assert (found.word, found.kind) == ("differs", "rows")
    cents = answer("5820004120.14", types=types), answer("5820004120.15", types=types)
    wanted = "undecidable" if types in ("float8", "real") else "differs"
    assert compare(*cents, sql).word == wanted


@pytest.mark.parametrize("types", ["text", "varchar", "json", ""])
@pytest.mark.parametrize(
    ("one", "other"), [("t", "true"), ("true", "1"), ("3.0", "3"), ("1", "1 ")]
)
def test_a_text_is_its_letters(types: str, one: str, other: str) -> None:
    """Trap 5: a version "3.0" is no number, a word `true` no switch, by its column's type."""
    found = compare(answer(one, types=types), answer(other, types=types))
    assert found.word == ("undecidable" if not types and one == "3.0" else "differs")


@pytest.mark.parametrize(
    ("types", "one", "other", "why"),
    [
        ("bool", "t", "true", "another word"),
        ("numeric", "1.0", "1.00", "another scale"),
        ("decimal(10,2)", "-0", "0.00", "another scale"),
        ("float8", "1e3", "1000.0", "other digits of the same value"),
        ("float8", "-0", "0", "another sign"),
        ("double", "NaN", "nan", "same value"),
        ("float8", "0.1", "0.10000000000000001", "same value"),
        ("timestamptz", "2026-01-01 00:00:00+00", "2026-01-01 01:30:00+01:30", "another zone"),
        ("timestamp", "2026-11-26 12:00:00.500", "2026-11-26 12:00:00.5", "another fraction"),
        ("bpchar", "a  ", "a", "other blanks"),
    ],
)
def test_one_value_in_another_spelling_is_the_same_and_told(
    types: str, one: str, other: str, why: str
) -> None:
    """Traps 5 and 6."""
    for rows in ((one,), ("0", one)):
        mine, theirs = answer(*rows, types=types), answer(*rows[:-1], other, types=types)
        found = compare(mine, theirs)
        assert found.word == "same" and why in found.why, found


@pytest.mark.parametrize(
    ("types", "one", "other"),
    [
        ("numeric", "1.0", "1.0000000000000001"),
        ("numeric", "9007199254740993", "9007199254740992"),
        ("float8", "NaN", "0"),
        ("float8", "inf", "-inf"),
        ("bool", "t", "f"),
        ("timestamptz", "2026-01-01 00:00:00+00", "2026-01-01 00:00:00+01"),
        ("timestamp_ns", "2026-01-01 00:00:00.0000001", "2026-01-01 00:00:00.0000002"),
        ("timestamp", "2026-11-26", "2026-11-26 00:00:00"),
        ("bpchar", "a ", " a"),
        ("varchar", "a ", "a"),
        ("int4", None, "0"),
        ("text", None, ""),
        ("text", None, "NULL"),
        ("text", "", "NULL"),
        ("text", "a", "A"),
    ],
)
def test_two_values_are_two(types: str, one: Cell, other: Cell) -> None:
    """NULL is no empty text, DECIMAL is exact, and no digit of a time is cut."""
    assert compare(answer(one, types=types), answer(other, types=types)).word == "differs"


@pytest.mark.parametrize(
    ("sql", "kind", "word"),
    [
        ("SELECT a FROM t GROUP BY a", "mysql", "undecidable"),
        ("SELECT DISTINCT a FROM t", "mysql", "undecidable"),
        ("SELECT MAX(a) FROM t", "mysql", "undecidable"),
        ("SELECT a FROM t", "mysql", "differs"),
        ("SELECT a FROM t GROUP BY a", "postgres", "differs"),
    ],
)
def test_a_collation_may_choose_a_spelling_where_one_stands_for_several(
    sql: str, kind: str, word: str
) -> None:
    found = compare(answer("Ärger ", types="varchar"), answer("arger", types="varchar"), sql, kind)
    assert found.word == word and (word == "differs" or "collation" in found.why)


def test_keys_that_a_collation_may_hold_equal_have_no_order() -> None:
    mine, theirs = answer("a", "A", "b", types="text"), answer("A", "a", "b", types="text")
    sql = "SELECT a FROM t ORDER BY a"
    assert compare(mine, theirs, sql, "mysql").word == "undecidable"
    assert compare(mine, theirs, sql, "postgres").word == "differs"


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT a, array_agg(b) FROM t GROUP BY a", "undecidable"),
        ("SELECT a, array_agg(b ORDER BY b) FROM t GROUP BY a", "differs"),
        ("SELECT a, row_number() OVER (ORDER BY a) FROM t", "undecidable"),
        ("SELECT array_agg(a), b FROM t GROUP BY b", "differs"),
        ("SELECT * FROM (SELECT a, lag(b) OVER () FROM t) t", "undecidable"),
    ],
)
def test_a_call_whose_value_is_free_is_named(sql: str, word: str) -> None:
    assert compare(answer(("1", "{1,2}")), answer(("1", "{2,1}")), sql).word == word


def test_a_text_that_is_not_read_leaves_its_order_unseen() -> None:
    sql = "SELECT a FROM t ORDER BY a; SELECT 1"
    assert compare(answer("1", "2"), answer("2", "1"), sql).word == "undecidable"
    assert compare(answer("1", "2"), answer("1", "3"), sql).word == "differs"
    assert compare(answer("1"), answer("2"), f"{sql} LIMIT 1").word == "undecidable"


@pytest.mark.parametrize(
    ("mine", "theirs", "kind"),
    [
        ({"columns": (Column("a", "int4"),)}, {"columns": (Column("a", "int8"),)}, "types"),
        ({"columns": (Column("a"),)}, {"columns": (Column("b"),)}, "types"),
        ({"columns": (Column("a"),)}, {"columns": (Column("a"), Column("b"))}, "columns"),
        ({"rows_changed": 165}, {"rows_changed": 110}, "rows changed"),
        ({"insert_id": 7}, {"insert_id": 8}, "insert id"),
        ({"refusal": Refusal("23505", "twice")}, {"refusal": Refusal("23502", "none")}, "error"),
        ({"refusal": Refusal("23505", "twice")}, {"rows_changed": 1}, "error"),
        ({"notices": (Notice("Warning", "1265", "cut"),)}, {}, "warnings"),
        (
            {"notices": (Notice("Warning", "1265", "cut"),)},
            {"notices": (Notice("Warning", "1366", "cut"),)},
            "warnings",
        ),
        (
            {"notices": (Notice("NOTICE", "00000", "x"),)},
            {"notices": (Notice("NOTICE", "00000", "x"),) * 2},
            "warnings",
        ),
    ],
)
def test_every_part_of_an_answer_counts(
    mine: dict[str, Any], theirs: dict[str, Any], kind: str
) -> None:
    """Trap 9: columns, affected rows, an insert id, the error's class, warnings."""
    found = compare(Answer(**mine), Answer(**theirs))
    assert (found.word, found.kind) == ("differs", kind), found
    assert found.why and compare(Answer(**mine), Answer(**mine)) == Sameness("same")


def test_an_error_or_a_warning_in_other_words_is_the_same_and_told() -> None:
    mine = Answer(refusal=Refusal("42P01", "no t"), notices=(Notice("Note", "1", "a"),))
    theirs = Answer(refusal=Refusal("42P01", "t?"), notices=(Notice("Note", "1", "b"),))
    found = compare(mine, theirs)
    assert found.word == "same"
    assert "other words: 42P01" in found.why and "warnings in other words" in found.why


def test_rows_that_are_not_whole_are_not_compared_and_the_rest_is() -> None:
    """Trap 10."""
    found = compare(answer("1"), answer("2", cut="over 10 MB"))
    assert (found.word, found.why) == ("not compared", "over 10 MB")
    found = compare(answer("1", rows_changed=1), answer("2", rows_changed=2, cut="over 10 MB"))
    assert (found.word, found.kind) == ("differs", "rows changed")


def test_a_difference_for_certain_hides_behind_none_that_is_not() -> None:
    sql = "SELECT a FROM t LIMIT 1"
    found = compare(answer("1", rows_changed=1), answer("2", rows_changed=2), sql)
    assert (found.word, found.kind) == ("differs", "rows changed")


def test_how_many_rows_a_change_of_the_schema_copied_is_told_and_no_difference() -> None:
    mine, theirs = Answer(rows_changed=1), Answer(rows_changed=0)
    for sql in ("ALTER TABLE t DROP COLUMN c", " create unique index i ON t (c)"):
        assert compare(mine, theirs, sql) == Sameness("same", "rows copied: 1 and 0")
        assert compare(mine, mine, sql) == compare(mine, Answer(), sql) == Sameness("same")
    assert compare(mine, theirs, "CREATE TABLE u AS SELECT 1").word == "differs"


@pytest.mark.parametrize(
    ("mine", "theirs", "word"),
    [
        (answer("t", types="bool"), answer("1", types="tinyint"), "same"),
        (answer("1.50", types="numeric"), answer("1.5", types="real"), "same"),
        (
            answer("2026-01-01 00:00:00", types="text"),
            answer("2026-01-01 00:00:00.000", types="timestamp"),
            "same",
        ),
        (answer("1", types="int4"), answer("1", types="text"), "differs"),
        (answer("0.1", types="float8"), answer("0.10000000000000002", types="real"), "undecidable"),
        (answer("1", rows_changed=1), answer("1", rows_changed=2), "undecidable"),
        (Answer(refusal=Refusal("23505", "")), Answer(refusal=Refusal("1062", "")), "undecidable"),
        (Answer(refusal=Refusal("23505", "")), Answer(), "differs"),
        (Answer(notices=(Notice("a", "b", "c"),)), Answer(), "same"),
    ],
)
def test_other_engines_are_held_to_what_both_mean(mine: Answer, theirs: Answer, word: str) -> None:
    assert compare(mine, theirs, same_engine=False).word == word


@pytest.mark.parametrize(
    ("one", "other", "word"),
    [
        ("2.26929244127523e+15", "2269292441275226.0", "undecidable"),
        ("0.100000000000000", "0.10000000000000001", "same"),
        ("0.123456789012346", "0.12345678901234568", "undecidable"),
        ("0.123456789012346", "0.12345678901234468", "differs"),
        ("0.12345678901234567", "0.12345678901234568", "differs"),
    ],
)
def test_a_float_that_one_side_writes_with_15_digits_may_be_the_same(
    one: str, other: str, word: str
) -> None:
    base, own = (Answer((Column("c", "real"),), ((cell,),)) for cell in (one, other))
    assert compare_answers(base, own, "SELECT c FROM t", kind="sqlite").word == word
