"""Section: every restart as a dot, in the order played, its pair joined."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from dyno import numbers
from dyno.record import Metric, Trial
from dyno.report import Book, Section, words
from dyno.report.charts import (
    Axis,
    Band,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Line,
    choose_colour,
    find_ends,
    make_linear_axis,
)
from dyno.report.document import Document, Figure

_CAPTION = (
    "A dot is one trial: fresh process, fresh data. A line joins the trials of one block, which "
    "are compared with each other only. Hollow dots on a shaded ground do not count: their block "
    "was dropped or begun anew."
)

#: A trial and its number in one metric.
_Point = tuple[Trial, float]


def draw_charts(book: Book) -> list[Chart]:
    """A chart per compared metric; primaries come first."""
    metrics = dict.fromkeys(
        c.metric for c in sorted(book.verdict.comparisons, key=lambda c: not c.primary)
    )
    numbers_of = [(trial, book.view.compute_numbers(trial)) for trial in book.view.played_trials]
    found = []
    for metric in metrics:
        points = [(trial, own[metric]) for trial, own in numbers_of if metric in own]
        if points:
            found.append(_draw_chart(book, metric, points))
    return found


def _draw_chart(book: Book, metric: Metric, points: Sequence[_Point]) -> Chart:
    at = {trial.number: position for position, (trial, _) in enumerate(points)}
    out = {t.number for t, _ in points} - {t.number for t in book.view.counted_trials}
    groups = [list(group) for _, group in groupby(points, key=lambda p: (p[0].block, p[0].attempt))]
    joined = Line([[(at[t.number], y) for t, y in g] for g in groups], "var(--faint)", width_px=1.5)
    dots = [
        Dots(
            [
                _draw_dot(t, y, at[t.number], t.number in out, metric)
                for t, y in points
                if t.candidate == name
            ],
            choose_colour(position),
            name,
        )
        for position, name in enumerate(book.view.candidates)
    ]
    shades = [_shade_group(g, at) for g in groups if g[0][0].number in out]
    title, trials = words.format_full_metric(metric), numbers.format_count(len(points), "trial")
    described = f"{title} of {trials} in {len(groups)} blocks"
    panel = ChartPanel(_make_values_axis(metric, [y for _, y in points]), [*shades, joined, *dots])
    return Chart(title, described, _make_blocks_axis(groups, at), [panel])


def _make_blocks_axis(groups: Sequence[Sequence[_Point]], at: dict[int, int]) -> Axis:
    ticks = [
        (sum(at[trial.number] for trial, _ in group) / len(group), str(group[0][0].block))
        for group in groups
    ]
    return Axis("block, in the order played", -0.7, len(at) - 0.3, ticks, grid=False)


def _make_values_axis(metric: Metric, values: Sequence[float]) -> Axis:
    title = numbers.format_label(words.format_metric(metric), metric.unit)
    return make_linear_axis(title, *find_ends(values), metric.unit)


def _draw_dot(trial: Trial, value: float, at: int, out: bool, metric: Metric) -> Dot:
    where = f"trial {trial.number}, block {trial.block + 1}, attempt {trial.attempt}"
    number = numbers.format_quantity(value, metric.unit)
    tip = f"{trial.candidate}: {number}\n{where}\n{trial.started_utc}"
    return Dot(at, value, tip, shape="hollow" if out else "full")


def _shade_group(group: Sequence[_Point], at: dict[int, int]) -> Band:
    positions = [at[trial.number] for trial, _ in group]
    return Band((min(positions) - 0.5, max(positions) + 0.5))


def build(book: Book) -> Document:
    charts = draw_charts(book)
    return [Figure(charts, _CAPTION)] if charts else []


SECTION = Section("Every restart", 30, build)
