"""How long a block plays a log, and how often it plays it: a log of seconds compares little.

A log that only reads may be played several times in a block, each time as the first. One that
writes may not: the second time would meet what the first has written. Its data are loaded anew for
each block, so there it takes more blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dyno.errors import UsageError
from dyno.workloads.replay.sessions import Selection

#: Shorter plays are told, and made longer by `auto`; what a comparison should play at least, and
#: the guess of recording.lua where statements follow at once.
BRIEF_S, ENOUGH_S, PER_SECOND = 10.0, 60.0, 10_000
#: Statements that a block plays at most where a log is repeated, and bytes of their files.
STATEMENTS_MOST, BYTES_MOST = 20_000_000, 4 << 30
AUTO = "auto"


@dataclass(frozen=True)
class Repetition:
    """How often a block plays a log: `times`, or as often as takes ten seconds (None), by `speed`
    as an option says it.
    """

    times: int | None = 1
    speed: str = ""

    def count_times(self, selection: Selection, connections: int) -> int:
        """Return how often; `UsageError` if a block would be too long to be laid out."""
        times = self.times
        if times is None:
            length_s, _ = estimate_length(selection, connections, self.speed)
            times = max(1, math.ceil(BRIEF_S / max(length_s, 1e-6)))
            return min(times, max(1, STATEMENTS_MOST // max(selection.count, 1)))
        if times > 1 and selection.count * times > STATEMENTS_MOST:
            raise UsageError(
                f"--repeat {times} makes {selection.count * times:,} statements of a block",
                hint=f"at most {STATEMENTS_MOST:,}: --repeat {STATEMENTS_MOST // selection.count}",
            )
        return times


def parse_repeat(text: str | None, speed: str, writes: bool) -> Repetition:
    """Parse `--repeat`; `UsageError` if that is no number, or the log writes."""
    if text is None:
        return Repetition(1, speed)
    if text != AUTO and not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise UsageError(f"--repeat cannot be '{text[:40]}'", hint="a number, or auto")
    if writes and text != "1":
        raise UsageError(
            "--repeat does not apply to a log that writes",
            cause="the second time would meet what the first has written",
            hint="more blocks play it more often: --data is loaded anew for each",
        )
    return Repetition(None if text == AUTO else int(text), speed)


def find_period_s(selection: Selection) -> float:
    """Return the time from one repetition to the next: until the last statement was answered, and a
    usual pause.
    """
    end_s = max((session.span_s[1] for session in selection.sessions), default=0.0)
    pause_s = selection.span_s / max(selection.count - 1, 1)
    return end_s - selection.began_s + pause_s if selection.sessions else 0.0


def estimate_length(selection: Selection, connections: int, speed: str) -> tuple[float, str]:
    """Return how long it takes to play a log once, and why so long."""
    if faster := parse_speed(speed):
        return selection.span_s / faster, "as logged"
    at_once_s, busy_s = selection.count / PER_SECOND, selection.busy_s / connections
    return max(at_once_s, busy_s), "at 10,000/s" if at_once_s > busy_s else "as logged"


def describe_length(
    selection: Selection, connections: int, speed: str, times: int, writes: bool
) -> str:
    """Return a remark if a block compares little; `speed` as an option has it, empty: max."""
    once_s, by = estimate_length(selection, connections, speed)
    faster, length_s = parse_speed(speed), once_s * times
    if length_s >= BRIEF_S:
        return ""
    often = f"{times:,} times" if times > 1 else "once"
    if faster:
        how = f"plays the log {often} in {length_s:.1f} s"
    else:
        how = (
            f"plays {selection.count:,} statements {often}, each as soon as its session's last is "
            f"answered: {length_s:.2g} s {by}"
        )
    blocks = math.ceil(ENOUGH_S / max(length_s, 1e-3))
    slower = f", or --speed 1 ({selection.span_s:.1f} s a block)" if not faster else ""
    repeated = "" if writes else f", --repeat {AUTO}"
    return (
        f"note: a block {how}; a minute of play takes {blocks:,} blocks. A longer log{repeated}"
        f"{slower} compares more"
    )


def parse_speed(text: str) -> float:
    """Return how many times as fast; 0 for at once, and for what the script refuses."""
    try:
        times = float(text.removesuffix("x"))
    except ValueError:
        return 0.0
    return times if 0 < times < math.inf else 0.0
