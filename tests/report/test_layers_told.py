"""The layers of CPU time on a terminal (`dyno show RUN`)."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from msgspec import structs

from dyno.report.sections.cause import build_first_layers
from report.page_text import print_document
from report.sampled_book import make_sampled_book


def test_the_whole_stands_first_and_every_layer_below_it(tmp_path: Path) -> None:
    drawn = print_document(build_first_layers(make_sampled_book(tmp_path)), 90)
    title, heads, whole, *rows = drawn.strip().splitlines()
    assert "by layer" in title and heads.split()[-1] == "word"
    assert whole.startswith("all CPU time") and whole.endswith("costlier")
    (parser,) = [row for row in rows if row.startswith("tokenizer and parser")]
    (pager,) = [row for row in rows if row.startswith("page cache and pager")]
    assert parser.endswith("costlier") and pager.endswith("cheaper")


def test_a_run_that_was_not_sampled_has_no_table(tmp_path: Path) -> None:
    book = make_sampled_book(tmp_path)
    unsampled = dataclasses.replace(book, verdict=structs.replace(book.verdict, causes=()))
    assert build_first_layers(unsampled) == []
