"""What holds for any two answers: made at random, by seeds."""

from __future__ import annotations

from random import Random

import pytest

from dyno.answers import Answer, Column, Sameness, compare_answers
from dyno.answers.ordering import read_openness
from dyno.driver import describe
from dyno.driver.plan import Plan, Script
from dyno.workloads import find_workload

TYPES = ("int4", "numeric", "float8", "text", "bpchar", "bool", "timestamp", "")
STATEMENTS = (
    "SELECT a, b, c FROM t",
    "SELECT a, b, c FROM t ORDER BY b",
    "SELECT a, b, c FROM t ORDER BY c, a",
    "SELECT * FROM t ORDER BY 1 DESC, d",
    "SELECT a, b, c FROM t ORDER BY a LIMIT 9",
    "SELECT a, sum(b), c FROM t GROUP BY a, c ORDER BY 3",
    "SELECT a, b, c FROM t WHERE 'x",
)
KINDS = ("postgres", "mysql", "sqlite", "duckdb")


def make_cell(random: Random, kind: str) -> str | None:
    """A value of few, so that keys tie and rows occur twice."""
    number = random.randrange(4)
    if random.random() < 0.1:
        return None
    return {
        "int4": str(number),
        "numeric": f"{number}.{random.choice(('0', '00', '5'))}",
        "float8": repr(number / 3),
        "bpchar": f"{number}  ",
        "bool": "tf"[number % 2],
        "timestamp": f"2026-01-01 00:00:0{number}",
    }.get(kind, random.choice(("", "a", "A", "true", "1", "1.0", "ä")))


def make_answer(random: Random) -> Answer:
    types = [random.choice(TYPES) for _ in "abc"]
    rows = tuple(
        tuple(make_cell(random, kind) for kind in types) for _ in range(random.randrange(12))
    )
    return Answer(tuple(map(Column, "abc", types)), rows)


def shuffle_ties(random: Random, answer: Answer, keys: tuple[int, ...]) -> Answer:
    """Rows in another order within those of the same texts as keys."""
    groups: list[list[tuple[str | None, ...]]] = []
    for row in answer.rows:
        if groups and all(groups[-1][0][key] == row[key] for key in keys):
            groups[-1].append(row)
        else:
            groups.append([row])
    for group in groups:
        random.shuffle(group)
    return Answer(answer.columns, tuple(row for group in groups for row in group))


def compare(base: Answer, other: Answer, sql: str, kind: str) -> Sameness:
    found = compare_answers(base, other, sql, kind=kind)
    back = compare_answers(other, base, sql, kind=kind)
    assert (found.word, found.kind) == (back.word, back.kind), "it is not symmetric"
    return found


@pytest.mark.parametrize("seed", range(4))
def test_an_answer_is_the_same_as_itself(seed: int) -> None:
    random = Random(seed)
    for _ in range(50):
        made = make_answer(random)
        for sql in STATEMENTS:
            assert compare(made, made, sql, random.choice(KINDS)) == Sameness("same")


@pytest.mark.parametrize(
    ("sql", "keys"), [(STATEMENTS[0], ()), (STATEMENTS[1], (1,)), (STATEMENTS[2], (2, 0))]
)
def test_rows_may_change_places_within_ties(sql: str, keys: tuple[int, ...]) -> None:
    random = Random(sql)
    for _ in range(200):
        made = make_answer(random)
        found = compare(made, shuffle_ties(random, made, keys), sql, random.choice(KINDS))
        assert found.word == "same", (made, found)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_changed_cell_is_found_or_undecidable_for_a_reason(sql: str) -> None:
    random = Random(sql)
    words = set()
    for _ in range(400):
        made = make_answer(random)
        if not made.rows:
            continue
        row, column = random.randrange(len(made.rows)), random.randrange(3)
        cells = list(made.rows[row])
        cells[column] = random.choice(("9", None, "changed", "2027-01-01 00:00:00"))
        if cells[column] == made.rows[row][column]:
            continue
        rows = (*made.rows[:row], tuple(cells), *made.rows[row + 1 :])
        found = compare(made, Answer(made.columns, rows), sql, random.choice(KINDS))
        words.add(found.word)
        assert found.word in ("differs", "undecidable"), (made, rows, found)
        assert found.ours and found.theirs, "the rows are not shown"
        assert found.word == "differs" or "LIMIT" in sql, found
    assert "differs" in words


def test_a_row_more_or_less_is_always_found() -> None:
    random = Random(7)
    for _ in range(300):
        made = make_answer(random)
        more = Answer(made.columns, (*made.rows, *made.rows[:1]) if made.rows else (("1",) * 3,))
        sql, kind = random.choice(STATEMENTS), random.choice(KINDS)
        assert compare(made, more, sql, kind).word == "differs"


def test_an_unsorted_answer_is_found_where_keys_are_columns() -> None:
    random = Random(9)
    sql = "SELECT a, b, c FROM t ORDER BY a"
    for _ in range(300):
        numbers = [random.randrange(9) for _ in range(8)]
        ordered, mixed = sorted(numbers), random.sample(numbers, len(numbers))
        base, other = (
            Answer(tuple(map(Column, "abc")), tuple((str(n), "x", None) for n in each))
            for each in (ordered, mixed)
        )
        wanted = "same" if mixed == ordered else "differs"
        assert compare(base, other, sql, random.choice(KINDS)).word == wanted


@pytest.mark.parametrize(("workload", "ordered"), [("dbt3", 18), ("ssb", 10)])
def test_the_keys_of_real_queries_are_found_among_their_columns(
    workload: str, ordered: int
) -> None:
    session = {"kind": "sqlite", "library": "none", "database": "none", "pragmas": []}
    queries = [
        it.sql for it in describe(Plan(session, Script(str(find_workload(workload))), 1)).plans
    ]
    read = [[read_openness(sql, [""] * n, 5, "sqlite") for n in range(1, 12)] for sql in queries]
    assert not any(each.unread for them in read for each in them)
    assert sum(any(it.is_ordered for it in them) for them in read) == ordered
    assert all(any(not it.hidden for it in them) for them in read), "a key is not found"
