"""What `dyno profile` costs the server beside it at its defaults: with and without, interleaved.

One server is under one unbroken load, and a profile is taken in every second and third of four
slices (ABBA), so that the host's slow changes meet both alike. A slice's first seconds, in which
the profiler starts, and its last, in which it names functions, are left out. Time and the server's
CPU time of an operation are compared; CPU time is disturbed less by others on the host.

Server on core 0, driver on core 1; the profiler wherever there is room.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from pathlib import Path

from played import plan, play
from probe_overhead import Seen, compute_cpu_ns, compute_wall_s, format_change
from profile_beside_perf import url_of
from serving import CLIENT_CORE, command, pinned, serving

from dyno import driver
from dyno.driver import DriverLaunch, DriverProcess, End, Limit, Progress
from dyno.engines import Server
from dyno.host.processes import list_process_family, sum_cpu_ns

SERVERS = ("postgres@18", "mysql@8.0.33")
WORKLOAD = "oltp_point_select"
SLICE_S, SETTLE_S, PROFILED_S = 14.0, 2.0, 11
#: What of a slice is compared, from its beginning.
WITHIN_S = (3.0, 10.5)
ORDER = (False, True, True, False)
CONNECTIONS = 2


class Profiler:
    """Starts a profile where a slice is to have one."""

    def __init__(self, server: Server, home: Path, stacks: bool) -> None:
        self.words = [sys.executable, "-m", "dyno.cli", "profile", url_of(server.session)]
        self.words += ["--for", f"{PROFILED_S}s", "--output", str(home / "a.json")]
        self.words += ["--stacks"] if stacks else []
        self.at, self.running = -1, None

    def reach(self, at: int, is_on: bool) -> None:
        if at == self.at:
            return
        self.at = at
        self.end()
        if is_on:
            quiet = subprocess.DEVNULL
            self.running = subprocess.Popen(self.words, stdout=quiet, stderr=quiet)

    def end(self) -> None:
        """Waits for it: a profile that failed would cost nothing."""
        running, self.running = self.running, None
        if running and running.wait(60):
            raise SystemExit("a profile failed")


def measure_slices(server: Server, groups: int, stacks: bool) -> list[Seen]:
    """What was seen five times a second, while profiles came and went."""
    length_s = SETTLE_S + groups * len(ORDER) * SLICE_S + 1
    options = {"table_size": 10_000, "threads": CONNECTIONS, "time": math.ceil(length_s)}
    what = plan(server.session, WORKLOAD, ["run"], **options)
    counts: list[Seen] = []
    with (
        tempfile.TemporaryDirectory() as home,
        DriverProcess(what, DriverLaunch(Path(home) / "log", pinned(CLIENT_CORE))) as process,
    ):
        profiler = Profiler(server, Path(home), stacks)
        while not isinstance(event := process.read_event(Limit("a phase", 600)), End):
            if isinstance(event, Progress):
                done = sum(it.done for it in event.streams)
                used_ns = sum_cpu_ns(list_process_family(server.pid))
                counts.append(Seen(event.elapsed_s, done, used_ns))
                at = int((event.elapsed_s + 0.1 - SETTLE_S) // SLICE_S)
                within = 0 <= at < groups * len(ORDER)
                profiler.reach(at, within and ORDER[at % len(ORDER)])
            else:
                process.go()
        profiler.end()
    return counts


def compute_ratios(counts: list[Seen], groups: int, cost: object) -> list[float]:
    """Of each ABBA the log of a cost with a profile over without."""
    found = []
    for group in range(groups):
        total = 0.0
        for place, is_on in enumerate(ORDER):
            begin_s = SETTLE_S + (group * len(ORDER) + place) * SLICE_S
            low_s, high_s = (begin_s + it for it in WITHIN_S)
            inside = [it for it in counts if low_s <= it.at_s <= high_s]
            value = cost(inside[0], inside[-1])
            total += math.log(value) if is_on else -math.log(value)
        found.append(total / 2)
    return found


def main() -> None:
    parser = command("profile-cost", SERVERS)
    parser.add_argument("--groups", type=int, default=10, help="ABBAs of 56 s")
    parser.add_argument("--stacks", action="store_true", help="profiles with callers")
    words = parser.parse_args()
    groups = 1 if words.quick else words.groups
    for spec in words.server:
        more = {"shared_preload_libraries": "pg_stat_statements"} if "postgres" in spec else {}
        with serving(spec, **more or {"performance_schema": "ON"}) as server:
            play(plan(server.session, WORKLOAD, ["prepare"], table_size=10_000))
            if more:
                driver.ask(server.session, ["CREATE EXTENSION pg_stat_statements"])
            seen = measure_slices(server, groups, words.stacks)
        wall, cpu = (
            format_change(compute_ratios(seen, groups, cost))
            for cost in (compute_wall_s, compute_cpu_ns)
        )
        print(f"{spec}: time an operation {wall}, CPU {cpu}; {groups} ABBAs", flush=True)


if __name__ == "__main__":
    main()
