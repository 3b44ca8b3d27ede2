"""Statements that a candidate executes by another plan than the base: told, and shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from fakes import make_run, make_trials
from judging import judge_unaudited

from dyno.report import Book
from dyno.report.plan_changes import PlanChange, plan_changes, plan_words
from dyno.report.sections.plans import SECTION
from dyno.report.text.brief import _rows
from report.page_text import words

SCAN, SEARCH = "SCAN item", "SEARCH item USING INDEX i"


def book(plans: dict[str, list[str]]) -> Book:
    """Three restarts of each candidate, with these plans of one statement."""
    run = make_run()
    trials = make_trials({"new": [0.0, 0.0, 0.0]})
    given = {name: iter(own) for name, own in plans.items()}
    told = [dataclasses.replace(t, plans={"SELECT ?": next(given[t.candidate])}) for t in trials]
    return Book(Path(), run, told, judge_unaudited(run, told))


def test_a_plan_that_differs_is_told_and_shown_with_the_bases() -> None:
    changed = book({"old": [SEARCH] * 3, "new": [SCAN] * 3})
    assert plan_changes(changed) == [PlanChange("select", "SELECT ?", "new", SEARCH, SCAN)]
    said = "1 statement is executed in another way: SELECT ? by new"
    assert dict(_rows(changed))["plans"] == said
    shown = words(SECTION.render(changed) or "")
    assert SEARCH in shown and SCAN in shown


def test_of_a_candidate_counts_the_plan_of_most_restarts() -> None:
    flickering = book({"old": [SEARCH] * 3, "new": [SEARCH, SCAN, SEARCH]})
    assert not plan_changes(flickering) and not plan_words(flickering)
    assert SECTION.render(flickering) is None
