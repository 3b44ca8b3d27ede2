"""The words of a history: a series, a point of it, a nomination; the same in text and on a page."""

from __future__ import annotations

from dyno.record import History, Nominated, PastPoint, PastSeries
from dyno.report import numbers, words

#: What is told of a series beside its metric: what a user chose.
CHOSEN = ("option", "setting", "control", "length")
#: How far the rate of false nominations is to be trusted (docs/METHOD.md, Limits).
LIMIT = (
    "That rate holds for points that may be exchanged where nothing changed. Points that hang "
    "together in time, as on a host that drifts, get more: with a correlation of 0.3 from one to "
    "the next, about 8 % of made-up series of 30 points at a rate of 1 %. The size of a change "
    "exaggerates, since its place was chosen for being large."
)


def told(series: PastSeries) -> str:
    """`insert / l.i0 / insert rate, sqlite, journal_mode=wal`."""
    pairs = [(*name.partition(" "), value) for name, value in series.alike.items()]
    chosen = [f"{name or group}={value}" for group, _, name, value in pairs if group in CHOSEN]
    return ", ".join((words.full(series.metric), series.engine, *chosen))


def place(point: PastPoint) -> str:
    """The candidate as written, its version, the run and its day."""
    restarts = words.plural(point.restarts, "restart")
    day = point.began_utc[:10]
    return f"{point.candidate} ({point.version or 'no version'}), {day}, {restarts} in {point.run}"


def size(nomination: Nominated, alpha: float) -> str:
    """`slowdown +5.1 %, 99 % interval [+4.3, +5.9], p 0.002`."""
    level = f"{100 * (1 - alpha):g} % interval"
    bounds = numbers.interval(nomination.low_percent, nomination.high_percent)
    slowdown = numbers.signed(nomination.slowdown_percent)
    return f"slowdown {slowdown} %, {level} {bounds}, p {nomination.p_value:.3f}"


def verdict(nomination: Nominated) -> str:
    """What a fresh comparison said, or that there was none, and whether the level came back."""
    trial = nomination.trial
    later = "" if nomination.stands else "; the level has come back since"
    if trial is None:
        return f"nominated, not tried{later}"
    ends = [end for end in (trial.low_percent, trial.high_percent) if end is not None]
    bounds = f", {numbers.interval(*ends)} %," if len(ends) == 2 else ""
    return f"{trial.verdict}{bounds} by the fresh comparison in {trial.run}{later}"


def worth(history: History) -> str:
    """What the nominations are worth: how often there is one where nothing changed."""
    found, tested = len(history.nominations), len(history.tested)
    return (
        f"{words.plural(found, 'nomination')} in {tested} series; where nothing changed, "
        f"{100 * history.alpha:g} % of the series get one all the same. A nomination is no "
        "verdict: only a fresh paired comparison convicts."
    )
