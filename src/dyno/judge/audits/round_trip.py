"""Audit `round_trip`: of a server's answer, how much is the host's way there and back?

Where driver and server sleep on two cores, waking each other up can take longer than the answer
itself, more so on a virtual machine. Of an engine slower by `x` then only the rest of the answer is
slower, and the verdict sees `(1 − s)·x` where `s` is the way's share: at half, half of it
(doubtful); at nine tenths next to nothing (invalid).

The way is the median round trip to `dyno-driver echo`, which was played in the server's place: same
cores, same number of connections, answers of the same size (`instruments/time/echo.py`). It is held
against the median answer of a stream, times the round trips of an event. The median of the restarts
counts. It is a lower bound: a server has more to do on the way than an echo. An echo that played
beside a noisy neighbour bounds the way from above, so it can clear a server and not condemn it:
then the comparison is doubtful at most.

Judged are closed loops in the phases with a primary metric: in an open loop nobody waits for the
answer to send the next request. A server that is busy nearly all the time is cleared, whatever its
echo took: while one request is on its way others are worked at, and nobody is woken up. A server
on another host has no echo.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from dyno.judge.analysis.blocks import is_calm
from dyno.judge.analysis.measures import is_baseline
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    Case,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    find_records,
    list_cases,
)
from dyno.judge.audits._server_share import compute_server_percent
from dyno.record import Finding, PhaseRecord, Soundness, Tally, Trial, name_echo

#: Of the answer, as in `client_share`.
DOUBTFUL_PERCENT = 50.0
INVALID_PERCENT = 90.0
#: Of its cores, as in `client_bottleneck`: from here on a server is the bottleneck.
BUSY_PERCENT = 90.0
_NO_ECHO = "no echo was played: no closed loop waits for a server on this host"


@dataclass(frozen=True)
class _Way:
    """A stream's median answer in µs, the host's part of it, and who waited for it."""

    case: Case
    stream: str
    answer_us: float
    way_us: float
    connections: int
    calm: bool
    together: bool

    @property
    def share_percent(self) -> float:
        return 100 * self.way_us / self.answer_us

    @property
    def words(self) -> str:
        """`of 66 µs an answer, 62 are the host's way there and back`."""
        way, answer = _format_us(min(self.way_us, self.answer_us)), _format_us(self.answer_us)
        return f"of {answer} µs an answer, {way} are the host's way there and back"


class RoundTrip:
    """The echo's round trip against the server's answer."""

    summary = "an answer is mostly the server's work, not the host's way there and back"
    judges_wall_time = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate and stream that is not sound; else one with the largest."""
        judged: list[Case] = []
        busy: list[Case] = []
        for case in list_cases(view.run, view.trials):
            percent = compute_server_percent(view.run, case) or 0.0
            (busy if percent >= BUSY_PERCENT else judged).append(case)
        ways = {case.name: list(_list_ways(case, view)) for case in judged}
        found = [way for own in ways.values() for way in own]
        faults = [fault for way in found if (fault := _find_fault(way))]
        unknown = [case for case in judged if not case.candidate.embedded and not ways[case.name]]
        unjudged: list[Unjudged] = [Unchecked(_NO_ECHO, case.name) for case in unknown]
        if all(side.embedded for side in view.run.candidates):
            unjudged = [Inapplicable("no candidate is a server")]
        return conclude("round_trip", faults, _describe_sound(found, busy), unjudged)


def _find_fault(way: _Way) -> Finding | None:
    if way.share_percent < DOUBTFUL_PERCENT:
        return None
    if not way.calm:
        words = f"{way.words} at most, since the host was noisy then: how many is not known"
        return way.case.make_finding("round_trip", "doubtful", words)
    invalid = way.share_percent >= INVALID_PERCENT
    soundness: Soundness = "invalid" if invalid else "doubtful"
    seen = max(0.0, 100 - way.share_percent)
    what = "the host was measured" if invalid else f"a slowdown shows at {seen:.0f} % of its size"
    hint = "more threads" if way.together else "pinning=together, or more threads"
    if way.connections > 1 and not way.together:
        hint = "more threads, or pinning=together"
    return way.case.make_finding("round_trip", soundness, f"{way.words}, so {what}: try {hint}")


def _describe_sound(found: list[_Way], busy: list[Case]) -> str:
    if found:
        most = max(found, key=lambda way: way.share_percent)
        return f"{most.words} at most (of {len(found)}, {most.case.name})"
    if busy:
        return f"the server was busy nearly all the time (of {len(busy)}, {busy[0].name})"
    return ""


def _list_ways(case: Case, view: RunView) -> Iterator[_Way]:
    """One for each closed loop that waited for answers, where the echo was played too."""
    own = (name_echo(view.run.find_echo_stand(case.candidate).name), case.workload)
    played = [t for t in view.trials if (t.candidate, t.workload) == own and t.status == "ok"]
    calm = [trial for trial in played if is_calm(trial, view.run.design.limits)]
    trips = [us for each in _find_baselines(calm or played, case) if (us := _compute_trip_us(each))]
    for name, tallies in case.streams.items() if trips else ():
        answers = [us for _, tally in tallies if (us := _compute_median_us(tally))]
        often = [per for _, tally in tallies if (per := _count_round_trips(tally))]
        if answers and often:
            yield _Way(
                case=case,
                stream=name,
                answer_us=median(answers),
                way_us=min(trips) * median(often),
                connections=tallies[0][1].connections,
                calm=bool(calm),
                together=_is_together(case),
            )


def _find_baselines(played: Sequence[Trial], case: Case) -> Sequence[PhaseRecord]:
    """The case's phase as the echo played it, unless requests failed."""
    return [each for each in find_records(played, case.phase) if is_baseline(each)]


def _is_together(case: Case) -> bool:
    """Did driver and server share their cores?"""
    placed = case.played[0].conditions.pinning
    return placed is not None and bool(set(placed.driver) & set(placed.engine))


def _compute_trip_us(record: PhaseRecord) -> float:
    return _compute_median_us(record.streams[0])


def _compute_median_us(tally: Tally) -> float:
    return tally.latency.percentiles_ns.get("50", 0) / 1e3


def _count_round_trips(tally: Tally) -> float:
    """Answers that were waited for in an event of a closed loop; 0 for any other."""
    events = tally.done + tally.failed
    return tally.round_trips / events if events and not tally.paced else 0.0


def _format_us(us: float) -> str:
    return f"{us:.0f}" if us >= 20 else f"{us:.1f}"


AUDIT = RoundTrip()
