"""A series on the page of a history: its chart, what is nominated in it, its points as a table."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from dyno.record import History, PastSeries
from dyno.report import nominations, timeline
from dyno.report.charts import figure
from dyno.report.markup import render
from dyno.report.whole import Part

#: So many quiet series stand unfolded; of more, a reader opens those that matter.
OPEN = 4
_CAPTION = (
    "Dot: a build in a run, with the 95 % interval of its mean over the run's restarts, which "
    "share their hour: the next run may well lie outside. Thick line: the level between nominated "
    "changes. Dashed: a nominated change, with its slowdown: positive is worse. Where an interval "
    "leaves the chart, the table of points has its end."
)
_TEMPLATE = """
{% if series.cut %}<p class="quiet">Cut from an earlier series: {{ series.cut | join("; ") }}.</p>
{% endif %}
{{ chart }}
{% for n in series.nominations %}
<h3>{{ size(n, alpha) }}</h3>
<p><b>{{ verdict(n) }}</b></p>
<dl class="commands">
<dt>before</dt><dd class="wrap">{{ place(series.points[n.at - 1]) }}</dd>
<dt>after</dt><dd class="wrap">{{ place(series.points[n.at]) }}</dd>
<dt>to convict or acquit</dt>
<dd>{% if n.convict %}<pre>{{ n.convict }}</pre>{% else %}{{ n.why_none | coded }}{% endif %}</dd>
</dl>
{% endfor %}
<details><summary>{{ series.points | length | plural("point") }}</summary>
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">build</th><th scope="col">version</th>
<th scope="col" class="n">{{ series.metric | metric }} and 95&#8239;% interval</th>
<th scope="col" class="n">restarts</th><th scope="col">run</th><th scope="col">began</th></tr>
</thead>
<tbody>{% for point in series.points %}
{% if loop.index0 in changed %}
<tr class="group"><th scope="rowgroup" colspan="6">nominated:
{{ size(changed[loop.index0], alpha) }}</th></tr>
{% endif %}
<tr><th scope="row">{{ point.candidate }}</th><td>{{ point.version }}</td>
<td class="n">{{ said(point, series.metric.unit) }}</td><td class="n">{{ point.restarts }}</td>
<td>{{ point.run }}</td><td>{{ point.began_utc }}</td></tr>
{% endfor %}</tbody></table></div></details>
"""
_FOLDED = """
{% for anchor, told, body in quiet %}
<details id="{{ anchor }}"{% if open %} open{% endif %}><summary>{{ told }}</summary>
{{ body }}</details>
{% endfor %}
"""


def anchored(history: History) -> list[tuple[str, PastSeries]]:
    """The series that were tested, each with the name that links to it."""
    return [(f"series-{at}", series) for at, series in enumerate(history.tested, 1)]


def parts(history: History) -> Iterator[Part]:
    """A part for each series with a nomination, then one for all the others."""
    quiet = []
    for anchor, series in anchored(history):
        told, body = nominations.told(series), _body(series, history.alpha)
        if series.nominations:
            yield Part(told, anchor, body)
        else:
            quiet.append((anchor, told, body))
    if quiet:
        body = render(_FOLDED, quiet=quiet, open=len(quiet) <= OPEN)
        yield Part("Without a nomination", "quiet", body)


def _body(series: PastSeries, alpha: float) -> Markup:
    return render(
        _TEMPLATE,
        series=series,
        chart=figure([timeline.chart(series)], _CAPTION),
        changed={each.at: each for each in series.nominations},
        alpha=alpha,
        size=nominations.size,
        verdict=nominations.verdict,
        place=nominations.place,
        said=timeline.said,
    )
