"""A line of a host's calibration: a comparison that was played, or many that were made up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: The version of the rule that turns trials into a verdict (docs/METHOD.md). Raise it with every
#: change that could move an error rate: what was calibrated before is stale then.
METHOD = 1
#: Facts that tell one host from another, and name its file.
IDENTITY = ("cpu", "machine", "virtualisation")
#: Facts whose change makes a calibration stale.
TELLING = (
    *(*IDENTITY, "cores", "kernel", "governor", "turbo", "clock_source", "huge_pages"),
    "driver",
)


@dataclass(frozen=True)
class Restart:
    """One trial of a comparison, for other rules to judge (`bench/run verdict-bakeoff`).

    `value` is the primary metric's number; `windows` are the rates in the pieces of the phase.
    """

    block: int
    candidate: str
    value: float
    windows: tuple[float, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A line: one comparison that was played, or one scenario of many that were made up.

    The fields are those of `Score`; `slowdown_percent` with its bounds and `restarts` are of a
    comparison played, `better` is the direction of its primary.
    """

    kind: str
    engine: str
    what: str
    effect_percent: float
    words: dict[str, int]
    utc: str
    dyno: str
    host: dict[str, str]
    method: int = METHOD
    covered: int = 0
    coverable: int = 0
    dose_percent: float | None = None
    dropped_blocks: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    seed: int = 0
    slowdown_percent: float = 0.0
    low_percent: float = 0.0
    high_percent: float = 0.0
    better: str = "higher"
    restarts: tuple[Restart, ...] = ()


def instrument(host: Mapping[str, str], driver_sha256: str) -> dict[str, str]:
    """What a calibration speaks for: a host's facts (`Run.host`), and the driver's checksum."""
    return {**host, "driver": driver_sha256[:12]}


def telling(host: Mapping[str, str]) -> dict[str, str]:
    """Those of an `instrument`'s facts that a calibration depends on."""
    return {name: host[name] for name in TELLING if name in host}
