"""What of a history was not looked at, and why: series too short, runs invalid or torn."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from dyno.record import History, PastSeries
from dyno.report import nominations
from dyno.report.markup import render

_TEMPLATE = """
{% if short %}
<h3>Series of fewer than {{ least }} points</h3>
<div class="scroll" tabindex="0"><table class="effects">
<thead><tr><th scope="col">series</th><th scope="col" class="n">points</th>
<th scope="col">unlike the longest of this metric in</th></tr></thead>
<tbody>{% for told, points, apart in short %}
<tr><th scope="row">{{ told }}</th><td class="n">{{ points }}</td>
<td class="wrap">{{ apart | join("; ") }}</td></tr>
{% endfor %}</tbody></table></div>
{% endif %}
{% if left_out %}
<h3>Of runs</h3>
<ul class="findings">{% for each in left_out %}
<li class="wrap"><b>{{ each.run }}</b>: {{ each.why }}</li>
{% endfor %}</ul>
{% endif %}
{% if not short and not left_out %}
<p>Every run that was found has its points above.</p>
{% endif %}
"""


def body(history: History) -> Markup:
    """A table and a list, or a sentence where there was nothing to leave out."""
    short = [
        (nominations.told(series), len(series.points), list(_apart(series, history)))
        for series in history.series
        if not series.tested
    ]
    return render(_TEMPLATE, short=short, left_out=history.left_out, least=history.points_least)


def _apart(series: PastSeries, history: History) -> Iterator[str]:
    """In which conditions it differs from the longest series of its metric: another host, say."""
    kin = [s for s in history.series if (s.engine, s.metric) == (series.engine, series.metric)]
    longest = max(kin, key=lambda each: len(each.points)).alike
    for name in sorted(series.alike.keys() | longest):
        ours, theirs = series.alike.get(name), longest.get(name)
        if ours != theirs:
            yield f"{name}: '{ours or ''}', not '{theirs or ''}'"
