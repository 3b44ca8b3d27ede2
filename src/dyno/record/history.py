"""What is derived from many runs: series over time, and the changes flagged in them."""

from __future__ import annotations

from typing import Literal

from dyno.record.schema import SCHEMA, Int64, Record
from dyno.record.trial import Metric
from dyno.record.verdict import Doubt, VerdictName


class HistoryPoint(Record):
    """A build in a run: `run` is its folder's name, `candidate` is as the user wrote it.

    `value` is the geometric mean of the metric over the run's `restarts`, in the metric's unit;
    `low` and `high` are the 95 % t interval of that mean, None where there was one restart. The
    restarts share the run's hour, so the next run's mean may well lie outside. `build` holds what
    tells one build from another (version, checksum, flags). `slowdown_percent` is that against the
    base of the run, where the series is one of those. `host` is the id of the host, empty where the
    run does not name it. `path` is where the run lies: a folder, or a URL.
    """

    run: str
    began_utc: str
    candidate: str
    version: str
    build: dict[str, str]
    restarts: Int64
    value: float
    low: float | None
    high: float | None
    slowdown_percent: float | None = None
    host: str = ""
    path: str = ""


class FreshComparison(Record):
    """The fresh paired comparison of a flagged change's two levels: its run's folder and its
    verdict.

    The newest of those without which a change between its builds would have been flagged, too.
    The percentages bound the slowdown, as in `Comparison`; `doubts` are the
    comparison's. `path` is where the run lies.
    """

    run: str
    verdict: VerdictName
    low_percent: float | None
    high_percent: float | None
    doubts: tuple[Doubt, ...] = ()
    path: str = ""


#: What is to be done about a flagged change: nothing about a gain.
ChangeState = Literal["", "open", "accepted", "rejected", "fixed"]


class FlaggedChange(Record):
    """A level that seems to change before the point `at` of its series (counted from 0); in 99 % of
    steps the true place is one from `first` to `last`.

    `slowdown_percent` is the level after against the one before (positive is worse, whatever the
    metric's direction), with Welch's interval of level 1 − `alpha`; `p_value` is that of the search
    which chose the place. `stands` is False where the series' newest level lies nearer to the one
    before. `confirm` is the command that compares afresh the builds before `first` and from `last`
    on; where there is none it is empty, and `why_none` says why. `trial` is what a fresh comparison
    found; None where there was none yet. Where it `is_exact` it is one of a count of instructions:
    the interval is over repetitions (of no width where these agree), and nothing needs to be tried;
    but where it is not `is_decided`, since they vary too far to tell.
    `unlike_hosts` says, a clause each, what of a group's hosts, or of what their pilots chose,
    changed at the same place: then nobody can tell whether that brought the step or the build.
    `state` is what is to be done about a slowdown, `state_reason` why that is so.
    """

    at: Int64
    first: Int64
    last: Int64
    slowdown_percent: float
    low_percent: float
    high_percent: float
    p_value: float
    stands: bool
    confirm: str
    why_none: str = ""
    trial: FreshComparison | None = None
    is_exact: bool = False
    is_decided: bool = True
    unlike_hosts: tuple[str, ...] = ()
    state: ChangeState = ""
    state_reason: str = ""


class HistorySeries(Record):
    """Comparable points of one metric, in the order of their builds.

    `alike` names what all points share beside engine and metric (options, settings, controls, host,
    driver); `cut` says, a clause each, what was no longer as it was where an earlier series of the
    metric ended. `relative_to` is the build that every point was measured along with, and against
    which changes are searched, so that the host's nights cancel; empty where there is none. A
    flagged change that nobody tried counts for the gate, which is asked every night, where its p is
    at most `gate_alpha`. `tested` is False where there are fewer points than could show a change.
    `levels` are the geometric means between the flagged changes, one more than there are of these.
    One of counts `is_exact`: its steps are judged by repetitions, and need no fresh comparison.
    """

    metric: Metric
    engine: str
    alike: dict[str, str]
    points: tuple[HistoryPoint, ...]
    tested: bool
    levels: tuple[float, ...]
    flagged_changes: tuple[FlaggedChange, ...] = ()
    cut: tuple[str, ...] = ()
    relative_to: dict[str, str] = {}
    gate_alpha: float = 1.0
    is_exact: bool = False

    def is_counted(self, flagged: FlaggedChange) -> bool:
        """For a gate that is asked every night: it was tried, or it is rare enough for tonight."""
        return flagged.trial is not None or flagged.p_value <= self.gate_alpha


class LeftOutRun(Record):
    """What of a run (its folder's name) is in no series, and why."""

    run: str
    why: str


class AlarmSides(Record):
    """Flagged changes of times that no fresh comparison confirmed, by event: changes of several
    series at one time are one. `p_value` is the sign test's: how often a fair coin is as skewed.
    """

    slowdowns: Int64
    speedups: Int64
    p_value: float
    is_one_sided: bool


class History(Record):
    """`dyno history --json`: what many runs tell of changes over time.

    Of tested series in which nothing changed, at most the share `alpha` has a flagged change, as
    long as points may be exchanged. A series of fewer than `points_least` points is not tested.
    `sides` is None in histories of an older Dyno.
    """

    alpha: float
    points_least: Int64
    series: tuple[HistorySeries, ...]
    left_out: tuple[LeftOutRun, ...] = ()
    sides: AlarmSides | None = None
    schema: Int64 = SCHEMA

    @property
    def tested(self) -> list[HistorySeries]:
        """The series that were long enough."""
        return [each for each in self.series if each.tested]

    @property
    def flagged_changes(self) -> list[tuple[HistorySeries, FlaggedChange]]:
        """All of them, each with its series."""
        return [(series, each) for series in self.series for each in series.flagged_changes]
