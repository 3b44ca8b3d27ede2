"""The first screen of a count: its headline, and its rows drawn as those of a comparison."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest
from msgspec import structs

from dyno.cli.terminal import screen
from dyno.record import Candidate, Metric
from dyno.record.count import (
    CallChange,
    CandidateCount,
    Count,
    CountComparison,
    CountedFunction,
    FunctionChange,
)
from dyno.report.counts import build_count_headline, build_count_result, build_first_screen
from dyno.report.html.page import render_result

ROW = CountComparison(
    metric=Metric("oltp_point_select", "run", "", "instructions_per_op", "", "lower"),
    primary=True,
    base="sqlite@3.46",
    candidate="sqlite@3.54",
    base_value=4358.0,
    candidate_value=4172.0,
    change_percent=-4.3,
    slowdown_percent=-4.3,
    low_percent=-4.4,
    high_percent=-4.2,
    margin_percent=0.5,
    blocks=2,
    dropped=0,
    sd_percent=nan,
    mde80_percent=nan,
    p_value=0.0,
    verdict="faster",
)


def make_count(*names: str) -> Count:
    sides = tuple(Candidate(n, n, "sqlite", True, {"version": "3"}, {}, {}) for n in names)
    own = (CountedFunction("parse", "sqlite", "parser", 4172.0),)
    counts = tuple(CandidateCount(n, (4172.0, 4172.0), (0.0, 0.0), own) for n in names)
    told: dict[str, Any] = {"options": {}, "short_operations": 1, "long_operations": 9}
    return Count(
        *("a", "2026-01-01T00:00:00Z", "dyno count a b", 1, "oltp_point_select", "run", "event"),
        **told,
        margin_percent=0.5,
        candidates=sides,
        counts=counts,
        valgrind="valgrind 3",
    )


def print_count(count: Count, row: CountComparison) -> None:
    screen.draw_document(build_first_screen(count, [row]), screen.choose_screen_columns())


def test_a_count_s_headline_says_who_is_lighter_and_by_how_much() -> None:
    count = make_count("sqlite@3.46", "sqlite@3.54")
    assert build_count_headline(count, [ROW]) == (
        "sqlite 3.54 is lighter than 3.46: it takes 4.3 % fewer instructions [4.2, 4.4]"
    )
    told = structs.replace(
        ROW, verdict="inconclusive", low_percent=nan, high_percent=nan, notes=("more repetitions",)
    )
    assert build_count_headline(count, [told]) == (
        "Inconclusive: sqlite 3.54 may be heavier than 3.46 or not: more repetitions"
    )


def test_a_count_is_drawn_with_its_own_words_on_terminal_and_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    count = make_count("sqlite@3.46", "sqlite@3.54")
    print_count(count, ROW)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "  lighter  −4.3 % [−4.4, −4.2]" in out
    assert "├" in out or "●" in out
    assert "heavier is not slower" in " ".join(out.split())
    page = render_result(build_count_result(count, [ROW]))
    assert "▼ lighter" in page
    assert "<h1>sqlite 3.54 is lighter than 3.46" in page


def test_terminal_and_page_have_the_same_numbers_and_say_what_they_leave_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    changes = tuple(
        FunctionChange(f"f{n}", "o", "parser", 900.0, 1000.0 + n, 90.0 + n, 110.0 + n)
        for n in range(45)
    )
    tree = tuple(CallChange(0, f"c{n}", 0.0, 7.0) for n in range(41))
    row = structs.replace(ROW, layers=changes[:1], changes=changes, tree=tree)
    count = make_count("sqlite@3.46", "sqlite@3.54")
    once = structs.replace(count.counts[1], repeats=(4172.0,), beside=(0.0,))
    count = structs.replace(count, counts=(count.counts[0], once))
    screen.draw_document(build_count_result(count, [row]).document)
    said, page = capsys.readouterr().out, render_result(build_count_result(count, [row]))
    for text in (said, page):
        assert text.count("+100.0 [+90, +110]") == 2, "as layer and as function"
        assert "+7.0" in text
        assert "sqlite@3.54: counted once, so nothing says how far it varies" in text
    for text in (said, page):
        assert "… and 5 more (functions)" in text and "… and 1 more (calls)" in text
    assert page.count("not known") == 1, "restarts of one that was counted once"


def test_a_lone_count_has_no_interval(capsys: pytest.CaptureFixture[str]) -> None:
    lone = structs.replace(ROW, verdict="inconclusive", low_percent=nan, high_percent=nan)
    count = make_count("sqlite@3.46", "sqlite@3.54")
    print_count(count, lone)
    assert "−4.3 % [—, —]" in capsys.readouterr().out
    assert "</b> [—, —]" in render_result(build_count_result(count, [lone]))
    exact = structs.replace(ROW, low_percent=-4.3, high_percent=-4.3)
    assert "</b> [−4.3, −4.3]" in render_result(build_count_result(count, [exact]))
