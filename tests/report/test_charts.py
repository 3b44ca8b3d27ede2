"""Axes and their ticks, and charts as SVG: what stands where, and that nothing breaks the page."""

from __future__ import annotations

import gzip
import json
import math
import re
from base64 import b64decode
from xml.etree import ElementTree

import pytest

from dyno.report.charts import (
    Axis,
    Band,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Line,
    Note,
    make_duration_axis,
    make_linear_axis,
    make_slowdown_axis,
)
from dyno.report.render.svg import draw_figure

TEN = Axis("", 0, 10, [(0, "0"), (5, "five")])


def drawn(*marks: Dots | Line | Band | Note, y: Axis = TEN) -> str:
    return str(draw_figure([Chart("one", "described", TEN, [ChartPanel(y, marks)])], "caption"))


def texts(axis: Axis) -> list[str]:
    return [text for _, text in axis.ticks]


@pytest.mark.parametrize(
    ("low", "high", "unit", "shown"),
    [
        (0, 48_000, "row/s", ["0", "10 k", "20 k", "30 k", "40 k"]),
        (9_310, 9_318, "row/s", [f"9.31{n} k" for n in range(9)]),
        (150_000, 390_000, "ns", ["150 µs", "200 µs", "250 µs", "300 µs", "350 µs"]),
        (-0.2, 0.21, "%", ["−0.20 %", "−0.15 %", "−0.10 %", "−0.05 %", "0", "0.05 %"]),
        (3e6, 7e6, "B", ["3.0 MB", "3.5 MB", "4.0 MB"]),
    ],
)
def test_ticks_stand_at_round_numbers_that_can_be_told_apart(
    low: float, high: float, unit: str, shown: list[str]
) -> None:
    axis = make_linear_axis("", low, high, unit)
    assert texts(axis)[: len(shown)] == shown
    assert 3 <= len(set(texts(axis))) == len(axis.ticks) <= 10
    assert all(low - 1e-9 <= at <= high + 1e-9 for at, _ in axis.ticks)


def test_a_logarithmic_axis_has_the_reader_s_units_and_equal_steps_for_equal_ratios() -> None:
    axis = make_duration_axis("latency", [2e-5, 3e-3])
    assert texts(axis) == ["20 µs", "50 µs", "100 µs", "200 µs", "500 µs", "1 ms", "2 ms"]
    first, second, third = (axis.find_share(at) for at in (1e-4, 1e-3, 1e-2))
    assert second - first == pytest.approx(third - second)
    assert 0 < axis.find_share(2e-5) < 0.1 and 0.9 < axis.find_share(3e-3) < 1
    assert axis.find_share(0.0) == 0, "an interval that reaches to nothing ends at the edge"


@pytest.mark.parametrize("seconds", [[1e-3], [1e-3, 1.01e-3], [1e-8, 100.0]])
def test_an_axis_of_durations_has_room_and_a_scale_whatever_is_shown(seconds: list[float]) -> None:
    axis = make_duration_axis("latency", seconds)
    assert axis.low < min(seconds) <= max(seconds) < axis.high
    assert 3 <= len(set(texts(axis))) == len(axis.ticks) <= 12


def test_slowdowns_are_shown_against_zero() -> None:
    axis = make_slowdown_axis([4.0, 6.0])
    assert axis.zero and axis.low < 0 and "0" in texts(axis)


def test_a_single_value_has_an_axis_too() -> None:
    for value in (0.0, 5.0, -5.0):
        axis = make_slowdown_axis([value])
        assert axis.low < value < axis.high


def test_marks_stand_where_their_numbers_are_and_the_lower_ones_below() -> None:
    dots = Dots([Dot(5, 2.5, "here", 1, 4)], "red")
    page = drawn(dots, Line([[(0, 0), (5, 10)], [(5, 5), (10, 5)]], "blue"))
    assert '<circle cx="50%" cy="75%"' in page
    assert 'd="M5000,9000V6000"' in page
    assert 'd="M0,10000l5000-10000M5000,5000l5000,0"' in page


