"""What Dyno's watching costs an engine: the CPU sampler beside a phase, and the probes at its ends.

One engine is under one unbroken load, and the sampler is switched on and off in slices (ABBA), so
that the host's slow changes meet both alike; with `--samplers 2`, two of them at once, as if each
of two interleaved engines had its own. Then it is said what naming the functions takes, the first
time and the second, how far samples are from the CPU time that the kernel charged, and what each
probe's reading takes: probes are read while nothing is measured.

A server is on core 0, its driver on core 1; an embedded engine is in the driver.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from played import plan, play
from serving import CLIENT_CORE, command, pinned, serving

from dyno import driver, engines
from dyno.driver import DriverLaunch, DriverProcess, End, Limit, Progress, Ready
from dyno.driver.sampler import PERIOD_NS, CpuSampler
from dyno.engines import CountsContention, CountsInternals, CountsWork, Engine, Server
from dyno.errors import DynoError
from dyno.host.probes import ProbeTarget, load_probes
from dyno.host.processes import list_process_family, sum_cpu_ns
from dyno.profile.layers import find_sampled_layer
from dyno.record.profile import ProfiledFunction
from dyno.runs.experiment import candidates

ENGINES = ("sqlite@3.54.1", "duckdb@1.4.4", "postgres@18", "mysql@8.0.33", "mariadb@11.8")
WORKLOAD = "oltp_point_select"
SLICE_S, SETTLE_S, SKIP_S = 1.5, 1.0, 0.3
#: ABBA: off, on, on, off.
ORDER = (False, True, True, False)
CONNECTIONS = 2
LOOPS, FASTER = 3_000_000, 10
#: Layers that tell nothing of an engine's parts.
UNATTRIBUTED = ("unknown", "other", "kernel: other")


class Seen(NamedTuple):
    """How far a load was: operations done, and CPU that the engine had used."""

    at_s: float
    done: int
    used_ns: int


Cost = Callable[[Seen, Seen], float]


class Switch:
    """Switches samplers of a process on and off, and adds up samples and CPU of the time on."""

    def __init__(self, pid: int, samplers: list[CpuSampler]) -> None:
        self.pid, self.samplers, self.is_on = pid, samplers, False
        self.sampled_ns = self.used_ns = 0
        self.naming_s: list[float] = []
        self.functions: list[ProfiledFunction] = []

    def turn(self, is_on: bool) -> None:
        """Puts it so; the functions are named in the time off."""
        if is_on == self.is_on:
            return
        self.is_on = is_on
        if is_on:
            for each in self.samplers:
                each.start([self.pid])
            self.used_ns -= self.read_used_ns()
            return
        for each in self.samplers:
            each.stop()
        self.used_ns += self.read_used_ns()
        for each in self.samplers:
            began_s = time.monotonic()
            (profile,) = each.name()
            self.naming_s.append(time.monotonic() - began_s)
        self.sampled_ns += profile.cpu_ns
        self.functions += profile.functions

    def read_used_ns(self) -> int:
        """CPU of the engine's processes so far."""
        return sum_cpu_ns(list_process_family(self.pid))


