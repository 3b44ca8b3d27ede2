"""What other processes did on the machine between two samples of /proc."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PRESSURES = ("cpu", "io", "memory")


@dataclass(frozen=True)
class Sample:
    """Counters since boot: ticks over all cores, ticks by process, µs of pressure by resource."""

    steal: int
    busy: int
    idle: int
    processes: dict[int, tuple[str, int]]
    pressure_us: dict[str, int]


@dataclass(frozen=True)
class LoadSamples:
    """Two samples, `seconds` apart."""

    before: Sample
    after: Sample
    seconds: float

    @property
    def steal_percent(self) -> float:
        """Of all cores' time, what the hypervisor gave to somebody else."""
        steal = self.after.steal - self.before.steal
        rest = self.after.busy + self.after.idle - self.before.busy - self.before.idle
        return 100 * steal / max(1, steal + rest)

    @property
    def busy_percent(self) -> float:
        """Of all cores' time, what any process used; ours sleeps meanwhile."""
        busy = self.after.busy - self.before.busy
        rest = self.after.steal + self.after.idle - self.before.steal - self.before.idle
        return 100 * busy / max(1, busy + rest)

    def compute_pressure_percent(self) -> dict[str, float]:
        """The share of the time in which some task had to wait for the resource."""
        return {
            name: (us - self.before.pressure_us[name]) / 1e4 / self.seconds
            for name, us in self.after.pressure_us.items()
            if name in self.before.pressure_us
        }

    def find_busiest(self) -> list[tuple[str, float]]:
        """Processes with their percent of one core, the busiest first; idle ones are left out."""
        spent = [
            (name, ticks - self.before.processes.get(pid, (name, 0))[1])
            for pid, (name, ticks) in self.after.processes.items()
        ]
        percent = [(name, 100 * t / TICKS_PER_S / self.seconds) for name, t in spent if t > 0]
        return sorted(percent, key=lambda each: -each[1])


def sample(text: Callable[[str], str], names: Iterable[str]) -> Sample | None:
    """The counters now; None where there is no `/proc/stat`. Our own process is left out."""
    words = text("/proc/stat").partition("\n")[0].split()[1:9]
    if len(words) < 8:
        return None
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, words)
    own = text("/proc/self/stat").partition(" ")[0]
    pids = [name for name in names if name.isdigit() and name != own]
    found = {int(pid): _parse_process(text(f"/proc/{pid}/stat")) for pid in pids}
    busy = user + nice + system + irq + softirq
    pressures = {name: _parse_total(text(f"/proc/pressure/{name}")) for name in PRESSURES}
    seen = {name: total for name, total in pressures.items() if total is not None}
    return Sample(steal, busy, idle + iowait, found, seen)


def _parse_process(line: str) -> tuple[str, int]:
    """A process's name and ticks, user and system (proc_pid_stat(5): fields 2, 14, 15)."""
    head, _, tail = line.rpartition(")")
    fields = tail.split()
    return head.partition("(")[2], int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0


def _parse_total(text: str) -> int | None:
    """`total` of the line `some`, in µs."""
    total = text.partition("\n")[0].rpartition("total=")[2]
    return int(total) if total.isdigit() else None
