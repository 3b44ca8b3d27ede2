"""A history as a document: what is flagged, a chart for each series, what was left out and why.

A series is shown as its chart, what is flagged in it, and its points as a table; left out are
series that are too short, and runs that are invalid or torn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dyno import numbers
from dyno.numbers import format_count
from dyno.record import FlaggedChange, History, HistoryPoint, HistorySeries
from dyno.record.build_facts import describe_commit, find_commit, link_commit
from dyno.report import document as doc
from dyno.report import words
from dyno.report.charts import (
    Axis,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Line,
    Note,
    choose_colour,
    make_linear_axis,
)
from dyno.report.html.page import PageHead, build_page


def build_history(history: History, links: ReportLinks) -> doc.Document:
    """All of it; a part for each series with a flagged change, then one for all the others."""
    blocks = [doc.Heading("Flagged changes", "flagged"), *_build_summary(history, links)]
    quiet: list[doc.Details] = []
    for anchor, series in list_anchored_series(history):
        told, own = words.format_series(series), list(_build_series(series, history.alpha, links))
        if series.flagged_changes:
            blocks += [doc.Heading(told, anchor), *own]
        else:
            quiet.append(doc.Details(doc.TextSpan(told), own, anchor))
    blocks += _list_folded("Without a flagged change", "quiet", quiet, True)
    short = [
        doc.Details(
            doc.TextSpan(words.format_series(series)),
            list(_build_series(series, history.alpha, links)),
            f"short-{at}",
        )
        for at, series in enumerate((s for s in history.series if not s.tested), 1)
    ]
    title = f"Fewer than {history.points_least} points, not searched"
    blocks += _list_folded(title, "short", short, not history.tested)
    return [*blocks, doc.Heading("Not looked at", "excluded"), *build_left_out(history)]


def _list_folded(
    title: str, anchor: str, series: Sequence[doc.Details], may_open: bool
) -> list[doc.Block]:
    is_open = may_open and len(series) <= OPEN
    folded = [doc.Details(it.summary, it.blocks, it.anchor, is_open) for it in series]
    return [doc.Heading(title, anchor), *folded] if series else []


def build_left_out(history: History) -> list[doc.Block]:
    """A table and a list, or a sentence where there was nothing to leave out."""
    short: list[doc.TableRow] = [
        (
            words.format_series(series),
            str(len(series.points)),
            "; ".join(_list_other_conditions(series, history)),
        )
        for series in history.series
        if not series.tested
    ]
    if not short and not history.left_out:
        return [doc.Prose("Every run that was found has its points above.")]
    columns = doc.make_columns("series", "points", after=("unlike the longest of this metric in",))
    title = f"Series of fewer than {history.points_least} points"
    runs = [(doc.TextSpan(it.run, "strong"), f": {it.why}") for it in history.left_out]
    return [doc.RowTable(columns, short, title), doc.Items(runs, "Of runs")]


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


def list_anchored_series(history: History) -> list[tuple[str, HistorySeries]]:
    return [(f"series-{at}", series) for at, series in enumerate(history.tested, 1)]


#: The address of the report of the run at a path, relative to the page; empty where it has none.
FindReport = Callable[[str], str]


@dataclass(frozen=True)
class ReportLinks:
    """From a flagged change to the reports of its runs, and to what changed, in one click."""

    find: FindReport

    def link_run(self, point: HistoryPoint) -> list[str | doc.TextSpan]:
        report = self.find(point.path) if point.path else ""
        links = [("report", report), ("commit", link_commit(point.build))]
        pairs = ((", ", doc.TextSpan(told, link=address)) for told, address in links if address)
        return [it for pair in pairs for it in pair]

    def link_cause(self, change: FlaggedChange) -> list[str | doc.TextSpan]:
        path = change.trial.path if change.trial else ""
        report = self.find(path) if path else ""
        links = [("the comparison", report), ("what changed", f"{report}#cause")]
        spans = ((", ", doc.TextSpan(told, link=address)) for told, address in links if report)
        return [it for pair in spans for it in pair]


#: Of a page that may lie anywhere.
UNLINKED = ReportLinks(lambda _: "")


def _build_series(series: HistorySeries, alpha: float, links: ReportLinks) -> Iterator[doc.Block]:
    if series.cut:
        yield doc.Prose(f"Cut from an earlier series: {'; '.join(series.cut)}.", "quiet")
    if relative := words.describe_reference(series):
        shown = "the chart shows the values themselves, and the table of points each distance"
        yield doc.Prose(f"{relative[0].upper()}{relative[1:]}; {shown}.", "quiet")
    yield doc.Figure([draw_series(series)], _CAPTION)
    for flagged in series.flagged_changes:
        yield from _build_change(series, flagged, alpha, links)
    points = format_count(len(series.points), "point")
    yield doc.Details(points, [_build_points(series, alpha)])


def _build_change(
    series: HistorySeries, flagged: FlaggedChange, alpha: float, links: ReportLinks
) -> Iterator[doc.Block]:
    yield doc.Heading(words.format_change_size(series, flagged, alpha))
    verdict = doc.TextSpan(words.format_past_verdict(series, flagged), "strong")
    yield doc.Prose([verdict, *links.link_cause(flagged)])
    before, after = series.points[flagged.at - 1 : flagged.at + 1]
    names = words.name_ends(series, flagged)
    asked = "which functions" if flagged.is_exact else "to confirm or reject"
    yield doc.Terms(
        [
            (names[0], [doc.Prose([words.format_point(before), *links.link_run(before)])]),
            (names[1], [doc.Prose([words.format_point(after), *links.link_run(after)])]),
            ("state", doc.list_prose([words.format_state(flagged)])),
            ("place", doc.list_prose([words.format_change_place(series, flagged)])),
            ("beside", doc.list_prose([words.format_host_change(flagged)])),
            (
                asked,
                [doc.Listing(flagged.confirm) if flagged.confirm else doc.Prose(flagged.why_none)],
            ),
        ]
    )


def _build_points(series: HistorySeries, alpha: float) -> doc.RowTable:
    changed = {each.at: each for each in series.flagged_changes}
    rows: list[doc.TableRow] = []
    for at, point in enumerate(series.points):
        if at in changed:
            rows.append(
                doc.Group(f"flagged: {words.format_change_size(series, changed[at], alpha)}")
            )
        change = point.slowdown_percent
        distance = f"{numbers.format_signed_percent(change)} %" if change is not None else ""
        value = format_point(point, series.metric.unit)
        told = (str(point.restarts), point.run, point.began_utc)
        relative = (distance,) if series.relative_to else ()
        build = doc.TextSpan(words.name_build(point), link=link_commit(point.build))
        rows.append((build, point.version, value, *relative, *told))
    metric = f"{words.format_metric(series.metric)} and 95 % interval"
    figures = (metric, *(("slowdown",) if series.relative_to else ()), "restarts")
    columns = doc.make_columns(("build", "version"), *figures, after=("run", "began"))
    return doc.RowTable(columns, rows)


def _build_summary(history: History, links: ReportLinks) -> list[doc.Block]:
    rows: list[doc.TableRow] = [
        (
            doc.TextSpan(words.format_series(series), link=f"#{anchor}"),
            f"{numbers.format_signed_percent(it.slowdown_percent)} %",
            numbers.format_interval(it.low_percent, it.high_percent),
            words.format_p_value(it.p_value),
            ", then ".join(words.name_build(series.points[at]) for at in (it.at - 1, it.at)),
            [words.format_past_verdict(series, it), *links.link_cause(it)],
            words.format_state(it),
        )
        for anchor, series in list_anchored_series(history)
        for it in series.flagged_changes
    ]
    level = f"{100 * (1 - history.alpha):g} % interval"
    after = ("builds", "verdict", "state")
    columns = doc.make_columns("series", "slowdown", level, "p", after=after)
    doubt = words.describe_one_sided(history)
    return [
        doc.RowTable(columns, rows),
        doc.Prose(words.describe_changes_worth(history)),
        *([doc.Prose((doc.TextSpan("One-sided: ", "strong"), doubt))] if doubt else []),
        doc.Prose(words.LIMIT, "quiet"),
    ]


#: More names below the axis than a narrow page has space for.
TICKS = 8
NAME_LONGEST = 14
#: So much of a hash stands below a point.
TICK_HASH = 7
#: So far beyond the points, in their range, an interval is drawn: a wide one (two restarts have few
#: degrees of freedom) must not squeeze all points into a line.
REACH = 0.75


def draw_series(series: HistorySeries) -> Chart:
    y = _make_values_axis(series)
    changes = [
        mark for at, each in enumerate(series.flagged_changes) for mark in _draw_change(each, at, y)
    ]
    unit = series.metric.unit
    dots = Dots(
        [_draw_dot(at, point, unit) for at, point in enumerate(series.points)], choose_colour(0)
    )
    found = numbers.format_count(len(series.flagged_changes), "flagged change")
    described = f"{words.format_series(series)}: {len(series.points)} points, {found}"
    panel = ChartPanel(y, [*changes, _draw_levels(series), dots])
    return Chart(words.format_series(series), described, _make_builds_axis(series.points), [panel])


def format_point(point: HistoryPoint, unit: str) -> str:
    """The point's value with its interval: `9.31 k/s [9.20, 9.41]`."""
    value = numbers.format_quantity(point.value, unit)
    ends = numbers.format_interval(
        point.low, point.high, lambda end: numbers.format_quantity(end, unit)
    )
    return f"{value} {ends}".rstrip()


