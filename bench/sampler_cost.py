"""What the CPU sampler costs a server that sleeps and wakes for each request: CPU time and time of
a point select without it, with samples of all CPUs, and of each thread, interleaved.

A busy loop pays for samples alone; a server pays for each of its context switches, too. *Waking* is
a process that works as often as a sampler would and samples nothing. Server on core 0, driver on
core 1.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from played import plan, play
from probe_overhead import Seen, compute_cpu_ns, compute_wall_s, format_change
from serving import CLIENT_CORE, command, pinned, serving

from dyno.driver import DriverLaunch, DriverProcess, End, Limit, Progress
from dyno.driver.sampler import CpuSampler
from dyno.engines import Server
from dyno.host.processes import list_process_family, sum_cpu_ns

SERVERS = ("postgres@18", "mysql@8.0.33")
WORKLOAD = "oltp_point_select"
WAYS = ("cpus", "threads", "waking")
#: Each way in both halves of a group, in an order that turns round: a drift meets all alike.
ORDER = ("", *WAYS, *WAYS[::-1], "")
SLICE_S, SETTLE_S, WITHIN_S = 7.0, 2.0, (1.5, 6.5)
WAKING = "import time\nwhile True: sum(range(20_000)); time.sleep(0.1)"


class Watcher:
    """Begins in each slice what its way is, and ends what the last one was."""

    def __init__(self, server: Server) -> None:
        self.server, self.at = server, -1
        self.sampler = CpuSampler()
        self.waking: subprocess.Popen[bytes] | None = None
        self.is_sampling = False

    def reach(self, at: int, way: str) -> None:
        if at == self.at:
            return
        self.at = at
        self.end()
        if way == "waking":
            self.waking = subprocess.Popen([sys.executable, "-c", WAKING])
        elif way and self.server.pid:
            self.sampler.start([self.server.pid], scope="cpus" if way == "cpus" else "threads")
            self.is_sampling = True

    def end(self) -> None:
        if self.waking:
            self.waking.kill()
            self.waking.wait()
        if self.is_sampling:
            self.sampler.stop()
        self.waking, self.is_sampling = None, False


def measure_slices(server: Server, groups: int) -> list[Seen]:
    """What was seen several times a second."""
    slices = groups * len(ORDER)
    length_s = math.ceil(SETTLE_S + slices * SLICE_S + 1)
    options = {"table_size": 10_000, "threads": 2, "time": length_s}
    what = plan(server.session, WORKLOAD, ["run"], **options)
    seen: list[Seen] = []
    watcher = Watcher(server)
    with (
        tempfile.TemporaryDirectory() as home,
        DriverProcess(what, DriverLaunch(Path(home) / "log", pinned(CLIENT_CORE))) as process,
    ):
        while not isinstance(event := process.read_event(Limit("a phase", 900)), End):
            if isinstance(event, Progress):
                done = sum(it.done for it in event.streams)
                used_ns = sum_cpu_ns(list_process_family(server.pid))
                seen.append(Seen(event.elapsed_s, done, used_ns))
                at = int((event.elapsed_s + 0.1 - SETTLE_S) // SLICE_S)
                watcher.reach(at, ORDER[at % len(ORDER)] if 0 <= at < slices else "")
            else:
                process.go()
        watcher.end()
    return seen


def compute_ratios(seen: list[Seen], groups: int, way: str, cost: object) -> list[float]:
    """Of each group the log of a cost with the way over without any."""
    found = []
    for group in range(groups):
        logs: dict[str, list[float]] = {"": [], way: []}
        for place, own in enumerate(ORDER):
            begin_s = SETTLE_S + (group * len(ORDER) + place) * SLICE_S
            low_s, high_s = (begin_s + it for it in WITHIN_S)
            inside = [it for it in seen if low_s <= it.at_s <= high_s]
            if own in logs:
                logs[own].append(math.log(cost(inside[0], inside[-1])))  # type: ignore[operator]
        found.append(sum(logs[way]) / 2 - sum(logs[""]) / 2)
    return found


def main() -> None:
    parser: argparse.ArgumentParser = command("sampler-cost", SERVERS)
    parser.add_argument("--groups", type=int, default=5, help="rounds of 56 s")
    words = parser.parse_args()
    groups = 1 if words.quick else words.groups
    for spec in words.server:
        with serving(spec) as server:
            play(plan(server.session, WORKLOAD, ["prepare"], table_size=10_000))
            seen = measure_slices(server, groups)
        for way in WAYS:
            wall, cpu = (
                format_change(compute_ratios(seen, groups, way, cost))
                for cost in (compute_wall_s, compute_cpu_ns)
            )
            said = f"{spec}, {way}: time an operation {wall}, CPU {cpu}; {groups} rounds"
            print(said, flush=True)


if __name__ == "__main__":
    main()
