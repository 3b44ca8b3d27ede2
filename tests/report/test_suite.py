"""The section of a suite: tests by group, and none where no phase has one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from msgspec import structs

from dyno.record import Primary
from dyno.report import Book
from dyno.report.sections.suite import SECTION
from report.book import make_book
from report.page_text import draw


def grouped_book(folder: Path) -> Book:
    """The book's phases in two groups, the first test of the second between the others."""
    book = make_book(folder)
    (workload,) = book.run.workloads
    groups = ("writes", "queries", "writes", "queries")
    primary = (Primary("insert", "rate_per_s"),)
    phases = tuple(
        structs.replace(phase, group=groups[at % 4], primary=primary)
        for at, phase in enumerate(workload.phases)
    )
    run = structs.replace(book.run, workloads=(structs.replace(workload, phases=phases),))
    return dataclasses.replace(book, run=run)


def test_tests_stand_under_their_groups_with_rate_and_costs(tmp_path: Path) -> None:
    book = grouped_book(tmp_path)
    page = draw(SECTION, book)
    assert page
    one = page.partition("</table>")[0]
    assert one.index(">writes<") < one.index(">queries<")
    assert one.count(">writes<") == one.count(">queries<") == 1
    (workload,) = book.run.workloads
    places = [one.index(f'<th scope="row">{phase.name}') for phase in workload.phases]
    assert places.index(max(places)) % 2 == 1, "the queries come last"
    assert "server CPU/op" in one


def test_a_relative_rate_is_the_inverse_of_the_slowdown(tmp_path: Path) -> None:
    book = grouped_book(tmp_path)
    candidate = book.view.candidates[1]
    judged = [c for c in book.verdict.comparisons if c.primary and c.candidate == candidate]
    assert judged
    page = draw(SECTION, book)
    assert page
    for c in judged:
        assert f"{1 / (1 + c.slowdown_percent / 100):.2f}" in page


def test_phases_without_groups_have_no_such_section(tmp_path: Path) -> None:
    assert draw(SECTION, make_book(tmp_path)) == ""
