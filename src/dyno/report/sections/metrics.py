"""Section: every metric that was compared, in a table that can be searched."""

from __future__ import annotations

from dyno.record import Comparison
from dyno.report import Book, facts, words
from dyno.report.html.markup import render

_TEMPLATE = """
<details><summary>{{ rows | length | plural("comparison") }}, {{ primaries }} of them
primary</summary>
<div class="scroll" tabindex="0"><table class="searched">
<thead><tr><th scope="col">metric</th>{% if several %}<th scope="col">candidate</th>{% endif %}
<th scope="col" class="n">base</th><th scope="col" class="n">candidate</th>
<th scope="col" class="n">slowdown</th><th scope="col" class="n">{{ level }}&#8239;% interval</th>
<th scope="col">verdict</th></tr></thead>
<tbody>{% for c in rows %}<tr><th scope="row">{{ full(c.metric) }}</th>
{%- if several %}<td>{{ c.candidate }}</td>{% endif %}
<td class="n">{{ c.base_value | quantity(c.metric.unit) }}</td>
<td class="n">{{ c.candidate_value | quantity(c.metric.unit) }}</td>
<td class="n">{{ c.slowdown_percent | signed }}&#8239;%</td>
<td class="n">{{ interval(c.low_percent, c.high_percent) }}</td>
<td>{% if c.primary %}<b>{{ c | verdict(False) }}</b>{% else %}{{ c | verdict(False) }}
{%- endif %}</td></tr>
{% endfor %}</tbody></table></div>
<p class="aside">A bold verdict is of a primary metric, which the verdict rests on. The others are
explored: their p values count each other (Benjamini-Hochberg), and none sets the exit
code.</p></details>
"""


class _Metrics:
    title = "Every metric"
    place = 60

    def render(self, book: Book) -> str | None:
        """A folded row per comparison, as they were played; of crossed factors the main effects."""
        rows = [c for c in book.verdict.comparisons if len(c.levels) < 2]
        rows.sort(key=lambda c: (*facts.make_sort_key(book, c.metric), not c.primary))
        if not rows:
            return None
        return render(
            _TEMPLATE,
            rows=rows,
            primaries=sum(c.primary for c in rows),
            several=_count_pairs(rows) > 1,
            level=f"{100 * (1 - book.run.design.alpha):g}",
            full=words.format_full_metric,
        )


def _count_pairs(rows: list[Comparison]) -> int:
    return len({(c.candidate, c.base) for c in rows})


SECTION = _Metrics()
