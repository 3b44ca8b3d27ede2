"""The page of a history: what is flagged, a chart for each series, what was left out and why.

A series is shown as its chart, what is flagged in it, and its points as a table; left out are
series that are too short, and runs that are invalid or torn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from markupsafe import Markup

from dyno.record import FlaggedChange, History, HistoryPoint, HistorySeries
from dyno.report import words
from dyno.report.html import timeline
from dyno.report.html.drawing import draw_figure
from dyno.report.html.markup import render
from dyno.report.html.page import PageHead, PagePart, build_page
from dyno.report.words import format_count

_LEFT_OUT = """
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


def build_left_out(history: History) -> Markup:
    """A table and a list, or a sentence where there was nothing to leave out."""
    short = [
        (
            words.format_series(series),
            len(series.points),
            list(_list_other_conditions(series, history)),
        )
        for series in history.series
        if not series.tested
    ]
    return render(_LEFT_OUT, short=short, left_out=history.left_out, least=history.points_least)


def _list_other_conditions(series: HistorySeries, history: History) -> Iterator[str]:
    """In which conditions it differs from the longest series of its metric: another host, say."""
    kin = [s for s in history.series if (s.engine, s.metric) == (series.engine, series.metric)]
    longest = max(kin, key=lambda each: len(each.points)).alike
    for name in sorted(series.alike.keys() | longest):
        ours, theirs = series.alike.get(name), longest.get(name)
        if ours != theirs:
            yield f"{name}: '{ours or ''}', not '{theirs or ''}'"


#: So many quiet series stand unfolded; of more, a reader opens those that matter.
OPEN = 4
_CAPTION = (
    "Dot: a build in a run, with the 95 % interval of its mean over the run's restarts, which "
    "share their hour: the next run may well lie outside. Thick line: the level between flagged "
    "changes. Dashed: a flagged change, with its slowdown: positive is worse. Where an interval "
    "leaves the chart, the table of points has its end."
)
_SERIES = """
{% if series.cut %}<p class="quiet">Cut from an earlier series: {{ series.cut | join("; ") }}.</p>
{% endif %}
{% if relative %}<p class="quiet">{{ relative[0] | upper }}{{ relative[1:] }}; the chart shows the
values themselves, and the table of points each distance.</p>
{% endif %}
{{ chart }}
{% for n in series.flagged_changes %}
<h3>{{ size(n, alpha) }}</h3>
<p><b>{{ verdict(series, n) }}</b>{{ cause(n) }}</p>
<dl class="commands">
{% for told, point in [("before", series.points[n.at - 1]), ("after", series.points[n.at])] %}
<dt>{{ told }}</dt><dd class="wrap">{{ place(point) }}{{ run(point) }}</dd>
{% endfor %}
{% if where(series, n) %}<dt>place</dt><dd>{{ where(series, n) }}</dd>{% endif %}
{% if hosts(n) %}<dt>beside</dt><dd class="wrap">{{ hosts(n) }}</dd>{% endif %}
<dt>{{ "which functions" if n.is_exact else "to confirm or reject" }}</dt>
<dd>{% if n.confirm %}<pre>{{ n.confirm }}</pre>{% else %}{{ n.why_none | coded }}{% endif %}</dd>
</dl>
{% endfor %}
<details><summary>{{ series.points | length | plural("point") }}</summary>
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">build</th><th scope="col">version</th>
<th scope="col" class="n">{{ series.metric | metric }} and 95&#8239;% interval</th>
{% if relative %}<th scope="col" class="n">slowdown</th>{% endif %}
<th scope="col" class="n">restarts</th><th scope="col">run</th><th scope="col">began</th></tr>
</thead>
<tbody>{% for point in series.points %}
{% if loop.index0 in changed %}
<tr class="group"><th scope="rowgroup" colspan="{{ 7 if relative else 6 }}">flagged:
{{ size(changed[loop.index0], alpha) }}</th></tr>
{% endif %}
<tr><th scope="row">{{ point.candidate }}</th><td>{{ point.version }}</td>
<td class="n">{{ said(point, series.metric.unit) }}</td>
{% if relative %}<td class="n">{{ point.slowdown_percent | signed }}&#8239;%</td>{% endif %}
<td class="n">{{ point.restarts }}</td>
<td>{{ point.run }}</td><td>{{ point.began_utc }}</td></tr>
{% endfor %}</tbody></table></div></details>
"""
_FOLDED = """
{% for anchor, told, body in quiet %}
<details id="{{ anchor }}"{% if open %} open{% endif %}><summary>{{ told }}</summary>
{{ body }}</details>
{% endfor %}
"""


def list_anchored_series(history: History) -> list[tuple[str, HistorySeries]]:
    """The series that were tested, each with the name that links to it."""
    return [(f"series-{at}", series) for at, series in enumerate(history.tested, 1)]


#: The address of the report of the run at a path, relative to the page; empty where it has none.
FindReport = Callable[[str], str]


