"""What a server said before it failed: its log's tail, and the error that it means.

What is known of such failures stands in the catalogue of builds from source (`start.toml`).
"""

from __future__ import annotations

from dyno.builds.source.diagnosis import diagnose_start
from dyno.engines._server import libraries
from dyno.errors import DynoError, TrialFailed
from dyno.tails import extract_last_lines

#: How much of a log an error shows.
SHOWN_LINES = 20


def diagnose_failure(message: str, output: str) -> DynoError:
    """The error for a server by the last of what it said, with its cause and remedy where these are
    known; `HostError` where it misses a library.
    """
    output = extract_last_lines(output, SHOWN_LINES)
    if missing := libraries.MISSING.search(output):
        return libraries.build_lacking_error(message, missing[1] or missing[2])
    words = f"its last words are\n{output}" if output else "it said nothing"
    if (found := diagnose_start(output)) and found.entry:
        return TrialFailed(message, cause=f"{found.entry.cause}; {words}", hint=found.entry.remedy)
    return TrialFailed(message, cause=words)
