"""The effects of factors with long names, in a browser as narrow as a telephone."""

from __future__ import annotations

from pathlib import Path

import pytest
from crossed import crossed, played
from judging import judge_unaudited

from dyno.report import Book
from dyno.report.html import page
from report.chromium import browser, needed

pytestmark = pytest.mark.slow

LONG = {
    "innodb_flush_log_at_trx_commit": ("1", "2"),
    "innodb_adaptive_hash_index": ("ON", "OFF"),
    "innodb_doublewrite": ("ON", "OFF"),
    "binlog_transaction_dependency_tracking": ("COMMIT_ORDER", "WRITESET"),
}
LABELS = "[...document.querySelectorAll('#effects .note:not(tr)')]"


@pytest.mark.parametrize("width", [500, 375])
def test_names_of_effects_are_broken_where_the_page_ends(width: int, tmp_path: Path) -> None:
    run = crossed(LONG)
    trials = played(run, lambda at: 0.05 * (at["innodb_adaptive_hash_index"] == "OFF"))
    book = Book(tmp_path, run, trials, judge_unaudited(run, trials))
    with browser(needed(), tmp_path / "profile") as tab:
        tab.size(width, 900)
        tab.open(page.write_page(book).as_uri())
        tab.evaluate("document.getElementById('effects').scrollIntoView()")
        tab.wait(f"{LABELS}.length === 15")
        boxes = f"{LABELS}.map((label) => label.getBoundingClientRect())"
        assert tab.evaluate(f"Math.max(...{boxes}.map((box) => box.right))") <= width
        tops = tab.evaluate(f"{boxes}.map((box) => box.top)")
        bottoms = tab.evaluate(f"{boxes}.map((box) => box.bottom)")
        assert all(low < top for low, top in zip(bottoms, tops[1:], strict=False)), "none overlap"
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.complaints() == []
