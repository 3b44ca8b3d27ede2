"""How long a phase lasts: by its own declaration, and at the very most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: A phase that declares neither a time nor a guess (`prepare`) is ended after this.
UNKNOWN_S = 3600.0


def expected_s(phase: Mapping[str, Any]) -> float:
    """Seconds that a phase should last: its stop rule's, or the script's guess."""
    stop = phase.get("stop", {})
    measured_s = stop.get("duration_s") or phase.get("expected_s", 0.0)
    return float(measured_s) + float(phase.get("warmup_s", 0.0))


def limit_s(phase: Mapping[str, Any]) -> float:
    """Seconds after which a phase is hung and not slow: a timed one must end near its time, a
    counted one may run on an engine twenty times slower than the script's author thought.
    """
    expected = expected_s(phase)
    if phase.get("stop", {}).get("kind") == "time":
        return 2 * expected + 60
    return max(600.0, 20 * expected) if expected else UNKNOWN_S
