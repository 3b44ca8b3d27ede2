"""How far a client host's CLOCK_MONOTONIC is ahead of ours: asked over its driver's own pipe.

An answer was read between our sending the question and our having it, so the middle of these two is
wrong by half the time between them at most, whatever the way there and back took (Cristian 1989);
of several exchanges the fastest counts.
"""

from __future__ import annotations

import time

from dyno.driver.events import ClientPhase, Event, Hello, Pong, UnreadableEvent, parse_event
from dyno.driver.process import LINE_BYTES, DriverProcess
from dyno.errors import TrialFailed
from dyno.record.clients import ClockOffset

#: Exchanges of one measurement, and what one of them may take.
EXCHANGES = 24
EXCHANGE_S = 5.0
#: A driver that waits for an answer has said a few events; one that says more is broken.
SAID_MOST = 64
#: A slice may begin too early or too late on a host by this part of its length.
SLICE_SHARE = 0.01
#: A phase that nobody is interleaved with, likewise; and by `PHASE_LEAST_NS` in any case.
PHASE_SHARE = 0.001
PHASE_LEAST_NS = 1_000_000


def measure_offset(
    process: DriverProcess, beside: list[Event | ClientPhase], exchanges: int = EXCHANGES
) -> ClockOffset:
    """The offset of a driver that waits for `go`; what it says meanwhile joins `beside`.

    `TimeoutError` where an answer does not come, `EOFError` where the driver is gone,
    `OverflowError` where its line has no end; an error that it tells is raised.
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
    """Adds an event to those that nobody has answered; `TrialFailed` where they have no end."""
    if len(said) == SAID_MOST:
        hint = "look at what stands at the driver's path there"
        raise TrialFailed(f"it sent {SAID_MOST} events and waited for no answer", hint=hint)
    said.append(event)


def parse_host_event(line: bytes) -> Event | Hello | Pong | ClientPhase:
    """As `parse_event`; what cannot be read is a failure of its host, and no fault of ours."""
    try:
        return parse_event(line)
    except UnreadableEvent as error:
        hint = "look at what stands at the driver's path there"
        raise TrialFailed(error.message, cause=error.cause, hint=hint) from error


def _read_event(process: DriverProcess, until_s: float) -> Event | Hello | Pong | ClientPhase:
    return parse_host_event(process.lines.read(until_s, LINE_BYTES))


def compute_allowed_ns(slice_ns: int | None, length_s: float) -> int:
    """The error that a start may have: of a slice, or of a phase of that length (0: not known)."""
    if slice_ns is not None:
        return round(SLICE_SHARE * slice_ns)
    return max(PHASE_LEAST_NS, round(PHASE_SHARE * length_s * 1e9))
