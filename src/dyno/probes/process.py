"""Probe `process`: what the engine's process spent in a phase (the driver's, where embedded).

Names, all of the engine's process and its children: `server_cpu_us`, `server_user_us`,
`server_system_us`, `context_switches`, `involuntary_switches`, `read_calls`, `write_calls`,
`read_bytes`, `written_bytes` (counters, a cost per operation) and `resident_bytes`,
`database_bytes` (gauges).

Limits: the sum of CPU is true to the ns, its parts to a tick of 10 ms. Bytes are those that the
kernel fetched from or owes to a disk (`/proc/PID/io`, proc_pid_io(5)): a file in memory reads
none. Context switches are kept per thread and forgotten when it ends, so they are left out where
the engine lives in the driver: the driver's own `Usage` has them from getrusage(2).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dyno.probes import Measure, Watched
from dyno.probes._proc import cpu_ns_of, family, pairs, stat_ns

#: Our name to the kernel's, in `/proc/PID/io`.
IO = {
    "read_calls": "syscr",
    "write_calls": "syscw",
    "read_bytes": "read_bytes",
    "written_bytes": "write_bytes",
}
#: Our name to the kernel's, in `/proc/PID/task/TID/status`.
SWITCHES = {
    "context_switches": "voluntary_ctxt_switches",
    "involuntary_switches": "nonvoluntary_ctxt_switches",
}


class Process:
    """CPU, switches, system calls, disk traffic, memory, and the size of the data."""

    summary = "CPU, context switches, reads, writes and memory of the engine's process"
    measures = (
        *(Measure(f"server_{kind}_us", "µs", "lower") for kind in ("cpu", "user", "system")),
        *(Measure(name, "switches", "lower") for name in SWITCHES),
        *(Measure(name, "B" if "bytes" in name else "calls", "lower") for name in IO),
        Measure("resident_bytes", "B", "lower", counter=False, per_operation=False),
        Measure("database_bytes", "B", "lower", counter=False, per_operation=False),
    )

    def sample(self, watched: Watched) -> dict[str, float]:
        """Counters since the process began, and the gauges now."""
        pids = family(watched.server_pid)
        embedded = watched.server_pid == watched.client_pid
        switches = {} if embedded else _switches(pids)
        return {**_cpu(pids), **switches, **_io(pids), **_gauges(pids, watched.home)}


def _cpu(pids: set[int]) -> dict[str, float]:
    user, system = (sum(stat_ns(pid)[part] for pid in pids) / 1e3 for part in (0, 1))
    total = cpu_ns_of(pids) / 1e3
    return {"server_cpu_us": total, "server_user_us": user, "server_system_us": system}


def _switches(pids: set[int]) -> dict[str, float]:
    files = [file for pid in pids for file in Path(f"/proc/{pid}/task").glob("*/status")]
    return _sums(files, SWITCHES)


def _io(pids: set[int]) -> dict[str, float]:
    return _sums([Path(f"/proc/{pid}/io") for pid in pids], IO)


def _sums(files: list[Path], names: dict[str, str]) -> dict[str, float]:
    """Each of `names` summed over `files`; left out where no file offers it."""
    read = [pairs(file) for file in files]
    return {
        ours: float(sum(numbers.get(theirs, 0) for numbers in read))
        for ours, theirs in names.items()
        if any(theirs in numbers for numbers in read)
    }


def _gauges(pids: set[int], home: Path) -> dict[str, float]:
    """`resident_bytes` counts pages that processes share once for each."""
    status = [pairs(Path(f"/proc/{pid}/status")) for pid in pids]
    resident = 1024.0 * sum(numbers.get("VmRSS", 0) for numbers in status)
    return {"resident_bytes": resident, "database_bytes": float(_size_bytes(home))}


def _size_bytes(home: Path) -> int:
    """What the files of `home` occupy on the disk; one that vanishes meanwhile counts nothing."""
    total = 0
    for file in home.rglob("*"):
        with suppress(FileNotFoundError):
            total += file.lstat().st_blocks * 512
    return total


PROBE = Process()
