"""What a client spends on what it counts (queries, rows, events), and clients in turn.

The kernel measures a process's CPU time to the nanosecond, but splits it into user and kernel by
where its ticks (4 ms at 250 Hz) fall: a split needs some seconds of CPU in all to be read.
"""

from __future__ import annotations

import re
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass

#: Longer than any measured slice, and what comes before and after it.
COMMAND_LIMIT_S = 300.0
STARTS = 3


@dataclass(frozen=True)
class Usage:
    """CPU time in ns, and the wall time over which it was used (0: not asked)."""

    user_ns: float
    kernel_ns: float
    wall_ns: float = 0.0


@dataclass(frozen=True)
class Spent:
    """So many were counted in so much time, and what the client used for them."""

    count: int
    wall_ns: float
    usage: Usage

    @property
    def user_us(self) -> float:
        """User-mode CPU for each, in µs."""
        return self.usage.user_ns / self.count / 1e3

    @property
    def kernel_us(self) -> float:
        """Kernel-mode CPU for each, in µs."""
        return self.usage.kernel_ns / self.count / 1e3

    @property
    def cpu_us(self) -> float:
        """All CPU for each, in µs."""
        return self.user_us + self.kernel_us

    @property
    def rate_per_s(self) -> float:
        """How many a second."""
        return self.count / self.wall_ns * 1e9


#: A client, ready to be measured once more.
Side = Callable[[], Spent]


def run(command: Sequence[object]) -> tuple[str, Usage]:
    """What a command says, and what it and all that it waited for used, start-up included."""
    words = [str(word) for word in command]
    before, began_ns = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter_ns()
    done = subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_LIMIT_S)
    after, wall_ns = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter_ns() - began_ns
    if done.returncode:
        said = done.stderr or done.stdout
        raise SystemExit(f"{' '.join(words)}\nexited {done.returncode}: {said}")
    user_s, kernel_s = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return done.stdout, Usage(user_s * 1e9, kernel_s * 1e9, wall_ns)


def start_up(command: Sequence[object]) -> Usage:
    """What a command uses that starts, connects and does next to nothing: medians of runs."""
    usages = [astuple(run(command)[1]) for _ in range(STARTS)]
    return Usage(*(statistics.median(column) for column in zip(*usages, strict=True)))


def less(usage: Usage, start: Usage) -> Usage:
    """What was used after the start-up."""
    pairs = zip(astuple(usage), astuple(start), strict=True)
    return Usage(*(max(0.0, whole - part) for whole, part in pairs))


def number(said: str, pattern: str) -> float:
    """The number that a tool's report holds."""
    found = re.search(pattern, said)
    if found is None:
        raise SystemExit(f"no '{pattern}' in what the tool said:\n{said}")
    return float(found[1])


def in_turn(sides: Mapping[str, Side], rounds: int) -> dict[str, list[Spent]]:
    """Every round plays all sides, forward and backward in turn, after a round unmeasured.

    So the nth measurements of two sides are a pair, close in time, and each is the earlier one in
    every second pair.
    """
    for side in sides.values():
        side()
    taken: dict[str, list[Spent]] = {name: [] for name in sides}
    for number in range(rounds):
        names = list(sides) if number % 2 == 0 else list(reversed(sides))
        for name in names:
            taken[name].append(sides[name]())
    return taken
