"""Histories with zoom: a chart for each series, from all its points down to those around a change,
and from each change one step to the comparison that tried it, and to what changed in that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from markupsafe import Markup
from msgspec import structs

from dyno.compare.history.history import build_history
from dyno.compare.history.homes import read_folders
from dyno.numbers import format_count
from dyno.pages.frame import HISTORY, SitePage, quote_key, read_template
from dyno.pages.library import ListedRun
from dyno.pages.waiting import ReadProgress, start_aside, wait_for_promise
from dyno.record import FlaggedChange, History, HistorySeries
from dyno.record.build_facts import link_commit
from dyno.report import words
from dyno.report.accepted import AcceptedLoss, find_states, read_accepted
from dyno.report.charts import Chart
from dyno.report.history import (
    build_left_out,
    draw_series,
    format_point,
    list_anchored_series,
)
from dyno.report.html.markup import render
from dyno.report.render.html import render_html
from dyno.report.render.svg import draw_figure

ALPHA = 0.01
#: Zooms: the newest so many points, and so many to either side of a change.
NEWEST, AROUND = (100, 30), 10
#: So many series without a change stand unfolded.
OPEN_MAX = 4

_CAPTION = (
    "Dot: a build in a run, with the 95 % interval of its mean over the run's restarts, which "
    "share their hour. Thick line: the level between flagged changes. Dashed: a flagged change, "
    "with its slowdown: positive is worse."
)
#: Reads what the repository accepts.
ReadLosses = Callable[[], tuple[AcceptedLoss, ...]]
_LINK = '<a href="{{ address }}">{{ words }}</a>'


class HistoryShelf:
    """The history of a library's runs, made again where one of them changed, or what is accepted;
    `read_losses` reads that.
    """

    def __init__(self, read_losses: ReadLosses = lambda: read_accepted(Path.cwd())) -> None:
        self._read_losses = read_losses
        self._lock, self._asking = threading.Lock(), threading.Lock()
        self._promised: Future[History] | None = None
        self._progress = ReadProgress("`dyno history` keeps what makes this quick.")
        self._made: tuple[object, History] | None = None

    def wait_for_history(self, runs: Sequence[ListedRun]) -> History:
        """The same; `StillReading` where many runs are read, which then goes on by itself."""
        with self._asking:
            if self._promised is None or self._promised.done():
                self._promised = start_aside(lambda: self.read(runs))
            promised = self._promised
        return wait_for_promise(promised, self._progress)

    def read(self, runs: Sequence[ListedRun]) -> History:
        """That of those among `runs` that have one."""
        own = [run for run in runs if run.place.instrument.has_history]
        losses = self._read_losses()
        state = losses, tuple((run.place.path, run.place.find_changed_ns()) for run in own)
        with self._lock:
            if self._made is None or self._made[0] != state:
                self._made = state, _build(own, self._progress, losses)
            return self._made[1]


def _build(
    runs: Sequence[ListedRun], progress: ReadProgress, losses: tuple[AcceptedLoss, ...]
) -> History:
    def tell(read: int) -> None:
        progress.read = read

    progress.total = len(runs)
    homes = read_folders((run.place.path for run in runs), tell)
    return find_states(losses, build_history(homes, ALPHA))


@dataclass(frozen=True)
class RunLinks:
    """The keys of the runs that have pages, by their folders' names; and the pairs of these that
    have one, None: every pair.
    """

    keys: Mapping[str, str]
    pairs: frozenset[tuple[str, str]] | None = None

    def link(self, run: str) -> Markup | str:
        """A run's name as a link to its report; as it is where it has none."""
        return (
            self._link(f"runs/{quote_key(self.keys[run])}.html", run) if run in self.keys else run
        )

    def look(self, series: HistorySeries, change: FlaggedChange) -> Markup:
        """Where to go on from a change: its comparison and what changed there; both runs beside."""
        found: list[Markup | str] = []
        if change.trial and change.trial.run in self.keys:
            report = f"runs/{quote_key(self.keys[change.trial.run])}.html"
            found += [self._link(report, "the comparison")]
            found += [self._link(f"{report}#cause", "what changed")]
        runs = [series.points[at].run for at in (change.at - 1, change.at)]
        if pair := self._find_pair(change, *runs):
            address = "/".join(map(quote_key, pair))
            found.append(self._link(f"beside/{address}.html", "both runs side by side"))
        return Markup(", ").join(found) if found else Markup("the command below")

    def _find_pair(self, change: FlaggedChange, one: str, other: str) -> tuple[str, str] | None:
        """The keys of two comparisons, in the order in which they have a page."""
        if one == other or change.is_exact or not {one, other} <= self.keys.keys():
            return None
        keys = self.keys[one], self.keys[other]
        tries = (keys, keys[::-1])
        return next((it for it in tries if self.pairs is None or it in self.pairs), None)

    @staticmethod
    def _link(address: str, told: str) -> Markup:
        return render(_LINK, address=address, words=told)


