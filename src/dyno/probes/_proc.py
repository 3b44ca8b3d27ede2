"""What the kernel says of a process under `/proc`; a number that cannot be read is left out."""

from __future__ import annotations

import os
import time
from pathlib import Path

#: Nanoseconds in one of the kernel's clock ticks (10 ms nearly everywhere).
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def family(pid: int) -> set[int]:
    """`pid` and its living descendants; a server may be many processes."""
    found = {pid}
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _text(children).split():
            found |= family(int(child))
    return found


def stat_ns(pid: int) -> tuple[int, int, int]:
    """CPU in user mode, in the kernel, and of children waited for, in ns but true to a tick."""
    fields = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    if len(fields) < 15:
        return 0, 0, 0
    user, system, child_user, child_system = (int(text) for text in fields[11:15])
    return user * TICK_NS, system * TICK_NS, (child_user + child_system) * TICK_NS


def cpu_ns(pid: int) -> int:
    """CPU of all threads of `pid`, ended ones too, true to the ns; 0 where it is gone.

    The clock's number is made as glibc's `clock_getcpuclockid` makes it; `/proc/PID/schedstat`
    would be as fine, but knows the first thread only.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return 0


def cpu_ns_of(pids: set[int]) -> int:
    """CPU of `pids` and of their children that have ended and were waited for."""
    return sum(cpu_ns(pid) + stat_ns(pid)[2] for pid in pids)


def pairs(path: Path) -> dict[str, int]:
    """The `name: number` lines of a file such as `/proc/PID/io`; empty where it is refused."""
    lines = (line.split() for line in _text(path).splitlines())
    return {w[0].rstrip(":"): int(w[1]) for w in lines if len(w) > 1 and w[1].isdigit()}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
