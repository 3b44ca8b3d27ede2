"""Probe `process`: what the engine's processes spent in a phase (the driver's, where embedded).

Names, all of the server's process and its descendants: `server_cpu_us`, `server_user_us`,
`server_system_us`, `context_switches`, `involuntary_switches`, `read_calls`, `write_calls`,
`read_bytes`, `written_bytes` (counters, a cost per operation) and `resident_bytes`,
`database_bytes` (gauges).

What is counted:

- CPU, calls and bytes of every living descendant, and of all that have ended and were waited for:
  the kernel hands these to their parent (proc_pid_stat(5), `cutime`; `/proc/PID/io` likewise).
  CPU of the living is true to the ns, that of the ended and the parts to a tick of 10 ms.
- Bytes are those that the kernel fetched from or owes to a disk (proc_pid_io(5)): a file in memory
  reads none.
- Context switches are kept per thread and forgotten when it ends. So the last number seen of each
  thread is kept: what it did between that and its end is missing, which is little, since the
  driver's connections are open at both samples. They are left out where the engine lives in the
  driver: the driver's own `Usage` has them from getrusage(2).
- Private memory is summed; of what processes share (shared memory, files), the share
  of the one that holds most.
- Nothing where the kernel refuses us one of the processes: a sum without it would be too small.
- Nothing of a server that was started by others: its processes may be on another host.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dyno.disk_use import measure_block_bytes
from dyno.host.probes import Measure, ProbeTarget
from dyno.host.processes import (
    list_process_family,
    list_threads,
    read_pairs,
    read_ticks_ns,
    read_unless_refused,
    sum_cpu_ns,
)

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


class ProcessProbe:
    """CPU, switches, system calls, disk traffic, memory, and the size of the data."""

    summary = "CPU, context switches, reads, writes and memory of the engine's processes"
    is_condition = False
    measures = (
        *(Measure(f"server_{kind}_us", "µs", "lower") for kind in ("cpu", "user", "system")),
        *(Measure(name, "switches", "lower") for name in SWITCHES),
        *(Measure(name, "B" if "bytes" in name else "calls", "lower") for name in IO),
        Measure("resident_bytes", "B", "lower", counter=False, per_operation=False),
        Measure("database_bytes", "B", "lower", counter=False, per_operation=False),
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        pids = list_process_family(watched.server_pid)
        if not pids:
            return {}
        memory = watched.memory
        switches = (
            {} if watched.embedded else read_unless_refused(lambda: _count_switches(pids, memory))
        )
        return {
            **read_unless_refused(lambda: _measure_cpu(pids)),
            **switches,
            **read_unless_refused(lambda: _sum_io(pids)),
            **read_unless_refused(lambda: _read_gauges(pids, watched.home)),
        }


def _measure_cpu(pids: list[int]) -> dict[str, float]:
    """Parents come first: a child that ends between two readings is missed, not counted twice."""
    parts = [read_ticks_ns(pid) for pid in pids]
    total = sum_cpu_ns(pids) / 1e3
    user, system = (sum(part[at] for part in parts) / 1e3 for at in (0, 1))
    return {"server_cpu_us": total, "server_user_us": user, "server_system_us": system}


def _count_switches(pids: list[int], memory: dict[str, Any]) -> dict[str, float]:
    """Of all threads ever seen; those of a thread that is gone stand still."""
    threads = [thread for pid in pids for thread in list_threads(pid)]
    seen = {task.name: read_pairs(task / "status") for task in threads}
    counts: dict[str, dict[str, int]] = memory.setdefault("threads", {})
    ended: dict[str, int] = memory.setdefault("ended", dict.fromkeys(SWITCHES, 0))
    for thread, before in list(counts.items()):
        now = seen.get(thread, {})
        if any(now.get(theirs, 0) < before[theirs] for theirs in SWITCHES.values()):
            for ours, theirs in SWITCHES.items():
                ended[ours] += before[theirs]
            del counts[thread]
    counts |= {name: found for name, found in seen.items() if set(SWITCHES.values()) <= set(found)}
    return {
        ours: float(ended[ours] + sum(found[theirs] for found in counts.values()))
        for ours, theirs in SWITCHES.items()
        if counts
    }


def _sum_io(pids: list[int]) -> dict[str, float]:
    """Sum each of `IO` over the processes; leave out what no file offers."""
    read = [read_pairs(Path(f"/proc/{pid}/io")) for pid in pids]
    return {
        ours: float(sum(numbers.get(theirs, 0) for numbers in read))
        for ours, theirs in IO.items()
        if any(theirs in numbers for numbers in read)
    }


def _read_gauges(pids: list[int], home: Path) -> dict[str, float]:
    status = [read_pairs(Path(f"/proc/{pid}/status")) for pid in pids]
    own = sum(numbers.get("RssAnon", 0) for numbers in status)
    shared = max(numbers.get("RssFile", 0) + numbers.get("RssShmem", 0) for numbers in status)
    return {
        "resident_bytes": 1024.0 * (own + shared),
        "database_bytes": float(measure_block_bytes(home)),
    }


PROBE = ProcessProbe()