def _draw_dot(at: int, point: HistoryPoint, unit: str) -> Dot:
    return Dot(at, point.value, _format_hover(point, unit), point.low, point.high)


def _format_hover(point: HistoryPoint, unit: str) -> str:
    restarts = numbers.format_count(point.restarts, "restart")
    build = f"{words.name_build(point)} ({point.version or 'no version'})"
    told = (build, format_point(point, unit), f"{point.began_utc[:10]}, {restarts} in", point.run)
    return "\n".join(told)


def _draw_levels(series: HistorySeries) -> Line:
    borders = [0, *(each.at for each in series.flagged_changes), len(series.points)]
    runs = [
        [(start - 0.5, level), (end - 0.5, level)]
        for (start, end), level in zip(pairwise(borders), series.levels, strict=True)
    ]
    return Line(runs, choose_colour(1))


def _draw_change(flagged: FlaggedChange, number: int, y: Axis) -> tuple[Line, Note]:
    """The place of a change, which was chosen and so is a line and no band of trust, and its size.

    Neighbours' sizes stand in two rows, lest one covers the other.
    """
    at, tone = flagged.at - 0.5, _choose_change_colour(flagged)
    size = f"{numbers.format_signed_percent(flagged.slowdown_percent)} %"
    line = Line([[(at, y.low), (at, y.high)]], tone, width_px=1.5, dashed=True)
    return line, Note(size, x=at, row=number % 2, colour=tone)


