"""The tables of what changed in a real browser: no column is cut on a wide window."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from msgspec import structs

from dyno.record import WaitDifference
from dyno.report.html import page
from report.chromium import browser, needed
from report.sampled_book import make_sampled_book

pytestmark = pytest.mark.slow

CUT = """[...document.querySelectorAll('#cause .scroll')].map((it) =>
  [it.querySelector('th').textContent, it.scrollWidth - it.clientWidth])"""


def make_wait(kind: str, size_us: float, *events: str) -> WaitDifference:
    return WaitDifference(
        *("oltp_read_write", "run", "new", kind),  # type: ignore[arg-type]
        *(1_234.0, 1_234.0 + size_us, size_us, 0.9 * size_us, 1.1 * size_us, 0.001),
        differs=True,
        is_counted=not events,
        base_share=0.123,
        candidate_share=0.456,
        events=dict.fromkeys(events, size_us),
    )


def test_no_column_of_a_table_of_what_changed_is_cut_at_1200_pixels(tmp_path: Path) -> None:
    book = make_sampled_book(tmp_path)
    (cause,) = book.verdict.causes
    waits = (
        make_wait("locks", 119_644.0, "waiting for table metadata lock", "transactionid", "tuple"),
        make_wait("locks", 2_768.0),
        make_wait("files", 4_215.0, "DataFileRead", "WalSync", "DataFileImmediateSync"),
    )
    causes = (structs.replace(cause, waits=waits),)
    verdict = structs.replace(book.verdict, causes=causes)
    file = page.write_page(dataclasses.replace(book, verdict=verdict))
    with browser(needed(), tmp_path / "profile") as tab:
        tab.size(1200, 900)
        tab.open(file.as_uri())
        cut = tab.evaluate(CUT)
        assert len(cut) >= 2 and "waiting for" in dict(cut)
        assert [name for name, over in cut if over > 0] == []
        assert tab.complaints() == []
