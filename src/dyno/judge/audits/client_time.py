"""Audit `client_time`: did the client itself take as long for an event on all candidates?

A script that sleeps, waits for a program or works by itself on one side only is no slower engine.
The driver measures, in some of a user's events, what passed outside the engine: from the event's
begin to its end without the time from each request to its answer; and it adds up what the script
slept, and rested after its events (`dyno.rest`). That time per event (the median over restarts) is
held against the base's.

- All restarts of one side lie beyond all of the other, the medians differ by over half of the
  larger, and by 5 % of the faster side's event at least: it is held against the difference between
  the sides' events. If it is half of that or more, and that shows it (at least half of it):
  *invalid*, the client made the difference. If it is a fifth or more: *doubtful*.
- A difference that the events do not show may hide one of the engines': *doubtful* from 20 % of the
  event on.

What the same script costs a client differs a little from engine to engine, whose data leave other
parts of it in the caches; so differences of less than half are none. The time is the wall's, and a
client that loses its core for a moment in a timed event seems to have taken it: hence the restarts,
three of each side at least, with 30 timed events in each. A script's own loop (`thread_run`) is not
timed, and its sleeps alone are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Inapplicable, Unchecked, conclude
from dyno.judge.audits._statements import (
    NO_PAIR,
    StreamView,
    list_streams,
    list_unjudged,
    pair_streams,
)
from dyno.record import Finding, Soundness, Tally

#: Fewer timed events in a restart, and fewer restarts, say nothing.
EVENTS_LEAST = 30
RESTARTS_LEAST = 3
DIFFERENCE_SHARE = 0.5
EVENT_SHARE = 0.05
HIDDEN_SHARE = 0.2
DOUBTFUL_OF_EFFECT = 0.2
INVALID_OF_EFFECT = 0.5


class ClientTime:
    """The script's and the driver's time in an event, against the base's."""

    summary = "script and driver take as long for an event on all candidates"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each stream whose client took longer or shorter; else a sound one."""
        known = [it for it in list_streams(view) if not it.is_load]
        findings: list[Finding] = []
        compared: list[float] = []
        left = list_unjudged(view, known)
        for own, base in pair_streams(view):
            if own.is_load or not (own.is_counted and base.is_counted):
                continue
            times = _compute_client_ns(own.tallies), _compute_client_ns(base.tallies)
            if min(map(len, times)) < RESTARTS_LEAST:
                why = f"{EVENTS_LEAST} timed events were in fewer than {RESTARTS_LEAST} restarts"
                left.append(Unchecked(why, own.case.name))
                continue
            compared += map(median, times)
            for soundness, words in _find_faults(own, base, times):
                told = f"{own.name}: {words}"
                findings.append(own.case.make_finding("client_time", soundness, told))
        if not compared and not left:
            left.append(Inapplicable(NO_PAIR))
        return conclude("client_time", findings, _describe_sound(compared), left)


def _describe_sound(compared: Sequence[float]) -> str:
    told = "the client took {} for an event at most, alike on all candidates ({} compared)"
    return told.format(_format_us(max(compared)), len(compared)) if compared else ""


def _compute_client_ns(tallies: Sequence[Tally]) -> list[float]:
    """What the client took for an event, in each restart that tells; none of too few events."""
    return [
        max(t.client_ns / max(1, t.client_events), t.slept_ns / t.done) + t.rested_ns / t.done
        for t in tallies
        if t.done and (t.client_events >= EVENTS_LEAST or t.slept_ns or t.rested_ns)
    ]


def _compute_event_ns(tallies: Sequence[Tally]) -> float:
    """What an event took with the rest after it: the median over the restarts."""
    played = [t.latency.mean_ns + t.rested_ns / t.done for t in tallies if t.done]
    return median(played) if played else 0.0


def _find_faults(
    own: StreamView, base: StreamView, times: tuple[list[float], list[float]]
) -> Iterator[tuple[Soundness, str]]:
    ours, theirs = times
    ours_ns, theirs_ns = median(ours), median(theirs)
    events = _compute_event_ns(own.tallies), _compute_event_ns(base.tallies)
    difference = abs(ours_ns - theirs_ns)
    is_apart = min(ours) > max(theirs) or min(theirs) > max(ours)
    is_large = difference > DIFFERENCE_SHARE * max(ours_ns, theirs_ns)
    if not (is_apart and is_large) or difference <= EVENT_SHARE * min(events):
        return
    effect = abs(events[0] - events[1])
    told = (
        f"the client itself took {_format_us(ours_ns)} of an event's {_format_us(events[0])}, and "
        f"{_format_us(theirs_ns)} of {_format_us(events[1])} on {base.candidate.name}"
    )
    if effect < INVALID_OF_EFFECT * difference:
        if difference > HIDDEN_SHARE * min(events):
            yield "doubtful", f"{told}: the events do not show it, so it may hide a difference"
    elif difference >= INVALID_OF_EFFECT * effect:
        yield "invalid", f"{told}: the script made the difference, and not the engine"
    elif difference >= DOUBTFUL_OF_EFFECT * effect:
        yield "doubtful", f"{told}: part of the difference is the script's"


def _format_us(time_ns: float) -> str:
    return f"{time_ns / 1e3:,.3g} µs"


AUDIT = ClientTime()
