"""The layers of CPU time on a terminal (`dyno show RUN`)."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

from rich.console import Console, Group

from dyno.report.text.layers import LAYERS_SHOWN, build_layer_tables
from report.sampled_book import make_sampled_book


def draw(folder: Path, width: int = 90) -> str:
    out = io.StringIO()
    verdict = make_sampled_book(folder).verdict
    Console(file=out, width=width, color_system=None).print(Group(*build_layer_tables(verdict)))
    return out.getvalue()


def test_the_whole_stands_first_and_what_changed_is_among_the_layers_shown(tmp_path: Path) -> None:
    title, heads, whole, *rows = map(str.rstrip, draw(tmp_path).splitlines())
    assert "by layer" in title and heads.split() == [
        *("base", "candidate", "difference", "interval", "word")
    ]
    assert whole.startswith("all CPU time") and whole.endswith("costlier")
    (parser,) = [row for row in rows if row.startswith("tokenizer and parser")]
    (pager,) = [row for row in rows if row.startswith("page cache and pager")]
    assert parser.endswith("costlier") and pager.endswith("cheaper")
    assert sum(" µs" in row for row in rows) == LAYERS_SHOWN
    assert "and 2 further layers in report.html" in rows[-2]


def test_a_run_that_was_not_sampled_has_no_table(tmp_path: Path) -> None:
    verdict = dataclasses.replace(make_sampled_book(tmp_path).verdict, causes=())
    assert build_layer_tables(verdict) == []
