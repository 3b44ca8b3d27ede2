"""What the driver counted in a phase, and what its process spent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Latency:
    """A distribution of durations in ns, from the intended time to the answer."""

    count: int
    mean_ns: float
    max_ns: int
    percentiles_ns: dict[str, int]
    hdr: str


@dataclass(frozen=True)
class Series:
    """Per-second columns of a stream, all of one length."""

    done: tuple[int, ...]
    failed: tuple[int, ...]
    latency_ns_max: tuple[int, ...]


@dataclass(frozen=True)
class Tally:
    """What a stream did in a phase. Always: intended = done + failed + skipped.

    `claimed` is what a server must have counted of it, too, in its own way (statements, or ended
    transactions), from the start to the close of the connections, warm-up, failures and restarts
    included; None where nobody counts along. `claimed_before` is the same of `thread_init`.
    `claimed_further` is what the server may have counted beyond that: results that followed the
    first of a request, which are a text's next statements or a procedure's own.
    """

    name: str
    unit: str
    units_per_event: int
    connections: int
    target_per_s: float | None
    intended: int
    done: int
    failed: int
    skipped: int
    warmup: int
    restarted: int
    queries: int
    rows_read: int
    rows_changed: int
    busy: int
    errors: dict[str, int]
    service_ns: int | None
    latency: Latency
    lateness: Latency
    transactions: dict[str, Latency]
    series: Series
    reconnected: int = 0
    claimed: int | None = None
    claimed_before: int = 0
    claimed_further: int = 0

    def __post_init__(self) -> None:
        if self.intended != self.done + self.failed + self.skipped:
            raise ValueError(
                f"stream {self.name}: {self.intended} intended, but {self.done} done + "
                f"{self.failed} failed + {self.skipped} skipped"
            )


@dataclass(frozen=True)
class Usage:
    """What the driver's process spent in a phase (with the engine in it, where embedded)."""

    user_ns: int
    system_ns: int
    voluntary_switches: int
    involuntary_switches: int
    resident_bytes: int
