"""Section: what each crossed factor does, and how factors act on each other.

The chart has a dot and an interval for each effect, its name above them.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import groupby

from dyno.record import Comparison, Metric
from dyno.report import Book, words
from dyno.report.html.charts import (
    Axis,
    Band,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Mark,
    Note,
    Shape,
    choose_colour,
    make_slowdown_axis,
)
from dyno.report.html.drawing import draw_figure
from dyno.report.html.markup import render

_ROW_PX = 44
#: Letters that a narrow page has space for, and what a label's next line adds to its row.
_NARROW, _LINE = 46, 0.38


def draw_effects(metric: Metric, effects: Sequence[Comparison]) -> Chart:
    """The effects `effects` in `metric`, main effects first: a row for each."""
    rows = [c for c in effects if math.isfinite(c.slowdown_percent)]
    labels = [_wrap_name(c.candidate) for c in rows]
    places, top = _place_rows([1 + _LINE * (len(lines) - 1) for lines in labels])
    margin = rows[0].margin_percent if rows else 0.0
    lowest = min((y for c, y in zip(rows, places, strict=True) if len(c.levels) == 1), default=top)
    marks: list[Mark] = [
        Band((-margin, margin), (lowest - 0.5, top - 0.5)),
        *(
            Note("\n".join(lines), y + 0.4 + _LINE * (len(lines) - 1) / 2)
            for lines, y in zip(labels, places, strict=True)
        ),
        Dots(
            [_draw_dot(*each) for each in zip(rows, places, strict=True)],
            choose_colour(1),
            across=True,
        ),
    ]
    reach = [end for c in rows for end in (c.low_percent, c.high_percent)]
    described = "Effects. " + ". ".join(words.format_outcome(c) for c in rows[:30])
    panel = ChartPanel(Axis("", -0.5, top - 0.2), marks, round(_ROW_PX * top))
    return Chart(
        words.format_full_metric(metric),
        described,
        make_slowdown_axis([*reach, margin, -margin]),
        [panel],
    )


def _wrap_name(name: str) -> list[str]:
    """An effect's name in lines that a narrow page can hold; a level is never broken."""
    return textwrap.wrap(name, _NARROW, break_long_words=False, break_on_hyphens=False)


def _place_rows(heights: Sequence[float]) -> tuple[list[float], float]:
    """Where each row's line stands, the last at 0, and where the first one's own room ends."""
    above = [sum(heights[at:]) for at in range(len(heights))]
    return [each - height for each, height in zip(above, heights, strict=True)], sum(heights)


def _draw_dot(effect: Comparison, y: float) -> Dot:
    shape: Shape = "full" if len(effect.levels) == 1 else "hollow"
    ends = effect.low_percent, effect.high_percent
    return Dot(effect.slowdown_percent, y, words.format_outcome(effect), *ends, shape)


_CAPTION = (
    "Dot: the effect; line: its interval. Right of zero is slower. Above, the main effects: a "
    "factor's level against its first, over the cells of all other factors; the band is the "
    "margin. Below, hollow, the interactions: the cells at these levels against what the effects "
    "of fewer factors would have made of them."
)
_TEMPLATE = """
<p>{{ factors }} The first level of each is what its others are held against.</p>
{{ charts }}
{% for metric, rows in tables %}
<div class="scroll" tabindex="0"><table class="effects">
<caption>{{ full(metric) }}</caption>
<thead><tr><th scope="col">effect</th><th scope="col" class="n">slowdown</th>
<th scope="col" class="n">{{ level }}&#8239;% interval</th><th scope="col" class="n">blocks</th>
<th scope="col" class="n">p</th><th scope="col" class="n">MDE80</th>
<th scope="col">verdict</th></tr></thead>
<tbody>{% for c in rows %}
<tr><th scope="row">{{ c.candidate }} <small>{% if c.levels | length > 1 %}interaction
{% else %}against {{ c.base }}{% endif %}</small></th>
<td class="n strong">{{ c.slowdown_percent | signed }}&#8239;%</td>
<td class="n">{{ interval(c.low_percent, c.high_percent) }}</td>
<td class="n">{{ c | of_played }}</td>
<td class="n">{{ "%.2g" | format(c.p_value) }}</td>
<td class="n">{{ c.mde80_percent | percent }}</td>
<td>{% if c.primary %}<span class="badge {{ c | standing }}">{{ c | verdict }}
</span>{% else %}exploratory{% endif %}</td></tr>
{% for note in c.notes %}<tr class="note"><td colspan="7">{{ note }}</td></tr>{% endfor %}
{% endfor %}</tbody></table></div>
{% endfor %}
<p class="aside">Blocks: valid of played; MDE80: the smallest slowdown that this many blocks would
have found in four runs of five. The verdict rests on the main effects, which Holm's procedure
adjusts together; interactions are exploratory (Benjamini-Hochberg). {% if interactions %}An
interaction of 0 says that the factors' effects multiply.{% else %}One factor at a time says nothing
of how factors act on each other.{% endif %}</p>
"""


class _Effects:
    title = "Effects of the factors"
    place = 11

    def render(self, book: Book) -> str | None:
        """A chart for each primary metric, main effects first, and the numbers below it."""
        found = list_primary_effects(book.verdict.comparisons)
        if not book.run.factors or not found:
            return None
        return render(
            _TEMPLATE,
            charts=draw_figure(
                [draw_effects(metric, rows) for metric, rows in group_effects(found)], _CAPTION
            ),
            tables=group_effects(found),
            full=words.format_full_metric,
            factors=words.format_factors(book.run),
            interactions=any(len(c.levels) > 1 for c in found),
            level=f"{100 * (1 - book.run.design.alpha):g}",
        )


def list_primary_effects(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The effects in the metrics that the verdict rests on: main effects, then interactions."""
    metrics = {c.metric for c in comparisons if c.primary or len(c.levels) > 1}
    found = [c for c in comparisons if c.levels and c.metric in metrics]
    return sorted(found, key=lambda c: (c.metric, len(c.levels)))


def group_effects(effects: Sequence[Comparison]) -> list[tuple[Metric, list[Comparison]]]:
    """The effects in each metric."""
    return [(metric, list(rows)) for metric, rows in groupby(effects, key=lambda c: c.metric)]


SECTION = _Effects()
