"""Probe `host`: what the rest of the machine did while a phase played.

Every reading is a counter in nanoseconds, summed over all cores: `steal_ns` (the hypervisor ran
somebody else), `busy_ns` (any process here, kernel and interrupts included), `idle_ns` (waiting
for a disk included), `own_ns` (the driver, the engine, those of trials that are interleaved with
this one, their children, and this Python), and `psi_cpu_ns` (time in which some task waited for a
core; no block is dropped for it).

Where driver and engine are held to some of the cores there are also `placed_steal_ns` and
`placed_busy_ns`, of these cores only, and `placed_total_ns`, the time that shares are of: theirs,
and of two cores at least, as the limits on noise were measured on two. Of all cores of a large
machine, half of the one core that matters would be next to nothing.

A judge makes of their differences over a phase, of all cores and of the placed ones, of which the
larger counts:

    total           = steal_ns + busy_ns + idle_ns
    steal_percent   = 100 · steal_ns / total
    foreign_percent = 100 · max(0, busy_ns − own_ns) / total

`/proc/stat` counts in ticks of 10 ms per core, so over a phase of 1 s on two cores a percentage
is true to about one point. Steal that happens while the core belongs to us is not in `own_ns`.
Beside a server that others started, `own_ns` is left out: its work is ours too, and unknown;
likewise where the kernel does not let us read one of our processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from dyno.host.probes import Measure, ProbeTarget
from dyno.host.processes import TICK_NS, list_process_family, read_unless_refused, sum_cpu_ns

NAMES = ("steal_ns", "busy_ns", "idle_ns", "own_ns", "psi_cpu_ns")
PLACED = ("placed_steal_ns", "placed_busy_ns", "placed_total_ns")
#: Shares are of the time of so many cores at least.
CORES_LEAST = 2


class Host:
    """Steal, busy, idle and our own CPU time; pressure where the kernel offers it."""

    summary = "steal, foreign CPU and pressure of the whole machine"
    is_condition = True
    measures = tuple(
        Measure(name, "ns", "lower", per_operation=False) for name in (*NAMES, *PLACED)
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        lines = Path("/proc/stat").read_text().splitlines()
        return {
            **_parse_line(lines[0]),
            **_sum_cores(lines, watched.cores),
            **read_unless_refused(lambda: _measure_own(watched)),
            **_read_pressure(),
        }


def _measure_own(watched: ProbeTarget) -> dict[str, float]:
    if watched.server_pid is None:
        return {}
    roots = (watched.server_pid, watched.client_pid, *watched.beside())
    ours = {*list_process_family(*roots), os.getpid()}
    return {"own_ns": float(sum_cpu_ns(sorted(ours)))}


def _sum_cores(lines: Sequence[str], cores: Sequence[int]) -> dict[str, float]:
    """Return the sums over these cores' lines; empty if one has none (it was taken away)."""
    wanted = {f"cpu{core}" for core in cores}
    found = [_parse_line(line) for line in lines if line.split(" ", 1)[0] in wanted]
    if not cores or len(found) < len(wanted):
        return {}
    steal, busy, idle = (sum(each[n] for each in found) for n in ("steal_ns", "busy_ns", "idle_ns"))
    lacking = max(0, CORES_LEAST - len(found))
    total = steal + busy + idle + lacking * float(time.monotonic_ns())
    return dict(zip(PLACED, (steal, busy, total), strict=True))


def _parse_line(line: str) -> dict[str, float]:
    """A line of `/proc/stat` (proc_stat(5)); guest time is inside user time already."""
    words = line.split()[1:9]
    user, nice, system, idle, iowait, irq, softirq, steal = (int(w) * TICK_NS for w in words)
    busy = user + nice + system + irq + softirq
    return {"steal_ns": float(steal), "busy_ns": float(busy), "idle_ns": float(idle + iowait)}


def _read_pressure() -> dict[str, float]:
    """Total of the line `some` in `/proc/pressure/cpu` (µs there)."""
    try:
        some = Path("/proc/pressure/cpu").read_text().split("\n", 1)[0]
    except OSError:
        return {}
    return {"psi_cpu_ns": float(some.rpartition("total=")[2]) * 1_000}


PROBE = Host()
