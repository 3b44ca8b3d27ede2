"""Section: what others published, beside what was measured here."""

from __future__ import annotations

from dyno import numbers
from dyno.record import Comparison, Verdict
from dyno.report import Book, words
from dyno.report.html.markup import render

_TEMPLATE = """
<div class="scroll" tabindex="0"><table>
<thead><tr>{% for key in keys %}<th scope="col">{{ key | replace("_", " ") }}</th>{% endfor %}
<th scope="col">measured here</th></tr></thead>
<tbody>{% for figure, measured in rows %}
<tr>{% for key in keys %}<td>{{ figure.get(key, "") }}</td>{% endfor %}
<td>{% for line in measured %}<div>{{ line }}</div>{% else %}—{% endfor %}</td></tr>
{% endfor %}</tbody></table></div>
<p class="aside">Other machine, other compiler, often other sizes: the direction may be compared,
the size hardly.</p>
"""


class _Published:
    title = "Published figures"
    place = 75

    def render(self, book: Book) -> str | None:
        """A row per published figure; nothing where the experiment names none."""
        figures = book.run.published
        if not figures:
            return None
        keys = list(dict.fromkeys(key for figure in figures for key in figure))
        rows = [
            (figure, [*_describe_measured(figure, book.verdict), *_describe_spread(figure, book)])
            for figure in figures
        ]
        return render(_TEMPLATE, keys=keys, rows=rows)


def _describe_spread(figure: dict[str, str], book: Book) -> list[str]:
    """How far the restarts of the cell lie apart that the figure's `cell` names."""
    cell = figure.get("cell")
    return [
        f"{s.restarts} restarts, {words.format_metric(s.metric)}: "
        f"range {numbers.format_percent(s.range_percent)}, "
        f"CoV {numbers.format_percent(s.cov_percent)}"
        for s in book.verdict.spread
        if s.candidate == cell
    ]


def _describe_measured(figure: dict[str, str], verdict: Verdict) -> list[str]:
    """The primaries that the figure's `workload`, `phase`, `metric`, `candidate` single out."""
    return [
        f"{c.candidate}, {c.metric.phase} {words.format_metric(c.metric)}: "
        f"slowdown {numbers.format_signed_percent(c.slowdown_percent)} % "
        f"{numbers.format_interval(c.low_percent, c.high_percent)}"
        for c in verdict.comparisons
        if _is_meant(figure, c)
    ]


def _is_meant(figure: dict[str, str], comparison: Comparison) -> bool:
    metric = comparison.metric
    own = {
        "workload": metric.workload,
        "phase": metric.phase,
        "transaction": metric.transaction,
        "stream": metric.transaction,
        "metric": metric.name,
        "candidate": comparison.candidate,
    }
    asked = {key: value for key, value in figure.items() if key in own}
    if not asked or any(own[key] != value for key, value in asked.items()):
        return False
    return comparison.primary or "metric" in asked


SECTION = _Published()
