"""One record of those that several drivers made of a phase, with each host's part; and how far a
client host's CLOCK_MONOTONIC is ahead of ours, asked over its driver's own pipe.

An answer was read between our sending the question and our having it, so the middle of these two is
wrong by half the time between them at most, whatever the way there and back took (Cristian 1989);
of several exchanges the fastest counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from dyno.driver.events import (
    ClientPhase,
    End,
    Event,
    Hello,
    Pong,
    Progress,
    StreamProgress,
    UnreadableEvent,
    WrittenKey,
    WrittenKeys,
    parse_event,
)
from dyno.driver.process import LINE_BYTES, DriverProcess
from dyno.driver.questions import merge_phases
from dyno.errors import TrialFailed
from dyno.record import PhaseRecord, decode
from dyno.record.clients import ClientHost, ClientPart, ClockOffset

#: What a record tells by the host's own clock.
TIMES = ("started_ns", "measured_ns", "ended_ns")


@dataclass(frozen=True)
class ToldPart:
    """A host's record of a phase as its driver sent it, its `hello`, and its clock before and
    after; `is_shared`: the host's machine has others of the run on it.
    """

    host: ClientHost
    told: dict[str, Any]
    about: ClientPhase
    clock: ClockOffset
    clock_after: ClockOffset
    is_shared: bool

    def describe(self) -> ClientPart:
        record, about = decode.decode(PhaseRecord, self.told), self.about
        length_ns = max(1, record.ended_ns - record.started_ns)
        cpu_ns = record.usage.user_ns + record.usage.system_ns
        cores_ns = length_ns * (about.cores or 1)
        stolen, foreign = about.host_stolen_ns, None
        if about.host_busy_ns is not None and not self.is_shared:
            foreign = _compute_percent(about.host_busy_ns - cpu_ns, cores_ns)
        return ClientPart(
            host=self.host.name,
            users=about.users,
            threads=about.threads,
            began_ns=about.first_began_ns - self.clock.offset_ns,
            last_began_ns=about.last_began_ns - self.clock.offset_ns,
            clock=self.clock,
            clock_after=self.clock_after,
            cpu_ns=cpu_ns,
            done={tally.name: tally.done for tally in record.streams},
            failed={tally.name: tally.failed for tally in record.streams},
            busiest_percent=_compute_percent(about.busiest_ns, length_ns),
            waited_percent=_compute_percent(about.waited_ns_max, length_ns),
            stolen_percent=None if stolen is None else _compute_percent(stolen, cores_ns),
            foreign_percent=foreign,
        )


def _compute_percent(part_ns: int, whole_ns: int) -> float:
    return min(100.0, max(0.0, 100 * part_ns / whole_ns))


def merge_records(parts: Sequence[ToldPart]) -> PhaseRecord:
    """The phase as all hosts together played it, by our clock, with the part of each."""
    translated = [
        part.told | {name: part.told[name] - part.clock.offset_ns for name in TIMES}
        for part in parts
    ]
    merged = merge_phases(translated) if len(parts) > 1 else translated[0]
    record = decode.decode(PhaseRecord, merged)
    return replace(record, clients=tuple(part.describe() for part in parts))


def merge_progress(latest: Sequence[Progress]) -> Progress:
    names = [stream.name for stream in latest[0].streams]
    by_name = {
        name: [s for each in latest for s in each.streams if s.name == name] for name in names
    }
    streams = tuple(
        StreamProgress(
            name,
            sum(each.done for each in found),
            sum(each.failed for each in found),
            sum(each.rate_per_s for each in found),
            max(each.latency_ns_max for each in found),
        )
        for name, found in by_name.items()
    )
    return Progress(latest[0].phase, max(each.elapsed_s for each in latest), streams)


def merge_ends(ends: Iterable[End]) -> End:
    """Merge what the scripts on all hosts counted, and what they wrote last."""
    all_ends = list(ends)
    counters: dict[str, int] = {}
    for end in all_ends:
        for name, count in end.counters.items():
            counters[name] = counters.get(name, 0) + count
    examples = {each.digest: each for end in reversed(all_ends) for each in end.examples}
    return End(counters, _merge_written(all_ends), tuple(examples.values()))


def _merge_written(ends: Sequence[End]) -> tuple[WrittenKeys, ...]:
    """Of a key that several hosts wrote any host's last value may be the last; one that is unknown
    to a host that wrote it is unknown.
    """
    found: dict[str, dict[int, list[WrittenKey]]] = {}
    for written in (each for end in ends for each in end.written):
        for key in written.keys:
            found.setdefault(written.name, {}).setdefault(key.key, []).append(key)
    return tuple(
        WrittenKeys(
            name,
            tuple(
                WrittenKey(
                    key,
                    tuple(dict.fromkeys(d for each in told for d in each.digests))
                    if all(each.digests for each in told)
                    else (),
                )
                for key, told in keys.items()
            ),
        )
        for name, keys in found.items()
    )


#: Exchanges of one measurement, and what one of them may take.
EXCHANGES = 24
EXCHANGE_S = 5.0
#: A driver that waits for an answer has said a few events; one that says more is broken.
SAID_MOST = 64
#: A slice may begin too early or too late on a host by this part of its length.
SLICE_SHARE = 0.01
#: A phase that is not interleaved, likewise; and by `PHASE_LEAST_NS` in any case.
PHASE_SHARE = 0.001
PHASE_LEAST_NS = 1_000_000


def measure_offset(
    process: DriverProcess, beside: list[Event | ClientPhase], exchanges: int = EXCHANGES
) -> ClockOffset:
    """Return the offset of a driver that waits for `go`; what it says meanwhile joins `beside`.

    `TimeoutError` without an answer, `EOFError` if the driver is gone, `OverflowError` if its line
    has no end; the driver's own error is raised.
    """
    best: ClockOffset | None = None
    for number in range(exchanges):
        sent_ns = time.monotonic_ns()
        process.lines.say(f"ping {number}")
        until_s = time.monotonic() + EXCHANGE_S
        while not isinstance(event := _read_event(process, until_s), Pong):
            if not isinstance(event, Hello):
                append_event(beside, event)
            if time.monotonic() > until_s:
                raise TimeoutError
        had_ns = time.monotonic_ns()
        found = ClockOffset(
            event.monotonic_ns - (sent_ns + had_ns) // 2, (had_ns - sent_ns + 1) // 2, exchanges
        )
        best = found if best is None or found.error_ns < best.error_ns else best
    assert best
    return best


def append_event(said: list[Event | ClientPhase], event: Event | ClientPhase) -> None:
    """Add an event to those that are unanswered; `TrialFailed` if they have no end."""
    if len(said) == SAID_MOST:
        hint = "look at what stands at the driver's path there"
        raise TrialFailed(f"it sent {SAID_MOST} events and waited for no answer", hint=hint)
    said.append(event)


def parse_host_event(line: bytes) -> Event | Hello | Pong | ClientPhase:
    """As `parse_event`; what cannot be read is a failure of its host, not a fault of ours."""
    try:
        return parse_event(line)
    except UnreadableEvent as error:
        hint = "look at what stands at the driver's path there"
        raise TrialFailed(error.message, cause=error.cause, hint=hint) from error


def _read_event(process: DriverProcess, until_s: float) -> Event | Hello | Pong | ClientPhase:
    return parse_host_event(process.lines.read(until_s, LINE_BYTES))


def compute_allowed_ns(slice_ns: int | None, length_s: float) -> int:
    """Return the error that a start may have: of a slice, or of a phase of that length (0:
    unknown).
    """
    if slice_ns is not None:
        return round(SLICE_SHARE * slice_ns)
    return max(PHASE_LEAST_NS, round(PHASE_SHARE * length_s * 1e9))
