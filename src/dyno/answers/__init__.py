"""When two results are the same: answers as data, what a statement's text leaves open, and the
decision. No engine is asked here.

Cells are compared as they are; only where that fails they are read by the types of their columns,
and what the text leaves open is read. docs/guides/same-answers.md says the rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from dyno.answers.cells import (
    Answer,
    Column,
    Notice,
    Refusal,
    Sameness,
    Word,
    find_family,
    join_families,
    matches_number,
)
from dyno.answers.ordering import are_ordered, read_openness
from dyno.answers.rows import RowReader, compare_rows

__all__ = [
    "Answer",
    "Column",
    "Notice",
    "Refusal",
    "Sameness",
    "Word",
    "are_ordered",
    "compare_answers",
    "matches_number",
]


#: The graver first: the first of these words that any part of two answers has is that of both.
_GRAVEST: tuple[Word, ...] = ("differs", "not compared", "undecidable", "same")
#: MySQL counts as changed what these copied, by an algorithm that each version chooses.
_COPIES = re.compile(r"\s*(ALTER|CREATE\s+(UNIQUE\s+)?INDEX|DROP\s+INDEX|OPTIMIZE)\b", re.I)


def compare_answers(
    base: Answer,
    other: Answer,
    sql: str,
    *,
    kind: str,
    same_engine: bool = True,
    orders_are_total: bool = False,
) -> Sameness:
    """Return whether two answers to `sql` are the same, and if not, what differs first.

    `kind` is that of the driver's session, which says how the text quotes. The word is the gravest
    of all parts'; where they are the same, `why` holds what was spelled otherwise.
    `orders_are_total`: no two rows tie within a window, so that nothing there is open.
    """
    found = list(_compare_parts(base, other, sql, kind, same_engine, orders_are_total))
    for word in _GRAVEST[:-1]:
        if worst := next((it for it in found if it.word == word), None):
            return worst
    return Sameness("same", "; ".join(dict.fromkeys(it.why for it in found if it.why)))


def _compare_parts(
    base: Answer, other: Answer, sql: str, kind: str, same_engine: bool, orders_are_total: bool
) -> Iterator[Sameness]:
    if base.refusal or other.refusal:
        yield _compare_refusals(base.refusal, other.refusal, same_engine)
        if not (base.refusal and other.refusal):
            return
    if len(base.columns) == len(other.columns):
        yield _compare_all_rows(base, other, sql, kind, same_engine, orders_are_total)
    yield _compare_columns(base, other, same_engine)
    changed = (base.rows_changed, other.rows_changed)
    if not _COPIES.match(sql):
        yield _compare_counts("rows changed", changed, same_engine)
    elif None not in changed and changed[0] != changed[1]:
        yield Sameness("same", f"rows copied: {changed[0]} and {changed[1]}")
    yield _compare_counts("insert id", (base.insert_id, other.insert_id), same_engine)
    if same_engine:
        yield _compare_notices(base, other)


def _compare_refusals(one: Refusal | None, other: Refusal | None, same_engine: bool) -> Sameness:
    ours, theirs = (_describe_refusal(it) for it in (one, other))
    if one is None or other is None:
        return Sameness("differs", "one of them is refused", "error", ours, theirs)
    if one.code == other.code:
        why = "" if one.text == other.text else f"one error in other words: {one.code}"
        return Sameness("same", why)
    if same_engine:
        why = f"errors of other classes: {one.code or 'none'} and {other.code or 'none'}"
        return Sameness("differs", why, "error", ours, theirs)
    why = "both refuse, by codes of their own"
    return Sameness("undecidable", why, "error", ours, theirs)


def _describe_refusal(refusal: Refusal | None) -> tuple[str, ...]:
    return (f"{refusal.code} {refusal.text}".strip() if refusal else "(no error)",)


def _compare_columns(base: Answer, other: Answer, same_engine: bool) -> Sameness:
    """Number, names and types; of other engines number and whether both are numbers."""
    if len(base.columns) != len(other.columns):
        why = f"{len(base.columns)} and {len(other.columns)} columns"
        return _describe_columns(base, other, why)
    for at, (one, two) in enumerate(zip(base.columns, other.columns, strict=True), 1):
        families = (find_family(one.type), find_family(two.type))
        if join_families(*families) is None:
            return _describe_columns(base, other, f"column {at} is a number in one of them only")
        is_typed_alike = "unknown" in families or one.type == two.type
        if same_engine and not (is_typed_alike and one.name == two.name):
            ours, theirs = (f"{it.name} {it.type}".strip() for it in (one, two))
            why = f"column {at} is `{ours}` in one, `{theirs}` in the other"
            return _describe_columns(base, other, why, "types")
    return Sameness("same")


def _describe_columns(base: Answer, other: Answer, why: str, kind: str = "columns") -> Sameness:
    ours, theirs = (
        (", ".join(f"{it.name} {it.type}".strip() for it in each.columns),)
        for each in (base, other)
    )
    return Sameness("differs", why, kind, ours, theirs)


def _compare_all_rows(
    base: Answer, other: Answer, sql: str, kind: str, same_engine: bool, orders_are_total: bool
) -> Sameness:
    if base.cut or other.cut:
        return Sameness("not compared", base.cut or other.cut, "rows")
    if base.rows == other.rows:
        return Sameness("same")
    width = max(len(row) for row in (*base.rows[:1], *other.rows[:1]))
    if any(len(row) != width for rows in (base.rows, other.rows) for row in rows):
        return Sameness("differs", "rows have other numbers of columns", "columns")
    types = [
        join_families(find_family(one.type), find_family(two.type)) or "text"
        for one, two in zip(base.columns, other.columns, strict=True)
    ] or ["unknown"] * width
    pairs = zip(base.columns, other.columns, strict=True)
    names = [one.name if one.name == two.name else "" for one, two in pairs] or [""] * width
    rows = max(len(base.rows), len(other.rows))
    if len(types) != width:
        return Sameness("differs", "rows have other numbers of columns", "columns")
    openness = read_openness(sql, names, rows, kind, orders_are_total)
    reader = RowReader(tuple(types), openness, kind, same_engine)
    return compare_rows(base.rows, other.rows, reader)


def _compare_counts(
    what: str, counts: tuple[int | None, int | None], same_engine: bool
) -> Sameness:
    one, other = counts
    if one is None or other is None or one == other:
        return Sameness("same")
    word: Word = "differs" if same_engine else "undecidable"
    reason = "" if same_engine else ": engines count them otherwise"
    return Sameness(word, f"{what}: {one} and {other}{reason}", what, (str(one),), (str(other),))


def _compare_notices(base: Answer, other: Answer) -> Sameness:
    """Levels and codes, each as often; their texts may be worded anew."""
    ours, theirs = (Counter((it.level, it.code) for it in each.notices) for each in (base, other))
    if ours == theirs:
        texts = [sorted(it.text for it in each.notices) for each in (base, other)]
        return Sameness("same", "" if texts[0] == texts[1] else "warnings in other words")
    why = f"{len(base.notices)} and {len(other.notices)} warnings or notices, or of other codes"
    more = (_describe_notices(base, ours - theirs), _describe_notices(other, theirs - ours))
    return Sameness("differs", why, "warnings", *more)


def _describe_notices(
    answer: Answer, more: Counter[tuple[str, str]], most: int = 3
) -> tuple[str, ...]:
    told = [it for it in answer.notices if (it.level, it.code) in more]
    return tuple(f"{it.level} {it.code} {it.text}" for it in told[:most])
