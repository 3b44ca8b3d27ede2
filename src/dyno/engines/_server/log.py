"""What a server said before it failed: its log's tail, and the error that it means."""

from __future__ import annotations

from dyno.engines._server import libraries
from dyno.errors import DynoError, TrialFailed
from dyno.tails import last_lines

#: How much of a log an error shows.
SHOWN_LINES = 20


def failure_of(message: str, output: str) -> DynoError:
    """The error for a server by the last of what it said; `HostError` where it misses a library."""
    output = last_lines(output, SHOWN_LINES)
    if missing := libraries.MISSING.search(output):
        return libraries.lacking(message, missing[1] or missing[2])
    cause = f"its last words are\n{output}" if output else "it said nothing"
    return TrialFailed(message, cause=cause)
