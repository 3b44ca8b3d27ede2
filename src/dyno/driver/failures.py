"""What the driver's error, or its silent end, means for us: the exception to raise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dyno.errors import DynoError, HostError, InternalError, TrialFailed, UsageError

_BLAME: dict[str, type[DynoError]] = {
    "user": UsageError,
    "host": HostError,
    "engine": TrialFailed,
    "driver": InternalError,
}


def failure(event: Mapping[str, Any]) -> DynoError:
    """The driver's error event as the exception of whoever can put it right, with its place."""
    place, connection, phase = event.get("place"), event.get("connection"), event.get("phase")
    places = [
        place,
        f"connection {connection}" if connection is not None and (place or phase) else None,
        f"phase {phase}" if phase else None,
    ]
    where = ", ".join(filter(None, places))
    message = f"{event['message']} ({where})" if where else str(event["message"])
    hint = event.get("hint", "")
    if event["blame"] == "user" and place and not hint:
        hint = "dyno play null --workload SCRIPT tries a script without an engine"
    return _BLAME.get(event["blame"], InternalError)(message, hint=hint)


def ended(code: int, said: str) -> DynoError:
    """Why a driver that gave no reason is gone."""
    if code < 0:
        return TrialFailed(f"the driver was killed (signal {-code})")
    lines = said.strip().splitlines()
    return TrialFailed(f"the driver ended early (exit code {code})", cause="".join(lines[-1:]))