def build_history_page(
    history: History, links: RunLinks, newest: int = 0, served: bool = True
) -> SitePage:
    """The page; `newest` shows so many points of each series first, 0: all."""
    anchored = list_anchored_series(history)
    body = render(
        read_template("history.html"),
        worth=words.describe_changes_worth(history),
        doubt=words.describe_one_sided(history),
        limit=words.LIMIT,
        served=served,
        newest=newest,
        zooms=NEWEST,
        changes=[(a, series, it) for a, series in anchored for it in series.flagged_changes],
        drawn=[(a, series, _draw(series, newest)) for a, series in _sort_changed_first(anchored)],
        open_max=OPEN_MAX,
        alpha=history.alpha,
        left_out=render_html(build_left_out(history)),
        told=words.format_series,
        size=words.format_change_size,
        verdict=words.format_past_verdict,
        place=words.format_point,
        ends=words.name_ends,
        between=words.format_change_place,
        state=words.format_state,
        build=words.name_build,
        commit=link_commit,
        said=format_point,
        hosts=words.format_host_change,
        look=links.look,
        link=links.link,
    )
    found = format_count(len(history.flagged_changes), "flagged change")
    return SitePage(
        title=f"History: {found}",
        heading=f"{found} in {len(history.tested)} series",
        question="Where, over many runs, does a metric seem to have changed its level?",
        body=body,
        here=HISTORY,
    )


def _sort_changed_first(
    anchored: Sequence[tuple[str, HistorySeries]],
) -> list[tuple[str, HistorySeries]]:
    """Those with a flagged change first."""
    return sorted(anchored, key=lambda pair: not pair[1].flagged_changes)


def _draw(series: HistorySeries, newest: int) -> Markup:
    """The chart, and its zooms to choose from."""
    count = len(series.points)
    windows = [(f"all {count} points", 0, count)]
    windows += [(f"the newest {n}", count - n, count) for n in NEWEST if n < count]
    for change in series.flagged_changes:
        first, last = max(0, change.at - AROUND), min(count, change.at + AROUND)
        if last - first < count:
            name = f"around {words.name_build(series.points[change.at])}"
            windows.append((name, first, last))
    shown = (count - newest, count) if 0 < newest < count else (0, count)
    windows.sort(key=lambda window: window[1:] != shown)
    return draw_figure([_draw_window(series, *window) for window in windows], _CAPTION)


def _draw_window(series: HistorySeries, name: str, first: int, last: int) -> Chart:
    return replace(draw_series(cut_series(series, first, last)), label=name)


def cut_series(series: HistorySeries, first: int, last: int) -> HistorySeries:
    """The points from `first` to before `last`, with the changes and levels among these."""
    inner = [it for it in series.flagged_changes if first < it.at < last]
    borders = [0, *(it.at for it in series.flagged_changes), len(series.points)]
    stretches = zip(pairwise(borders), series.levels, strict=True)
    levels = [level for (begin, end), level in stretches if begin < last and end > first]
    return structs.replace(
        series,
        points=series.points[first:last],
        flagged_changes=tuple(
            structs.replace(it, at=it.at - first, first=it.first - first, last=it.last - first)
            for it in inner
        ),
        levels=tuple(levels),
    )


def list_links(
    runs: Sequence[ListedRun], pairs: frozenset[tuple[str, str]] | None = None
) -> RunLinks:
    """Those of runs that have a page of their own, and of `pairs` of keys, None: of every two."""
    return RunLinks({run.place.name: run.key for run in reversed(runs)}, pairs)
