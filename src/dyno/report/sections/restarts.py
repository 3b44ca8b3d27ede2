"""Section: every restart as a dot, in the order played, its pair joined."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from dyno import numbers
from dyno.record import Metric, Trial
from dyno.report import Book, words
from dyno.report.html.charts import (
    Axis,
    Band,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Line,
    colour,
    ends,
    linear_axis,
)
from dyno.report.html.drawing import ChartSection

_CAPTION = (
    "A dot is one trial: fresh process, fresh data. A line joins the trials of one block, which "
    "are compared with each other only. Hollow dots on a shaded ground do not count: their block "
    "was dropped or begun anew."
)

#: A trial and its number in one metric.
_Point = tuple[Trial, float]


def charts(book: Book) -> list[Chart]:
    """A chart per compared metric; primaries come first."""
    metrics = dict.fromkeys(
        c.metric for c in sorted(book.verdict.comparisons, key=lambda c: not c.primary)
    )
    numbers_of = [(trial, book.view.numbers(trial)) for trial in book.view.played_trials]
    found = []
    for metric in metrics:
        points = [(trial, own[metric]) for trial, own in numbers_of if metric in own]
        if points:
            found.append(_chart(book, metric, points))
    return found


def _chart(book: Book, metric: Metric, points: Sequence[_Point]) -> Chart:
    at = {trial.number: position for position, (trial, _) in enumerate(points)}
    out = _out(book, points)
    groups = [list(group) for _, group in groupby(points, key=lambda p: (p[0].block, p[0].attempt))]
    joined = Line([[(at[t.number], y) for t, y in g] for g in groups], "var(--faint)", width_px=1.5)
    dots = [
        Dots(
            [
                _dot(t, y, at[t.number], t.number in out, metric)
                for t, y in points
                if t.candidate == name
            ],
            colour(position),
            name,
        )
        for position, name in enumerate(book.view.candidates)
    ]
    shades = [_shade(g, at) for g in groups if g[0][0].number in out]
    title, trials = words.full_metric_name(metric), words.plural(len(points), "trial")
    described = f"{title} of {trials} in {len(groups)} blocks"
    panel = ChartPanel(_values(metric, [y for _, y in points]), [*shades, joined, *dots])
    return Chart(title, described, _blocks(groups, at), [panel])


def _out(book: Book, points: Sequence[_Point]) -> set[int]:
    """The numbers of the trials that do not count."""
    return {t.number for t, _ in points} - {t.number for t in book.view.counted_trials}


def _blocks(groups: Sequence[Sequence[_Point]], at: dict[int, int]) -> Axis:
    """A tick in the middle of each block's trials."""
    ticks = [
        (sum(at[trial.number] for trial, _ in group) / len(group), str(group[0][0].block))
        for group in groups
    ]
    return Axis("block, in the order played", -0.7, len(at) - 0.3, ticks, grid=False)


def _values(metric: Metric, values: Sequence[float]) -> Axis:
    title = numbers.labelled(words.metric(metric), metric.unit)
    return linear_axis(title, *ends(values), metric.unit)


def _dot(trial: Trial, value: float, at: int, out: bool, metric: Metric) -> Dot:
    where = f"trial {trial.number}, block {trial.block + 1}, attempt {trial.attempt}"
    number = numbers.quantity(value, metric.unit)
    tip = f"{trial.candidate}: {number}\n{where}\n{trial.started_utc}"
    return Dot(at, value, tip, shape="hollow" if out else "full")


def _shade(group: Sequence[_Point], at: dict[int, int]) -> Band:
    positions = [at[trial.number] for trial, _ in group]
    return Band((min(positions) - 0.5, max(positions) + 0.5))


SECTION = ChartSection("Every restart", 30, _CAPTION, charts)