def measure_slices(
    server: Server, groups: int, samplers: list[CpuSampler]
) -> tuple[Switch, list[Seen]]:
    """The switch after its work, and what was seen five times a second."""
    length_s = SETTLE_S + groups * len(ORDER) * SLICE_S + 1
    options = {"table_size": 10_000, "threads": CONNECTIONS, "time": math.ceil(length_s)}
    what = plan(server.session, WORKLOAD, ["run"], **options)
    counts: list[Seen] = []
    with (
        tempfile.TemporaryDirectory() as home,
        DriverProcess(what, DriverLaunch(Path(home) / "log", pinned(CLIENT_CORE))) as process,
    ):
        switch = Switch(process.pid if server.pid is None else server.pid, samplers)
        while not isinstance(event := process.read_event(Limit("a phase", 600)), End):
            if isinstance(event, Progress):
                done = sum(it.done for it in event.streams)
                counts.append(Seen(event.elapsed_s, done, switch.read_used_ns()))
                at = int((event.elapsed_s + 0.1 - SETTLE_S) // SLICE_S)
                switch.turn(0 <= at < groups * len(ORDER) and ORDER[at % len(ORDER)])
            else:
                process.go()
    return switch, counts


def compute_ratios(counts: list[Seen], groups: int, cost: Cost) -> list[float]:
    """Of each ABBA the log of a cost with the sampler on over off; a slice's beginning is left
    out.
    """
    found = []
    for group in range(groups):
        total = 0.0
        for place, is_on in enumerate(ORDER):
            begin_s = SETTLE_S + (group * len(ORDER) + place) * SLICE_S
            inside = [it for it in counts if begin_s + SKIP_S <= it.at_s <= begin_s + SLICE_S]
            if len(inside) < 2 or inside[-1].done == inside[0].done:
                break  # the host was too busy to play in this slice
            value = cost(inside[0], inside[-1])
            total += math.log(value) if is_on else -math.log(value)
        else:
            found.append(total / 2)
    return found


def compute_wall_s(first: Seen, last: Seen) -> float:
    """Seconds an operation."""
    return (last.at_s - first.at_s) / (last.done - first.done)


def compute_cpu_ns(first: Seen, last: Seen) -> float:
    """CPU of the engine's processes an operation."""
    return (last.used_ns - first.used_ns) / (last.done - first.done)


def format_unknown(engine: str, functions: list[ProfiledFunction]) -> str:
    """How much of the samples has no layer of its own."""
    layers: Counter[str] = Counter()
    for each in functions:
        layers[find_sampled_layer(engine, each)] += each.samples
    shares = (f"{name} {100 * layers[name] / layers.total():.1f} %" for name in UNATTRIBUTED)
    return ", ".join(shares)


def format_change(logs: list[float]) -> str:
    """The mean of logs of ratios as a change, ± twice its standard error."""
    error = 200 * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
    return f"{100 * math.expm1(statistics.mean(logs)):+.2f} ± {error:.2f} %"


@contextmanager
def watched(engine: Engine, server: Server) -> Iterator[ProbeTarget]:
    """What the probes look at, while a driver waits between phases."""
    what = plan(server.session, WORKLOAD, ["run"], table_size=10_000, threads=1, time=1)
    with (
        tempfile.TemporaryDirectory() as home,
        DriverProcess(what, DriverLaunch(Path(home) / "log")) as process,
    ):
        while not isinstance(process.read_event(Limit("a phase", 60)), Ready):
            process.go()
        pid = process.pid if server.pid is None else server.pid
        work = engine if isinstance(engine, CountsWork) else None
        splits = engine if isinstance(engine, CountsContention) else None
        inside = engine if isinstance(engine, CountsInternals) else None
        yield ProbeTarget(
            pid,
            process.pid,
            server.home,
            counted=lambda after: work.count_work(server, after) if work else {},
            contended=lambda: splits.count_contention(server) if splits else {},
            worked=lambda: inside.count_internals(server) if inside else {},
        )


def time_probes(target: ProbeTarget) -> dict[str, float]:
    """Milliseconds of a reading, the median of five, by probe."""
    found = {}
    for name, probe in load_probes().items():
        times = []
        for _ in range(5):
            began_s = time.monotonic()
            with suppress(DynoError):
                probe.sample(target)
            times.append(1000 * (time.monotonic() - began_s))
        found[name] = statistics.median(times)
    return found


def measure(spec: str, groups: int, count: int) -> None:
    name = candidates.parse_candidate(spec).engine
    engine = engines.find_engine(name, driver.ask)
    with serving(spec) as server, ExitStack() as stack:
        play(plan(server.session, WORKLOAD, ["prepare"], table_size=10_000))
        samplers = [stack.enter_context(CpuSampler()) for _ in range(count)]
        switch, seen = measure_slices(server, groups, samplers)
        apart = 100 * (switch.sampled_ns / switch.used_ns - 1) if switch.used_ns else math.nan
        first, *more = (1000 * each for each in switch.naming_s)
        wall, cpu = (
            format_change(compute_ratios(seen, groups, cost))
            for cost in (compute_wall_s, compute_cpu_ns)
        )
        print(
            f"{spec}: time an operation {wall}, CPU {cpu} beside {count} sampler(s),"
            f" {groups} ABBAs;"
            f" samples {apart:+.2f} % of {switch.used_ns / 1e9:.1f} s CPU;"
            f" naming {first:.0f} ms, then {statistics.median(more or [math.nan]):.0f} ms"
        )
        print(f"  samples: {format_unknown(name, switch.functions)}")
        with watched(engine, server) as target:
            probes = time_probes(target)
        print("  probes, ms a reading: " + ", ".join(f"{n} {t:.1f}" for n, t in probes.items()))


def measure_loop(groups: int) -> None:
    """The sampler's cost for a busy loop of ours, by the loop's own CPU time, which others on the
    host disturb less than throughput; at so many times the rate, and a part of that cost.
    """

    def spin() -> float:
        began_ns = time.thread_time_ns()
        for _ in range(LOOPS):
            pass
        return float(time.thread_time_ns() - began_ns)

    logs = []
    with CpuSampler(PERIOD_NS // FASTER) as sampler:
        for _ in range(groups):
            total = 0.0
            for is_on in ORDER:
                if is_on:
                    sampler.start([os.getpid()])
                    total += math.log(spin())
                    sampler.stop()
                else:
                    total -= math.log(spin())
            logs.append(total / 2 / FASTER)
    print(f"a busy loop: CPU {format_change(logs)} beside 1 sampler, {groups} ABBAs", flush=True)


def main() -> None:
    parser = command("probe-overhead", ENGINES)
    parser.add_argument("--groups", type=int, default=12, help="ABBAs of 6 s")
    parser.add_argument("--samplers", type=int, default=1, help="how many at once")
    words = parser.parse_args()
    for spec in words.server:
        measure(spec, 1 if words.quick else words.groups, words.samplers)
    measure_loop(4 if words.quick else 60)


if __name__ == "__main__":
    main()
