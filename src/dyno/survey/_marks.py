"""How an observation is written down."""

from __future__ import annotations

from dyno.record import Mark, Observation


def seen(name: str, found: str, mark: Mark, why: str, hint: str = "") -> Observation:
    """An observation; a hint is for what is not good."""
    return Observation(name, found, mark, why, "" if mark == "good" else hint)


def unseen(name: str, why: str, found: str = "not visible here") -> Observation:
    """An observation of what this machine does not show."""
    return Observation(name, found, "unknown", why)


def graded(value: float, fair: float, poor: float) -> Mark:
    """Good below `fair`, fair below `poor`."""
    return "good" if value < fair else "fair" if value < poor else "poor"
