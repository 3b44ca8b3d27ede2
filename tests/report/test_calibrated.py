"""The method's own error rates, as the page and the terminal quote them."""

from __future__ import annotations

import pytest
from msgspec import structs

from dyno.report import Book
from report.book import CALIBRATION, make_book
from report.page_text import changed, said, terminal


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return make_book(tmp_path_factory.mktemp("run"), phases=2)


def test_error_rates_come_with_interval_date_engine_and_size(book: Book) -> None:
    told, shown = said(book), terminal(book)
    assert "2025-12-30 to 2025-12-31, Dyno 0.1.0." in told
    for line in (
        "A/A on null (same build): 1 of 40 called slower, 2.5 % [0.06, 13.2]",
        "delay on null (5 % injected, measured +4.9 %): 19 of 20 found, 95 % [75.1, 99.9]",
        "synthetic (same build, load effect): 310 of 10,000 called slower, 3.1 % [2.8, 3.5]",
    ):
        assert line in told
        assert line in shown
    assert told.index("2 more, of other engines or made-up") < told.index("A/A on other")


def test_no_calibration_says_what_to_run(book: Book) -> None:
    never = changed(book, calibration=None)
    assert "None for this host: run dyno calibrate." in said(never)
    assert "None for this host: run `dyno calibrate`." in terminal(never)


def test_a_stale_calibration_says_so_and_one_of_another_engine_too(book: Book) -> None:
    stale = structs.replace(
        CALIBRATION, stale=("kernel was 'a' and is 'b'",), scores=CALIBRATION.scores[2:]
    )
    old = changed(book, calibration=stale)
    assert "Stale: kernel was 'a' and is 'b'." in said(old)
    assert "None on null: run dyno calibrate." in said(old)
    assert "Stale: kernel was 'a' and is 'b'." in terminal(old)
