"""What changed: plans that differ between candidates or meanwhile, and what only flickers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fakes import make_run, make_trials
from judging import judge_unaudited
from msgspec import structs
from report.page_text import draw, format_verdict, words

from dyno.judge.analysis.plans import find_first_difference
from dyno.record import Cause, Trial
from dyno.report import Book
from dyno.report.export import to_json_rows
from dyno.report.sections.cause import SECTION

SCAN, SEARCH = "SCAN item", "SEARCH item USING INDEX i"
STATEMENT = "SELECT c FROM item WHERE k=?"


def make_book(*fields: dict[str, dict[str, list[str]]]) -> Book:
    """Three restarts of each candidate; fields of their trials, by candidate one per restart."""
    run = make_run()
    trials = make_trials({"new": [0.0, 0.0, 0.0]})
    for field, own in ((name, own) for changes in fields for name, own in changes.items()):
        given = {name: iter(values) for name, values in own.items()}
        trials = [_with_field(trial, field, next(given[trial.candidate])) for trial in trials]
    return Book(Path(), run, trials, judge_unaudited(run, trials))


def _with_field(trial: Trial, field: str, value: str) -> Trial:
    change: dict[str, Any] = {field: {STATEMENT: value} if value else {}}
    return structs.replace(trial, **change)


def find_cause(book: Book) -> Cause:
    (cause,) = book.verdict.causes
    return cause


def test_a_plan_that_changed_is_the_first_thing_said_and_both_are_shown() -> None:
    book = make_book({"plans": {"old": [SEARCH] * 3, "new": [SCAN] * 3}})
    said = f"new has another plan: {STATEMENT}: {SEARCH} → {SCAN}"
    cause = find_cause(book)
    assert (cause.sentence, cause.statements) == (said, 1)
    assert {row["cause"] for row in to_json_rows(book.verdict)} == {said}
    assert format_verdict(book.run, book.verdict, width=200).rstrip().endswith(said)
    shown = words(draw(SECTION, book))
    assert said[1:] in shown and "3 of 3 restarts" in shown
    assert SECTION.place < 20, "the first section under the verdict"


def test_a_generic_plan_that_differs_alone_is_named_as_one() -> None:
    alike = {"plans": {"old": [SEARCH] * 3, "new": [SEARCH] * 3}}
    generic = {"generic_plans": {"old": [SEARCH] * 3, "new": [SCAN] * 3}}
    cause = find_cause(make_book(alike, generic))
    assert cause.sentence == (
        f"new has another plan: {STATEMENT} (generic plan): {SEARCH} → {SCAN}"
    )
    assert cause.statements == 1
    both = {"plans": {"old": [SEARCH] * 3, "new": [SCAN] * 3}}
    (change,) = find_cause(make_book(both, generic)).plan_changes
    assert change.statement == STATEMENT, "told once"
    one_side = {"generic_plans": {"old": [SEARCH] * 3, "new": [""] * 3}}
    assert not find_cause(make_book(alike, one_side)).plan_changes


def test_plans_that_are_all_alike_are_said_to_be() -> None:
    book = make_book({"plans": {"old": [SEARCH] * 3, "new": [SEARCH] * 3}})
    assert find_cause(book).sentence == "no plan changed on new (1 statement compared)"


def test_a_plan_that_flickers_from_restart_to_restart_is_no_change() -> None:
    for base, own in (([SEARCH] * 3, [SEARCH, SCAN, SEARCH]), ([SCAN, SEARCH, SCAN], [SEARCH] * 3)):
        cause = find_cause(make_book({"plans": {"old": base, "new": own}}))
        assert "no plan changed" not in cause.sentence or not cause.plan_changes
        assert not [change for change in cause.plan_changes if change.kind == "between"]
    flickering = find_cause(
        make_book({"plans": {"old": [SEARCH] * 3, "new": [SEARCH, SCAN, SCAN]}})
    )
    (change,) = flickering.plan_changes
    assert (change.kind, change.restarts, change.of) == ("varies", 2, 3)
    assert "1 plan varied between restarts" in flickering.sentence


def test_a_plan_that_changed_while_it_was_measured_is_told_of_one_side_and_shown_of_both() -> None:
    ends = {"plans": {"old": [SCAN] * 3, "new": [SCAN] * 3}}
    stays, moves = ["", SCAN, SCAN], ["", SEARCH, SEARCH]
    cause = find_cause(make_book(ends, {"plans_before": {"old": stays, "new": moves}}))
    assert cause.sentence == (
        f"new has another plan: {STATEMENT}: {SEARCH} → {SCAN} while it was measured"
    )
    both = find_cause(make_book(ends, {"plans_before": {"old": moves, "new": moves}}))
    assert both.sentence == "1 plan changed on both sides while they were measured"
    assert [change.kind for change in both.plan_changes] == ["both"]


def test_statements_without_a_plan_are_counted_with_the_reason() -> None:
    why = ["it changes the schema"] * 3
    book = make_book({"unexplained": {"old": why, "new": why}})
    cause = find_cause(book)
    assert cause.sentence == "1 statement had no plan to compare"
    assert "1 statement without a plan: it changes the schema" in words(draw(SECTION, book))


def test_the_terminal_says_it_of_few_candidates_and_counts_the_others() -> None:
    book = make_book({"plans": {"old": [SEARCH] * 3, "new": [SCAN] * 3}})
    many = structs.replace(book.verdict, causes=book.verdict.causes * 6)
    told = format_verdict(book.run, many, width=200)
    assert told.count("what changed: ") == 4
    assert "what changed on 2 further candidates is in report.html" in told


def test_where_nothing_was_looked_at_nothing_is_said() -> None:
    book = make_book()
    assert book.verdict.causes == () and draw(SECTION, book) == ""
    assert "what changed" not in format_verdict(book.run, book.verdict)


def test_of_two_plans_the_first_step_is_told_that_only_one_has() -> None:
    for base, own, told in (
        ("a\n  ->  b\n  ->  c", "a\n  ->  b\n  ->  d", ("c", "d")),
        ("a\n  ->  b\n  ->  c", "a\n  ->  c\n  ->  b", ("b", "c")),
        ("a", "a\n  ->  b", ("no such step", "b")),
        ("a\n->  a", "a", ("a", "no such step")),
        ("a\n  b", "a\nb", ("a", "in another order")),
    ):
        assert find_first_difference(base, own) == told
