"""Hosts from which several drivers play one load together: which they are, and what each did."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from dyno.record.schema import Finite, Int64, Record


class ClientHost(Record):
    """A host that plays a part of the load.

    `command` stands before a program's own words to run it there; `ssh` is a destination of the
    system's `ssh` in its place, which is given `options`. `driver` is the driver's path there,
    empty for ours (which is shipped over `ssh`). `cores` are those that the driver may use,
    `machine` and `network` say which hosts share a clock and its cores, and a loopback device; 0
    and empty: not asked yet.
    """

    name: str
    command: tuple[str, ...] = ()
    ssh: str = ""
    options: tuple[str, ...] = ()
    driver: str = ""
    cores: Int64 = 0
    machine: str = ""
    network: str = ""


class ClockOffset(Record):
    """How far a host's CLOCK_MONOTONIC is ahead of ours, and by how much that may be wrong.

    Of `exchanges` the fastest counts: its answer was read between our two readings, so `error_ns`,
    half of its round trip, bounds the error whichever way took longer (Cristian 1989).
    """

    offset_ns: Int64
    error_ns: Int64
    exchanges: Int64


class ClientPart(Record):
    """What one host did in a phase that several played; times are of our CLOCK_MONOTONIC.

    Its users began between `began_ns` and `last_began_ns`, known as well as the clock is.
    `clock` was measured before the phase and `clock_after` after it. `done` and `failed` are events
    by stream, `cpu_ns` is what the whole driver spent. `busiest_percent` is how much of the time
    its busiest worker thread ran, `waited_percent` how much one stood ready and waited for a core.
    Of all its cores' time `stolen_percent` went to other machines of its hypervisor and
    `foreign_percent` to what was not the driver; None: its kernel did not tell, or it shares the
    machine with others of the run, whose work is none of somebody else's.
    """

    host: str
    users: Int64
    threads: Int64
    began_ns: Int64
    last_began_ns: Int64
    clock: ClockOffset
    clock_after: ClockOffset
    cpu_ns: Int64
    done: dict[str, Int64] = {}
    failed: dict[str, Int64] = {}
    busiest_percent: Finite = 0.0
    waited_percent: Finite = 0.0
    stolen_percent: Finite | None = None
    foreign_percent: Finite | None = None

    @property
    def drift_ns(self) -> int:
        """By how much its clock went further than ours in the phase."""
        return self.clock_after.offset_ns - self.clock.offset_ns


class ClientLoad(Record):
    """What one host sent, in events a second that were answered, and how much of the time the
    busiest worker thread of its driver ran: near 100 the host and not the server is the limit.
    """

    host: str
    rate_per_s: Finite
    busiest_percent: Finite


def summarize_client_loads(loads: Iterable[ClientLoad]) -> tuple[ClientLoad, ...]:
    """The medians of each host, in the order in which hosts come first."""
    by_host: dict[str, list[ClientLoad]] = {}
    for load in loads:
        by_host.setdefault(load.host, []).append(load)
    return tuple(
        ClientLoad(
            host,
            median(each.rate_per_s for each in own),
            median(each.busiest_percent for each in own),
        )
        for host, own in by_host.items()
    )


def compute_start_spread(parts: tuple[ClientPart, ...]) -> tuple[int, int]:
    """How far apart the first and the last user of all hosts began, and the error of that, in ns:
    the sum of the two largest errors of clocks.
    """
    errors = sorted(part.clock.error_ns for part in parts)
    first, last = min(part.began_ns for part in parts), max(part.last_began_ns for part in parts)
    return last - first, sum(errors[-2:])
