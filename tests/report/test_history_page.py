"""The page of a history: charts, verdicts, builds and runs, and what was left out and why."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dyno.cli.history import format_series_rows
from dyno.record import History
from dyno.report import history
from dyno.report.charts import Chart, Dots, Line, Note
from report.made_history import RATE, make_history
from report.page_text import words
from report.test_page import EVIL, Reader


@pytest.fixture(scope="module")
def text() -> str:
    return history.build_history_page(make_history())


@pytest.fixture(scope="module")
def reader(text: str) -> Reader:
    return Reader(text)


def part(text: str, anchor: str) -> str:
    return words(text.partition(f'<section id="{anchor}"')[2].partition("</section>")[0])


def drawn() -> Chart:
    return history.draw_series(make_history().series[0])


def test_a_part_for_each_series_with_a_flagged_change_and_one_for_the_rest(reader: Reader) -> None:
    assert reader.anchors == ["flagged", "series-1", "quiet", "short", "excluded"]
    assert len(reader.figures) == 3, "the short one, too"
    for (marks,), points in zip(reader.figures, (12, 12, 3), strict=True):
        assert sum(mark["tag"] == "circle" for mark in marks) == points


def test_nothing_is_fetched(reader: Reader) -> None:
    assert all(link.startswith(("#", "data:,")) for link in reader.fetched)
    assert {"#series-1", "#excluded"} <= set(reader.fetched)


def test_the_first_table_names_builds_and_verdicts(text: str) -> None:
    said = part(text, "flagged")
    assert "null@1.4, then null@1.5 slower, [+4.5, +6.1] %, by the fresh comparison in" in said
    assert "null@1.8, then null@1.9 flagged, not tried" in said
    assert "2 flagged changes in 2 series; where nothing changed, 1 % of the series get one" in said
    assert "with a correlation of 0.3 from one to the next, about 8 %" in said


def test_a_flagged_change_comes_with_its_runs_and_the_command_that_confirms(text: str) -> None:
    said = part(text, "series-1")
    assert "slowdown +5.0 %, 99 % interval [+4.0, +6.0], p 0.002" in said
    assert "before null@1.4 (1.4), 2026-01-04, 3 restarts in 20260104-null" in said
    assert "after null@1.5 (1.5), 2026-01-05, 3 restarts in 20260105-null" in said
    assert "to confirm or reject dyno compare a b -w insert" in said


def test_every_point_stands_in_a_table_too(text: str) -> None:
    said = part(text, "series-1")
    assert "null@1.1 1.1 10.0 k/s [9.90 k/s, 10.1 k/s] 3 20260101-null 2026-01-01T00:00:00Z" in said
    assert "null@1.12 1.12 10.3 k/s 1 20260112-null" in said


def test_what_was_not_looked_at_is_said_with_the_reason(text: str) -> None:
    said = part(text, "excluded")
    assert "Series of fewer than 10 points" in said
    assert "threads=4 3 host's cpu: 'four of them', not 'two of them'" in said
    assert "20260119-torn: no valid block of insert" in said
    assert "Cut from an earlier series: driver was 'a' and is 'b'." in part(text, "quiet")


def test_the_chart_has_levels_points_intervals_and_changes() -> None:
    (panel,) = drawn().panels
    *changes, levels, dots = panel.marks
    assert isinstance(levels, Line) and isinstance(dots, Dots)
    assert levels.runs == [
        [(-0.5, 1e4), (3.5, 1e4)],
        [(3.5, 9.5e3), (7.5, 9.5e3)],
        [(7.5, 1.03e4), (11.5, 1.03e4)],
    ]
    first, last = dots.dots[0], dots.dots[-1]
    assert first.high == pytest.approx(first.y + 100)
    assert first.low == pytest.approx(first.y - 100)
    assert last.high is None and last.low is None
    places = [(each.runs[0][0][0], each.colour) for each in changes if isinstance(each, Line)]
    assert places == [(3.5, "var(--bad)"), (7.5, "var(--good)")]
    assert [each.text for each in changes if isinstance(each, Note)] == ["+5.0 %", "−8.0 %"]


def test_a_point_s_words_name_build_value_day_and_run() -> None:
    dots = drawn().panels[0].marks[-1]
    assert isinstance(dots, Dots)
    told = "null@1.1 (1.1)", "10.0 k/s [9.90 k/s, 10.1 k/s]", "2026-01-01, 3 restarts in"
    assert dots.dots[0].tip.splitlines() == [*told, "20260101-null"]


def test_a_wide_interval_does_not_squeeze_the_points() -> None:
    series = make_history().series[0]
    wild = replace(series.points[0], low=1.0, high=1e9)
    axis = history.draw_series(replace(series, points=(wild, *series.points[1:]))).panels[0].y
    assert 8e3 < axis.low < 9.5e3
    assert 1.03e4 < axis.high < 1.2e4


def test_builds_of_one_version_are_told_by_their_day() -> None:
    series = make_history().series[0]
    points = tuple(replace(point, version="9.0") for point in series.points)
    axis = history.draw_series(replace(series, points=points)).x
    assert [text for _, text in axis.ticks[:2]] == ["2026-01-01", "2026-01-03"]


def test_names_from_users_are_escaped() -> None:
    evil = history.build_history_page(make_history(EVIL))
    assert "<script>alert" not in evil
    assert Reader(evil).scripts == Reader(history.build_history_page(make_history())).scripts


def test_a_history_without_anything_still_has_a_page() -> None:
    empty = Reader(history.build_history_page(History(0.01, 10, ())))
    assert empty.anchors == ["flagged", "excluded"]


def test_many_quiet_series_are_folded() -> None:
    made = make_history()
    quiet = made.series[1]
    many = tuple(
        replace(quiet, metric=replace(RATE, phase=f"p{n}"), flagged_changes=()) for n in range(9)
    )
    assert 'open="open"' in history.build_history_page(made)
    assert 'open="open"' not in history.build_history_page(replace(made, series=many))


def test_a_series_held_against_a_base_says_so_and_shows_each_distance() -> None:
    plain = make_history()
    rates = plain.series[0]
    points = tuple(
        replace(point, slowdown_percent=5.0 + at) for at, point in enumerate(rates.points)
    )
    held = replace(rates, points=points, relative_to={"version": "1.0"})
    told, before = (
        part(history.build_history_page(each), "series-1")
        for each in (replace(plain, series=(held, *plain.series[1:])), plain)
    )
    said = "Changes are searched in the distance from 1.0, which every run measured along"
    assert said in told and said not in before
    assert "+5.0 %" in told and "+16.0 %" in told and "+16.0 %" not in before
    (_, note, *_) = format_series_rows(replace(plain, series=(held,)))
    assert note[0] == f"  {said[0].lower()}{said[1:]}, so that the host's nights cancel"
    assert len(list(format_series_rows(replace(plain, series=(rates,))))) == 1
