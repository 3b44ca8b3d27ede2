"""The section of a sweep: a chart with a line for each candidate, and a table of its points."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes import (
    CALM,
    make_readings,
    make_record,
    make_run,
    make_tally,
    make_trial,
    make_workload,
)
from judging import NOISY
from msgspec import structs

from dyno.judge.analysis import judge
from dyno.judge.analysis.run_view import RunView
from dyno.record import Verdict
from dyno.report import Book, load_sections
from dyno.report.charts import Dots
from dyno.report.sections.sweep import draw_charts
from report.page_text import draw, format_verdict

SECTION = load_sections()["sweep"]
#: Threads to the base's rate; the new one has a quarter less.
RATES = {"1": 1_000.0, "4": 3_000.0, "16": 4_000.0}


def make_book(values: Sequence[str], noisy: tuple[str, int] = ("", 0)) -> Book:
    """Two blocks of two candidates under each value; in `noisy`, one of them, time was stolen."""
    plans = [
        structs.replace(make_workload(f"select threads={v}"), script="s", sweep={"threads": v})
        for v in values
    ]
    trials = [
        make_trial(0, name, block, 1.0, workload=plan.name, phases=(record,))
        for plan, value in zip(plans, values, strict=True)
        for block in (0, 1)
        for name, share in (("old", 1.0), ("new", 0.75))
        for record in [_record(value, share, block, NOISY if (value, block) == noisy else CALM)]
    ]
    numbered = [structs.replace(trial, number=n) for n, trial in enumerate(trials, 1)]
    run = make_run(workloads=plans)
    verdict = Verdict("inconclusive", "", True, (), (), RunView(run, numbered).dropped)
    return Book(Path(), run, numbered, verdict)


def _record(value: str, share: float, block: int, host: Mapping[str, float]) -> Any:
    tally = make_tally(RATES.get(value, 100.0) * share * (1 + block / 10))
    return make_record([tally], readings=make_readings(host))


def panels(book: Book) -> list[list[Dots]]:
    """The dots of each candidate: of the rates, then of the latencies."""
    (chart,) = draw_charts(book)
    return [[m for m in panel.marks if isinstance(m, Dots)] for panel in chart.panels]


def test_a_run_without_a_sweep_has_no_such_section() -> None:
    run = make_run()
    book = Book(Path(), run, [make_trial(1, "old", 0, 9.0)], make_book(["1"]).verdict)
    assert draw(SECTION, book) == ""


def test_each_candidate_is_a_line_of_rates_and_one_of_latencies() -> None:
    rates, latencies = panels(make_book(list(RATES)))
    x = [1.0, 4.0, 16.0]
    for dots in rates, latencies:
        assert [(d.name, [dot.x for dot in d.dots]) for d in dots] == [("old", x), ("new", x)]
    assert [dot.y for dot in rates[0].dots] == pytest.approx([1050, 3150, 4200], rel=0.01)
    reach = [dot.high - dot.y for dot in rates[0].dots if dot.high is not None]
    assert reach == pytest.approx([50, 150, 200], rel=0.05)
    assert rates[0].dots[0].tip == "old: 1.05 k/s at 1"
    (chart,) = draw_charts(make_book(list(RATES)))
    assert chart.label == "select / run / reader by threads"
    assert chart.x.log and chart.panels[1].y.log
    assert [text for _, text in chart.x.ticks] == ["1", "4", "16"]


def test_the_table_has_rate_latency_and_ratio_of_every_point() -> None:
    text = re.sub(r"<[^>]+>|\s+", " ", draw(SECTION, make_book(list(RATES))))
    words = re.sub(r"\s+", " ", html.unescape(text))
    assert "candidate 1 4 16" in words
    assert "old 1.05 k/s" in words and "new 788 /s" in words.replace("788/s", "788 /s")
    assert words.count(", 0.75") == 3


def test_a_dropped_block_of_one_value_is_left_out_of_that_value_alone() -> None:
    book = make_book(["1", "16"], noisy=("16", 1))
    (dropped,) = book.verdict.dropped
    assert (dropped.workload, dropped.block) == ("select threads=16", 1)
    first = panels(book)[0][0]
    assert [dot.y for dot in first.dots] == pytest.approx([1050, 4000], rel=0.01)
    reach = [dot.high - dot.y for dot in first.dots if dot.high is not None]
    assert reach == pytest.approx([50, 0], abs=1)


def test_levels_that_are_words_stand_in_a_row() -> None:
    (chart,) = draw_charts(make_book(["off", "on"]))
    assert not chart.x.log
    assert [(dot.x) for dot in panels(make_book(["off", "on"]))[0][0].dots] == [0, 1]
    assert chart.x.ticks == [(0, "off"), (1, "on")]


def test_the_terminal_s_table_has_the_values_in_the_experiment_s_order() -> None:
    book = make_book(["1", "4", "16"])
    verdict = judge.judge(book.run, book.trials)
    said = format_verdict(book.run, verdict)
    assert re.findall(r"threads=(\d+)\n", said)[:3] == ["1", "4", "16"]
