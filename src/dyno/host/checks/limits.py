"""Survey: what a process may have at most."""

from __future__ import annotations

from collections.abc import Iterator

from dyno.host.checks import choose_mark, make_not_visible, make_observation
from dyno.host.checks._machine import Machine
from dyno.record import Observation

WEIGHTS = {"open files": 6, "processes": 6, "locked memory": 3}

#: Line of /proc/self/limits, fair and poor below so many, why, and the word of `ulimit`.
LIMITS = {
    "open files": (
        "Max open files",
        (4096, 1024),
        "each connection and each table is a file or two",
        "ulimit -n 65536",
    ),
    "processes": (
        "Max processes",
        (4096, 512),
        "a server with a process per connection, and every thread, counts",
        "ulimit -u 65536",
    ),
    "locked memory": (
        "Max locked memory",
        (8 << 20, 0),
        "rings of io_uring (before kernel 5.12) and huge pages count against it",
        "ulimit -l 65536, or LimitMEMLOCK= of the service",
    ),
}


def observe(machine: Machine) -> Iterator[Observation]:
    """Observe the soft limits, which are those that hold."""
    lines = machine.read_text("/proc/self/limits").splitlines()
    for name, (start, (fair, poor), why, hint) in LIMITS.items():
        line = next((line for line in lines if line.startswith(start)), "")
        soft = line.removeprefix(start).split()[:1]
        if not soft:
            yield make_not_visible(name, why)
        else:
            most = float("inf") if soft[0] == "unlimited" else int(soft[0])
            yield make_observation(name, soft[0], choose_mark(-most, 1 - fair, 1 - poor), why, hint)
