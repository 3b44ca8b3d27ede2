"""What the largest source of a metric's spread tells to spend the next hour on."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.spread import Sources
from dyno.stats.components import LOADS, RESTARTS, WINDOWS, Component


def advice(spread: Sources) -> str:
    """What the largest component tells to spend on, in one sentence."""
    parts = sorted(spread.found.counted, key=lambda part: -part.in_trial)
    total = sum(part.in_trial for part in parts)
    if total == 0.0:
        return "nothing varied: no spread to spend on"
    first = parts[0]
    told = f"{_NAMES[first.source]} make up {100 * first.in_trial / total:.0f} % of what counts"
    if first.source == RESTARTS and spread.found.windows is None:
        told = told.replace("restarts", "restarts, with the seconds in them,")
    return f"{told}: {_remedy(spread, first)}{_doubt(parts)}"


_NAMES = {LOADS: "loads of the data", RESTARTS: "restarts", WINDOWS: "seconds within a restart"}


def _remedy(spread: Sources, first: Component) -> str:
    if first.source == LOADS:
        return "more loads (loads = N, or 0 for a new one in every trial) buy most"
    best = spread.best_seconds
    if first.source == WINDOWS:
        length = f", {best:g} s for what a restart costs" if best else ""
        return f"longer measuring buys most{length}"
    shorter = (
        f", and {best:g} s of measuring would do" if best and best < spread.seconds / 1.5 else ""
    )
    return f"more blocks buy most, longer measuring little{shorter}"


def _doubt(parts: Sequence[Component]) -> str:
    """Whether the order of the first two is known at all."""
    if len(parts) < 2 or parts[0].share_low > parts[1].share_high:
        return ""
    return f"; so few blocks cannot tell this from {_NAMES[parts[1].source]}, though"
