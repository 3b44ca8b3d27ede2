"""Section: what each crossed factor does, and how factors act on each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from dyno.record import Comparison, Metric
from dyno.report import Book, effects_chart, words
from dyno.report.charts import figure
from dyno.report.markup import render

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
<td class="n">{{ c.blocks }}/{{ c.blocks + c.dropped }}</td>
<td class="n">{{ "%.2g" | format(c.p_value) }}</td>
<td class="n">{{ c.mde80_percent | percent }}</td>
<td>{% if c.primary %}<span class="badge {{ c.verdict | replace(' ', '-') }}">{{ c | verdict }}
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
        found = of_primaries(book.verdict.comparisons)
        if not book.run.factors or not found:
            return None
        return render(
            _TEMPLATE,
            charts=figure(
                [effects_chart.drawn(metric, rows) for metric, rows in by_metric(found)], _CAPTION
            ),
            tables=by_metric(found),
            full=words.full,
            factors=words.factors(book.run),
            interactions=any(len(c.levels) > 1 for c in found),
            level=f"{100 * (1 - book.run.design.alpha):g}",
        )


def of_primaries(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The effects in the metrics that the verdict rests on: main effects, then interactions."""
    metrics = {c.metric for c in comparisons if c.primary or len(c.levels) > 1}
    found = [c for c in comparisons if c.levels and c.metric in metrics]
    return sorted(found, key=lambda c: (c.metric, len(c.levels)))


def by_metric(found: Sequence[Comparison]) -> list[tuple[Metric, list[Comparison]]]:
    """The effects in each metric."""
    return [(metric, list(rows)) for metric, rows in groupby(found, key=lambda c: c.metric)]


SECTION = _Effects()