def test_a_tick_beyond_the_axis_is_not_shown() -> None:
    axis = Axis("", 0, 10, [(5, "within"), (11, "beyond"), (-1, "before")])
    page = str(draw_figure([Chart("one", "described", axis, [ChartPanel(axis, [])])], ""))
    assert page.count("within") == 2 and "beyond" not in page and "before" not in page


def test_an_interval_along_the_axis_and_a_band_behind_it() -> None:
    page = drawn(
        Dots([Dot(5, 5, "", 4, 7)], "red", across=True), Band((-99, 2)), Band((1, 2), (3, 4))
    )
    assert 'd="M4000,5000H7000"' in page
    assert '<rect class="band" x="1000" y="6000" width="1000" height="1000"/>' in page
    assert page.index("band") < page.index("M4000,5000H") < page.index("circle")


def test_what_is_no_number_is_left_out() -> None:
    page = drawn(
        Dots([Dot(math.nan, 1, "a"), Dot(1, math.inf, "b"), Dot(1, 1, "c")], "red"),
        Line([[(0, math.nan), (1, 1)], [(2, math.nan)]], "blue"),
    )
    assert re.findall("<title>(.*?)</title>", page) == ["c"]
    assert "nan" not in page and "inf" not in page


def test_an_axis_of_nothing_or_of_what_is_no_number_still_stands() -> None:
    for axis in (
        make_duration_axis("", []),
        make_duration_axis("", [0.0]),
        make_slowdown_axis([math.inf]),
    ):
        assert math.isfinite(axis.low) and axis.low < axis.high


def test_an_interval_without_end_reaches_the_edge_and_one_that_is_no_number_is_not_drawn() -> None:
    page = drawn(
        Dots([Dot(5, 5, "", -math.inf, math.inf), Dot(5, 5, "", math.nan, 7)], "red", across=True)
    )
    assert re.findall("M[^M]*H[0-9]+", page)[-1] == "M-10000,5000H20000"


def test_every_word_is_escaped_and_the_svg_is_well_formed() -> None:
    evil = "<b onclick='x'>&\""
    axis = Axis(evil, 0, 10, [(1, evil)])
    marks: list[Dots | Note] = [
        Dots([Dot(1, 1, evil, shape="beyond")], "red", evil),
        Note(evil, x=1),
    ]
    chart = Chart(evil, evil, axis, [ChartPanel(axis, marks, columns=[(1, evil), (2, evil)])])
    page = str(draw_figure([chart, chart], evil))
    root = ElementTree.fromstring(page.replace(" hidden>", ">"))
    assert {each.tag for each in root.iter()} & {"b", "script"} == set()
    assert [each.get("aria-label") for each in root.iter("svg") if each.get("role")] == [evil] * 2
    assert {each.text for each in root.iter("title")} == {evil}


def test_a_legend_stands_where_there_are_two_names_and_a_choice_where_two_charts() -> None:
    def dots(name: str) -> Dots:
        return Dots([Dot(1, 1, "")], "red", name)

    assert "<button" not in drawn(dots("a"), dots("a"))
    assert drawn(dots("a"), dots("b"), Line([], "red", "b")).count("<button") == 2
    chart = Chart("one", "described", TEN, [ChartPanel(TEN, [dots("a")])])
    assert "<select>" not in draw_figure([chart], "")
    both = draw_figure([chart, chart], "")
    assert both.count("<option>") == both.count('<div class="plot"') == 2
    assert both.count(" hidden>") == 1


def test_charts_beyond_the_first_are_packed_and_the_page_stays_small() -> None:
    def chart(number: int) -> Chart:
        return Chart(
            f"metric {number}",
            "described",
            TEN,
            [ChartPanel(TEN, [Dots([Dot(1, 1, "tip")], "red", "a")])],
        )

    few, many = (draw_figure([chart(n) for n in range(count)], "") for count in (12, 300))
    assert few.count("<circle") == many.count("<circle") == 12 and "<script" not in few
    assert many.count("<option>") == many.count('<div class="plot"') == 300
    packed = re.search(r'<script type="application/gzip">(.*?)</script>', many)
    assert packed
    charts = json.loads(gzip.decompress(b64decode(packed[1])))
    assert len(charts) == 288 and all(each.count("<circle") == 1 for each in charts)
