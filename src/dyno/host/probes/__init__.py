"""Probes: one file per thing watched beside the load, which offers `PROBE`.

A probe is sampled at the two ends of a phase, while the driver waits, and costs the load nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from dyno.plugins import load_things
from dyno.record import Better


@dataclass(frozen=True)
class ProbeTarget:
    """What there is to watch in a trial: the engine's process, the driver's, and the data.

    `server_pid` is the driver's where the engine lives in it, and None for a server that others
    started. `memory` is what the probes remember from sample to sample. `counted` asks a
    server for its own count of its clients' work; it hears whether the driver has hung up;
    `contended` for its count of page splits and lock waits, `worked` for that of its own work
    (probe `work`). `beside` answers the processes of trials that are interleaved with this one:
    their work is ours, too.
    `cores` are those that driver and engine are held to; empty: any.
    """

    server_pid: int | None
    client_pid: int
    home: Path
    memory: dict[str, Any] = field(default_factory=dict, compare=False)
    counted: Callable[[bool], Mapping[str, int]] = lambda after_disconnect: {}
    contended: Callable[[], Mapping[str, int]] = dict
    worked: Callable[[], Mapping[str, int]] = dict
    beside: Callable[[], Sequence[int]] = tuple
    cores: tuple[int, ...] = ()

    @property
    def embedded(self) -> bool:
        """Does the engine live in the driver's process?"""
        return self.server_pid == self.client_pid


@dataclass(frozen=True)
class Measure:
    """A number that a probe gives: `counter` is differenced over a phase, a gauge is not."""

    name: str
    unit: str
    better: Better
    counter: bool = True
    per_operation: bool = True


class Probe(Protocol):
    """Watches one thing; `sample` answers a number for each of `measures`, by name.

    `is_condition`: its numbers describe what else the host did, or a phase's whole work, and are no
    metrics that candidates are compared in.
    """

    summary: str
    is_condition: bool
    measures: tuple[Measure, ...]

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        """The counters and gauges now; a number that cannot be read here is left out."""


@runtime_checkable
class SamplesAfterDisconnect(Protocol):
    """A probe that costs the engine something, or reads what is whole only once the driver's
    connections are closed: first to be sampled before a phase, and last after it, by
    `sample_after_disconnect`.
    """

    def sample_after_disconnect(self, watched: ProbeTarget) -> dict[str, float]:
        """As `sample`, with no connection of the driver's open any more."""


def load_probes() -> dict[str, Probe]:
    """Every probe, by name."""
    return load_things("dyno.host.probes", "PROBE")
