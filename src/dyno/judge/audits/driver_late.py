"""Audit `driver_late`: did the driver begin what was due, and take what was answered, in time?

A driver whose thread is kept from its core begins events late and reads answers late, and both are
charged to the engine. Two measures, each with the limits of `client_share` and for its reason:
what hides half of a slowdown is doubtful, what hides nine tenths invalid.

- Paced streams with a latency among the primaries: lateness that no queue explains. An event waits
  behind others only while all users are busy; that is the case for no more of the time than a user
  is busy on average (Markov), which is `done` × mean service ÷ (users × time) (Little). So if more
  than twice that share of all events is late, the driver was: the lateness is set against the
  latency at the primary's percentile, or at the last one below it that no queue reaches. Bursts are
  late by design; where users are busy for a quarter of the time or more nothing can be told.
- A connection that is made anew, or a statement that is prepared, in the middle of a phase: the
  thread does nothing else meanwhile, and its other users' answers lie unread. *Doubtful* where that
  took more of the time than half the smallest margin.
- Beside a server: the time that a thread of the driver stood ready and waited for a core, which
  the kernel knows. *Doubtful* at half of the time, and no more than that: on cores that driver and
  server share either waits for the other, and both are part of what was asked for.

Where the engine lives in the driver's process, its waiting is not told from the engine's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from dyno.judge.analysis.blocks import MARGIN_SHARE
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Case, Unchecked, conclude, list_cases
from dyno.record import Finding, PhaseRecord, Soundness, Tally

DOUBTFUL_PERCENT = 50.0
INVALID_PERCENT = 90.0
#: Fewer events have no percentiles.
EVENTS_LEAST = 20
#: Allowance for arrivals that are not spread evenly.
CROWDED = 2.0
EVEN = ("uniform", "poisson")
#: Below the median a percentile says nothing of what is typical.
LOWEST = 50.0
PREFIX = "latency_ns_"
#: Where metrics that are no percentiles are judged.
NAMED = {"latency_ns_mean": "50", "latency_ns_max": "99"}
_UNKNOWN = "no latency of a paced stream decides, and the driver's waits for a core are not known"

_Fault = tuple[Soundness, str]


class DriverLate:
    """Lateness beyond queueing, and waiting for a core."""

    summary = "events begin when they are due and a user is free; the driver has its core"
    judges_wall_time = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each stream or phase whose driver was late; else one with the most."""
        run, trials = view.run, view.trials
        judged = list(list_cases(run, trials))
        findings = [
            case.make_finding("driver_late", soundness, words)
            for case in judged
            for soundness, words in (
                *_find_late_faults(case),
                *_find_held_up_faults(case, MARGIN_SHARE * case.find_margin_percent(run)),
                *_find_wait_faults(case),
            )
        ]
        unknown = [case for case in judged if not _is_checked(case)]
        unchecked = [Unchecked(_UNKNOWN, case.name) for case in unknown]
        told = _describe_sound(judged) if len(unknown) < len(judged) else ""
        return conclude("driver_late", findings, told, unchecked)


def _is_checked(case: Case) -> bool:
    return _compute_waited_percent(case) is not None or any(_compute_late_percents(case))


def _find_late_faults(case: Case) -> Iterator[_Fault]:
    for stream, share in _compute_late_percents(case):
        if share >= DOUBTFUL_PERCENT:
            soundness: Soundness = "invalid" if share >= INVALID_PERCENT else "doubtful"
            words = f"{stream}: events began late though a user was free, which is {share:.0f} %"
            yield soundness, f"{words} of their latency"


def _compute_late_percents(case: Case) -> Iterator[tuple[str, float]]:
    """Of each paced stream whose latency decides: lateness that no queue explains, in percent."""
    paces = {stream.name: stream.pace.kind for stream in case.plan.streams} if case.plan else {}
    for pair in case.primaries:
        stream, name = pair.stream, pair.metric
        if not name.startswith(PREFIX) or paces.get(stream) not in EVEN:
            continue
        last = float(NAMED.get(name) or name.removeprefix(PREFIX + "p"))
        seen = case.streams.get(stream, [])
        shares = [
            s for each in seen if (s := _compute_unexplained_percent(*each, last)) is not None
        ]
        if shares:
            yield stream, median(shares)


def _compute_unexplained_percent(record: PhaseRecord, tally: Tally, last: float) -> float | None:
    """Lateness in percent of latency, at the last percentile that no queue reaches."""
    if tally.done < EVENTS_LEAST:
        return None
    service_ns = tally.latency.mean_ns - tally.lateness.mean_ns
    busy = service_ns * tally.done / (tally.connections * record.duration_s * 1e9)
    latency, lateness = tally.latency.percentiles_ns, tally.lateness.percentiles_ns
    unreached = min(last, 100 * (1 - CROWDED * busy))
    names = [
        name for name in latency.keys() & lateness.keys() if LOWEST <= float(name) <= unreached
    ]
    if not names:
        return None
    at = max(names, key=float)
    return 100 * lateness[at] / max(1, latency[at])


def _find_held_up_faults(case: Case, most_percent: float) -> Iterator[_Fault]:
    lost = [
        (100 * record.held_up_ns / (record.duration_s * 1e9), record.held_up_ns_max / 1e9)
        for record in case.records
        if record.duration_s > 0
    ]
    percent, longest_s = max(lost, default=(0.0, 0.0))
    if percent > most_percent:
        words = "connecting anew or preparing for one user kept others of its thread waiting for"
        yield "doubtful", f"{words} {percent:.1f} % of the time, up to {longest_s:.1f} s at once"


def _find_wait_faults(case: Case) -> Iterator[_Fault]:
    percent = _compute_waited_percent(case)
    if percent is not None and percent >= DOUBTFUL_PERCENT:
        words = f"a thread of the driver waited for a core for {percent:.0f} % of the time"
        yield "doubtful", f"{words}, while answers lay unread"


def _compute_waited_percent(case: Case) -> float | None:
    found = [
        reading.value
        for record in case.records
        for reading in record.readings
        if reading.name == "driver_waited_percent"
    ]
    return median(found) if found else None


def _describe_sound(judged: Sequence[Case]) -> str:
    waits = {case.name: p for case in judged if (p := _compute_waited_percent(case)) is not None}
    if not waits:
        streams = sum(len(case.streams) for case in judged)
        return f"no stream of {streams} began its events late though a user was free"
    most = max(waits, key=lambda name: waits[name])
    return (
        f"the driver's threads waited {waits[most]:.0f} % of the time for a core at most (of "
        f"{len(waits)}, {most})"
    )


AUDIT = DriverLate()