@dataclass(frozen=True)
class ReportLinks:
    """From a flagged change to the reports of its runs, and to what changed, in one click."""

    find: FindReport

    def link_run(self, point: HistoryPoint) -> Markup:
        """The report of a point's run."""
        report = self.find(point.path) if point.path else ""
        return render(_LINKS, links=[(report, "report")] if report else [])

    def link_cause(self, change: FlaggedChange) -> Markup:
        """The fresh comparison's report, and in it what changed."""
        path = change.trial.path if change.trial else ""
        report = self.find(path) if path else ""
        links = [(report, "the comparison"), (f"{report}#cause", "what changed")]
        return render(_LINKS, links=links if report else [])


_LINKS = """{% for address, told in links %}, <a href="{{ address }}">{{ told }}</a>{% endfor %}"""
#: Of a page that may lie anywhere.
UNLINKED = ReportLinks(lambda _: "")


def build_series_parts(history: History, links: ReportLinks = UNLINKED) -> Iterator[PagePart]:
    """A part for each series with a flagged change, then one for all the others."""
    quiet = []
    for anchor, series in list_anchored_series(history):
        told, body = words.format_series(series), _build_body(series, history.alpha, links)
        if series.flagged_changes:
            yield PagePart(told, anchor, body)
        else:
            quiet.append((anchor, told, body))
    if quiet:
        body = render(_FOLDED, quiet=quiet, open=len(quiet) <= OPEN)
        yield PagePart("Without a flagged change", "quiet", body)
    short = [
        (f"short-{at}", words.format_series(series), _build_body(series, history.alpha, links))
        for at, series in enumerate((s for s in history.series if not s.tested), 1)
    ]
    if short:
        body = render(_FOLDED, quiet=short, open=len(short) <= OPEN and not history.tested)
        yield PagePart(f"Fewer than {history.points_least} points, not searched", "short", body)


def _build_body(series: HistorySeries, alpha: float, links: ReportLinks) -> Markup:
    return render(
        _SERIES,
        series=series,
        chart=draw_figure([timeline.draw_series(series)], _CAPTION),
        changed={each.at: each for each in series.flagged_changes},
        alpha=alpha,
        relative=words.describe_reference(series),
        size=words.format_change_size,
        verdict=words.format_past_verdict,
        place=words.format_point,
        where=words.format_change_place,
        hosts=words.format_host_change,
        said=timeline.format_point,
        cause=links.link_cause,
        run=links.link_run,
    )


_FLAGGED_CHANGES = """
{% if rows %}
<div class="scroll" tabindex="0"><table class="effects">
<thead><tr><th scope="col">series</th><th scope="col" class="n">slowdown</th>
<th scope="col" class="n">{{ level }}&#8239;% interval</th><th scope="col" class="n">p</th>
<th scope="col">builds</th><th scope="col">verdict</th></tr></thead>
<tbody>{% for anchor, series, n in rows %}
<tr><th scope="row"><a href="#{{ anchor }}">{{ told(series) }}</a></th>
<td class="n strong">{{ n.slowdown_percent | signed }}&#8239;%</td>
<td class="n">{{ interval(n.low_percent, n.high_percent) }}</td>
<td class="n">{{ p_value(n.p_value) }}</td>
<td>{{ series.points[n.at - 1].candidate }}, then {{ series.points[n.at].candidate }}</td>
<td>{{ verdict(series, n) }}{{ cause(n) }}</td></tr>
{% endfor %}</tbody></table></div>
{% endif %}
<p>{{ worth }}</p>
{% if doubt %}<p class="wrap"><b>One-sided:</b> {{ doubt }}</p>{% endif %}
<p class="aside">{{ limit }}</p>
"""


def build_history_page(history: History, links: ReportLinks = UNLINKED) -> str:
    """The page as text, with links to the reports of runs."""
    points = [point for series in history.series for point in series.points]
    begun = sorted(point.began_utc for point in points)
    found = format_count(len(history.flagged_changes), "flagged change")
    read = format_count(len({(point.run, point.began_utc) for point in points}), "run")
    front = PageHead(
        title=f"History: {found}",
        eyebrow="Dyno history",
        heading=f"{found} in {len(history.tested)} series",
        question="Where, over many runs, does a metric seem to have changed its level?",
        aside=f"{read}, begun {begun[0]} to {begun[-1]}" if begun else read,
    )
    return build_page(front, list(_build_parts(history, links)))


def _build_parts(history: History, links: ReportLinks) -> Iterator[PagePart]:
    yield PagePart("Flagged changes", "flagged", _build_summary(history, links))
    yield from build_series_parts(history, links)
    yield PagePart("Not looked at", "excluded", build_left_out(history))


def _build_summary(history: History, links: ReportLinks) -> Markup:
    rows = [
        (anchor, series, each)
        for anchor, series in list_anchored_series(history)
        for each in series.flagged_changes
    ]
    return render(
        _FLAGGED_CHANGES,
        rows=rows,
        p_value=words.format_p_value,
        told=words.format_series,
        verdict=words.format_past_verdict,
        worth=words.describe_changes_worth(history),
        cause=links.link_cause,
        doubt=words.describe_one_sided(history),
        limit=words.LIMIT,
        level=f"{100 * (1 - history.alpha):g}",
    )
