"""The page of a history: what is nominated, a chart for each series, what was left out and why."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from dyno.record import History
from dyno.report import excluded, nominations, past
from dyno.report.markup import render
from dyno.report.whole import Front, Part, whole
from dyno.report.words import plural

_TEMPLATE = """
{% if rows %}
<div class="scroll" tabindex="0"><table class="effects">
<thead><tr><th scope="col">series</th><th scope="col" class="n">slowdown</th>
<th scope="col" class="n">{{ level }}&#8239;% interval</th><th scope="col" class="n">p</th>
<th scope="col">builds</th><th scope="col">verdict</th></tr></thead>
<tbody>{% for anchor, series, n in rows %}
<tr><th scope="row"><a href="#{{ anchor }}">{{ told(series) }}</a></th>
<td class="n strong">{{ n.slowdown_percent | signed }}&#8239;%</td>
<td class="n">{{ interval(n.low_percent, n.high_percent) }}</td>
<td class="n">{{ "%.3f" | format(n.p_value) }}</td>
<td>{{ series.points[n.at - 1].candidate }}, then {{ series.points[n.at].candidate }}</td>
<td>{{ verdict(n) }}</td></tr>
{% endfor %}</tbody></table></div>
{% endif %}
<p>{{ worth }}</p>
<p class="aside">{{ limit }}</p>
"""


def html(history: History) -> str:
    """The page as text, about 2 MB, nearly all of it the charting library."""
    points = [point for series in history.series for point in series.points]
    begun = sorted(point.began_utc for point in points)
    found = plural(len(history.nominations), "nomination")
    read = plural(len({(point.run, point.began_utc) for point in points}), "run")
    front = Front(
        title=f"History: {found}",
        eyebrow="Dyno history",
        heading=f"{found} in {len(history.tested)} series",
        question="Where, over many runs, does a metric seem to have changed its level?",
        aside=f"{read}, begun {begun[0]} to {begun[-1]}" if begun else read,
    )
    return whole(front, list(_parts(history)))


def _parts(history: History) -> Iterator[Part]:
    yield Part("Nominations", "nominations", _summary(history))
    yield from past.parts(history)
    yield Part("Not looked at", "excluded", excluded.body(history))


def _summary(history: History) -> Markup:
    rows = [
        (anchor, series, each)
        for anchor, series in past.anchored(history)
        for each in series.nominations
    ]
    return render(
        _TEMPLATE,
        rows=rows,
        told=nominations.told,
        verdict=nominations.verdict,
        worth=nominations.worth(history),
        limit=nominations.LIMIT,
        level=f"{100 * (1 - history.alpha):g}",
    )
