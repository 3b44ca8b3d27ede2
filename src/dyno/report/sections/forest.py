"""Section: the forest plot, every interval against the margin it was judged by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from dyno.record import Comparison, Metric
from dyno.report import Book, facts, words
from dyno.report.html.charts import (
    Axis,
    Band,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Shape,
    choose_colour,
    make_slowdown_axis,
)
from dyno.report.html.drawing import draw_figure
from dyno.report.html.markup import render

_TEMPLATE = """
{{ primaries }}
{% if exploratory %}
<details><summary>{{ count | plural("exploratory comparison") }}</summary>
{{ exploratory }}</details>
{% endif %}
"""
_CAPTION = (
    "Dot: the slowdown of the candidate; line: its interval. Right of zero is slower. The band is "
    "the margin: an interval that ends inside or left of it is not slower. "
    "A triangle at the edge lies beyond ±100 %, and so does what is cut off there of an interval."
)
_ROW_PX, _LINE_PX = 18, 15
#: One wild exploratory metric must not squeeze all others into a line.
_EDGE_PERCENT = 100.0


class _Forest:
    title = "Slowdown of each metric"
    place = 20

    def render(self, book: Book) -> str | None:
        """One figure for the primaries and a folded one for the rest."""
        shown = [
            c
            for c in book.verdict.comparisons
            if math.isfinite(c.slowdown_percent) and len(c.levels) < 2
        ]
        shown.sort(key=lambda c: facts.make_sort_key(book, c.metric))
        primaries = [c for c in shown if c.primary]
        rest = [c for c in shown if not c.primary]
        if not shown:
            return None
        return render(
            _TEMPLATE,
            primaries=draw_figure([_draw_chart(book, primaries, "primaries")], _CAPTION)
            if primaries
            else "",
            exploratory=draw_figure(_draw_charts(book, rest), _CAPTION) if rest else "",
            count=len(rest),
        )


def _draw_charts(book: Book, comparisons: Sequence[Comparison]) -> list[Chart]:
    """One chart per phase, since exploratory comparisons come by the hundred."""
    grouped = groupby(comparisons, key=lambda c: (c.metric.workload, c.metric.phase))
    return [_draw_chart(book, list(group), " / ".join(key)) for key, group in grouped]


def _draw_chart(book: Book, comparisons: Sequence[Comparison], label: str) -> Chart:
    metrics = list(dict.fromkeys(c.metric for c in comparisons))
    several = len({m.workload for m in metrics}) > 1
    rows = {m: len(metrics) - 1 - at for at, m in enumerate(metrics)}
    names = [n for n in facts.list_compared(book) if any(c.candidate == n for c in comparisons)]
    margins = {c.metric: c.margin_percent for c in comparisons}
    bands = [Band((-m, m), (rows[of] - 0.5, rows[of] + 0.5)) for of, m in margins.items()]
    dots = [
        Dots(
            [_draw_dot(c, rows[c.metric] + _compute_offset(at, len(names))) for c in own],
            choose_colour(facts.list_compared(book).index(name)),
            name,
            across=True,
        )
        for at, name in enumerate(names)
        if (own := [c for c in comparisons if c.candidate == name])
    ]
    reach = [_clip_percent(e) for c in comparisons for e in (c.low_percent, c.high_percent)]
    ticks = [(row, _format_name(metric, several)) for metric, row in rows.items()]
    panel = ChartPanel(
        Axis("", -0.6, len(metrics) - 0.4, ticks, grid=False),
        [*bands, *dots],
        (_ROW_PX + _LINE_PX * len(names)) * len(metrics),
    )
    described = "Forest plot. " + ". ".join(words.format_outcome(c) for c in comparisons[:30])
    margin = [end for each in margins.values() for end in (-each, each)]
    return Chart(label, described, make_slowdown_axis([*reach, *margin]), [panel])


def _format_name(metric: Metric, several: bool) -> str:
    return (
        words.format_full_metric(metric)
        if several
        else f"{metric.phase} / {words.format_metric(metric)}"
    )


def _compute_offset(at: int, count: int) -> float:
    """How far above its row a candidate's dots stand, lest one covers the other."""
    return 0.5 * ((count - 1) / 2 - at) / (count - 1) if count > 1 else 0.0


def _draw_dot(comparison: Comparison, y: float) -> Dot:
    low, x, high = (
        _clip_percent(each)
        for each in (comparison.low_percent, comparison.slowdown_percent, comparison.high_percent)
    )
    shape: Shape = "beyond" if comparison.slowdown_percent > _EDGE_PERCENT else "full"
    return Dot(x, y, words.format_outcome(comparison), low, high, shape)


def _clip_percent(percent: float) -> float:
    """Cut at the edge; what is no number stays none."""
    return max(min(percent, _EDGE_PERCENT), -_EDGE_PERCENT)


SECTION = _Forest()