def _choose_change_colour(flagged: FlaggedChange) -> str:
    return "var(--bad)" if flagged.slowdown_percent > 0 else "var(--good)"


def _make_builds_axis(points: Sequence[HistoryPoint]) -> Axis:
    """The commit below a point, of builds without one the version, the day where most versions are
    one; some, where there are many.

    A short axis shows each, a long one the first of every so many.
    """
    step = -(-len(points) // TICKS)
    builds = [point.build for point in points]
    if all(map(find_commit, builds)):
        shown = range(0, len(points), step)
        ticks = [(at, find_commit(builds[at])[:TICK_HASH]) for at in shown]
        details = {at: (describe_commit(builds[at]), link_commit(builds[at])) for at in shown}
        return Axis("commit", -0.6, len(points) - 0.4, ticks, grid=False, details=details)
    versions = [point.version for point in points]
    told = 2 * len(set(versions)) > len(versions) and all(versions)
    names = versions if told else [point.began_utc[:10] for point in points]
    ticks = [(at, _shorten_name(names[at])) for at in range(0, len(points), step)]
    title = "version" if told else "day of the run"
    return Axis(title, -0.6, len(points) - 0.4, ticks, grid=False)


def _shorten_name(name: str) -> str:
    return name if len(name) <= NAME_LONGEST else f"{name[: NAME_LONGEST - 1]}…"


def _make_values_axis(series: HistorySeries) -> Axis:
    """From the lowest point to the highest, and as much of their intervals as `REACH` allows."""
    metric, points = series.metric, series.points
    low, high = min(p.value for p in points), max(p.value for p in points)
    space = REACH * (high - low) or 0.01 * high
    bottom = max(low - space, min(p.value if p.low is None else p.low for p in points))
    top = min(high + space, max(p.value if p.high is None else p.high for p in points))
    label = numbers.format_label(words.format_metric(metric), metric.unit)
    title = f"{label} ({metric.better} is better)"
    pad = 0.1 * space
    return make_linear_axis(title, bottom - pad, top + pad, metric.unit)


def build_history_page(history: History, links: ReportLinks = UNLINKED) -> str:
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
    return build_page(front, build_history(history, links))
