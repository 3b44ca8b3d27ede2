"""The terminal's table and the rows of `--json`, held against files that were read by a human.

`DYNO_GOLDEN=write pytest tests/report` makes the files again; read their diff before a commit.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest
from fakes import make_run
from msgspec import structs

from dyno.judge.analysis.analysis import MEAN
from dyno.record import Verdict
from dyno.report import Book, export
from dyno.report.sections import verdict as section
from report.book import make_book
from report.page_text import draw, format_verdict, words

HERE = Path(__file__).parent
KEYS = (
    "workload phase metric unit direction primary base candidate base_value candidate_value "
    "change_percent low_percent "
    "high_percent blocks dropped mde80_percent margin_percent verdict word notes levels doubts "
    "cause layers instructions"
)


def check(name: str, found: str) -> None:
    path = HERE / name
    if os.environ.get("DYNO_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return make_book(tmp_path_factory.mktemp("run"))


def test_the_table_of_a_run_with_two_candidates_is_as_it_was(book: Book) -> None:
    check("table.txt", format_verdict(book.run, book.verdict))


def test_the_table_shows_exploratory_metrics_when_asked(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("3.24.0", "3.54.1"), phases=1)
    check("table-everything.txt", format_verdict(book.run, book.verdict, everything=True))


def test_a_quick_run_that_is_not_complete_says_both(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("3.24.0", "3.54.1"), phases=1, quick=True)
    verdict = structs.replace(book.verdict, complete=False)
    found = format_verdict(book.run, verdict)
    assert found.startswith("QUICK")
    assert "not complete" in found


def test_a_note_that_many_comparisons_share_is_said_once(book: Book) -> None:
    first = next(c for c in book.verdict.comparisons if c.primary)
    notes = [("so far: 5 of 10 blocks",)] * 6 + [("on its own",)]
    shared = tuple(structs.replace(first, notes=each) for each in notes)
    found = format_verdict(book.run, structs.replace(book.verdict, comparisons=shared))
    assert found.count("so far: 5 of 10 blocks") == 1
    assert "6 of 7 comparisons: so far: 5 of 10 blocks" in found
    assert f"{first.candidate}, " in found[: found.index("on its own")].splitlines()[-1]


def test_the_table_fits_a_hundred_columns_and_wraps_in_fewer(book: Book) -> None:
    for width in (100, 72):
        lines = format_verdict(book.run, book.verdict, everything=True, width=width).splitlines()
        assert max(map(len, lines)) <= width


def test_names_are_not_torn_where_each_row_has_a_count_of_blocks(book: Book) -> None:
    first, *others = book.verdict.comparisons
    unlike = structs.replace(first, dropped=5)
    verdict = structs.replace(book.verdict, comparisons=(unlike, *others))
    found = format_verdict(book.run, verdict)
    assert "  l.i0 server CPU/op " in found and f" {first.blocks}/{first.blocks + 5} " in found


def test_no_word_claims_that_nothing_changed(book: Book) -> None:
    assert "no change" not in format_verdict(book.run, book.verdict, everything=True).lower()


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("[red]old[/red]", "[bold]"), phases=1)
    found = format_verdict(book.run, book.verdict)
    assert "[bold] against [red]old[/red]" in found


def test_a_verdict_without_comparisons_still_says_its_sentence() -> None:
    verdict = Verdict("invalid", "no trial ended well", False, (), (), ())
    assert "no trial ended well" in format_verdict(make_run(), verdict)


def test_the_rows_are_as_they_were(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("3.24.0", "3.54.1"), phases=3)
    rounded = [
        {k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()}
        for row in export.to_json_rows(book.verdict)
        if row["primary"]
    ]
    check("rows.json", json.dumps(rounded, indent=1) + "\n")


def test_the_result_has_the_word_the_sentence_and_the_doubts_of_the_whole_run(book: Book) -> None:
    told = export.to_json_result(book.verdict)
    assert " ".join(told) == "overall sentence complete doubts comparisons"
    assert (told["overall"], told["sentence"]) == (book.verdict.overall, book.verdict.sentence)
    assert told["comparisons"] == export.to_json_rows(book.verdict)


def test_a_row_has_the_promised_keys_and_its_interval_holds_its_change(book: Book) -> None:
    for row in export.to_json_rows(book.verdict):
        assert " ".join(row) == KEYS
        assert row["low_percent"] <= row["change_percent"] <= row["high_percent"]


def test_a_number_that_json_does_not_know_is_null(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("3.24.0", "3.54.1"), phases=1)
    first = structs.replace(book.verdict.comparisons[0], low_percent=float("-inf"))
    found = export.to_json_rows(structs.replace(book.verdict, comparisons=(first,)))
    assert found[0]["low_percent"] is None
    json.dumps(found, allow_nan=False)


def test_a_gate_that_is_the_mean_is_told_with_its_rows_in_text_and_on_the_page(book: Book) -> None:
    (first, *_) = (c for c in book.verdict.comparisons if c.primary)
    mean = structs.replace(first, metric=MEAN, candidate="new", verdict="not slower")
    mean = structs.replace(mean, slowdown_percent=-0.5, low_percent=-1.5, high_percent=0.5)
    gated = dataclasses.replace(
        book,
        run=structs.replace(book.run, design=structs.replace(book.run.design, gate="mean")),
        verdict=structs.replace(book.verdict, means=(mean,)),
    )
    row = f"new against {mean.base} on the whole: not slower, ≤ 0.50 %"
    for one, show in ((gated, True), (book, False)):
        told = " ".join(format_verdict(one.run, one.verdict, width=200).split())
        page = words(draw(section.SECTION, one))
        for said in (told, page):
            assert (row in said) == show
            assert ("geometric mean over all workloads" in said) == show
