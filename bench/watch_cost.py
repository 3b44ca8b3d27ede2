"""What `dyno watch` costs the server that it watches, at a sample a second.

One server with performance_schema on is under one unbroken load of point selects and of sysbench's
read-write mix; the watcher stands beside it and is stopped and let go again in slices (ABBA), so
that the host's slow changes meet both alike. What a second's sample takes of CPU under that load is
told apart, since it does not vary with the host as throughput does: of the server's thread that
answers it, by its schedstat, and of the watcher's own processes. Then it watches the server at rest
for some time: what an idle day would write, and how much more a copy of every table at every sample
would be.

Server on core 0, driver on core 1, watcher wherever there is room, as on a machine that is shared.
"""

from __future__ import annotations

import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from played import plan, play
from serving import CLIENT_CORE, command, pinned, serving

from dyno import driver
from dyno.driver import DriverLaunch, DriverProcess, End, Limit, Progress
from dyno.engines import Server
from dyno.servers.watch import servers, store
from dyno.servers.watch.store import Changes, SampleTime

SERVERS = ("mysql@8.0.33", "mariadb@debian")
WORKLOADS = ("oltp_point_select", "oltp_read_write")
SLICE_S, DAY_S = 3.0, 86400.0
#: ABBA: the watcher sleeps, wakes, wakes, sleeps.
ORDER = (False, True, True, False)
CONNECTIONS = 4
COUNT = os.cpu_count() or 1


def url(server: Server) -> str:
    """As root, by the socket."""
    at = server.session
    password, socket = (quote(str(at[it] or ""), safe="") for it in ("password", "host"))
    return f"mysql://{at['user']}:{password}@{socket}"


@contextmanager
def watching(server: Server, folder: Path) -> Iterator[int]:
    """A watcher at one sample a second: its process."""
    words = [sys.executable, "-m", "dyno.cli", "watch", "--dsn", url(server), "--into", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGINT)
            process.wait(60)


def cpu_s(pid: int) -> float:
    """CPU that a process and those it waited for, or has, took."""
    pids = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    ticks = 0
    for each in pids:
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def serving_thread(server: Server) -> int:
    """The server's thread that answers the watcher, as long as nobody else is connected."""
    asked = (
        "SELECT thread_os_id FROM performance_schema.threads"
        " WHERE processlist_user = 'root' AND processlist_id <> CONNECTION_ID()"
    )
    (((thread,),),) = driver.ask(server.session, [asked])
    return int(thread or 0)


def thread_s(server: Server, thread: int) -> float:
    """CPU that a thread of the server took (proc_pid_schedstat: ns on the CPU come first)."""
    return int(Path(f"/proc/{server.pid}/task/{thread}/schedstat").read_text().split()[0]) / 1e9


def let_go(pid: int, *, awake: bool) -> None:
    """Lets a process go on, or stops it."""
    os.kill(pid, signal.SIGCONT if awake else signal.SIGSTOP)


class Switch(Protocol):
    """Turns on and off what is measured."""

    def __call__(self, *, awake: bool) -> None: ...


def slices(server: Server, workload: str, switch: Switch, number: int) -> list[float]:
    """The log of what is done with the watcher awake over asleep, of each ABBA."""
    length_s = number * len(ORDER) * SLICE_S + 4
    what = plan(
        server.session,
        workload,
        ["run"],
        table_size=100_000,
        time=round(length_s),
        threads=CONNECTIONS,
    )
    counts: list[tuple[float, int]] = []
    with (
        tempfile.TemporaryDirectory() as home,
        DriverProcess(what, DriverLaunch(Path(home) / "log", pinned(CLIENT_CORE))) as process,
    ):
        awake = True
        while not isinstance(event := process.read_event(Limit("a phase", 600)), End):
            if isinstance(event, Progress):
                counts.append((event.elapsed_s, sum(it.done for it in event.streams)))
                at = int((event.elapsed_s + 0.1 - 2) // SLICE_S)
                wanted = ORDER[at % len(ORDER)] if 0 <= at < number * len(ORDER) else True
                if wanted != awake:
                    switch(awake=wanted)
                    awake = wanted
            else:
                process.go()
    return ratios(counts, number)


def ratios(counts: list[tuple[float, int]], number: int) -> list[float]:
    """Of each ABBA; the first 0.4 s of a slice are left out."""

    def done(begin_s: float, end_s: float) -> float:
        inside = [it for it in counts if begin_s <= it[0] <= end_s]
        (a_s, a), (b_s, b) = inside[0], inside[-1]
        return (b - a) / (b_s - a_s)

    found = []
    for group in range(number):
        logs = []
        for at, awake in enumerate(ORDER):
            begin_s = 2 + (group * len(ORDER) + at) * SLICE_S
            sign = 1 if awake else -1
            logs.append(sign * math.log(done(begin_s + 0.4, begin_s + SLICE_S)))
        found.append(sum(logs) / 2)
    return found


def change(logs: list[float]) -> str:
    """The mean of logs of ratios as a change, ± twice its standard error."""
    mean = f"{100 * math.expm1(statistics.mean(logs)):+.2f} %"
    if len(logs) < 2:
        return mean
    return f"{mean} ± {200 * statistics.stdev(logs) / math.sqrt(len(logs)):.2f}"


def full_copy_bytes(server: Server, folder: Path, duckdb: dict[str, object]) -> int:
    """What every row of every source takes in Parquet."""
    watched = servers.reach_server(driver.ask, url(server))
    folder.mkdir()
    writer = store.WatchStore(folder, driver.ask, duckdb)
    now = datetime.now(UTC)
    answers = driver.ask(watched.session, [*watched.begin, *(it.whole for it in watched.questions)])
    rows = {
        it.source: Changes(it.source).record_changes(found, SampleTime(now.strftime(store.TIME)))
        for it, found in zip(watched.questions, answers[len(watched.begin) :], strict=True)
    }
    writer.write(rows, now)
    return store.measure_size_bytes(folder)


def main() -> None:
    parser = command("watch-cost", SERVERS)
    parser.add_argument("--groups", type=int, default=8, help="ABBAs of 12 s for each workload")
    parser.add_argument("--workload", nargs="*", default=WORKLOADS, choices=WORKLOADS)
    parser.add_argument("--idle", type=float, default=60.0, help="seconds at rest")
    words = parser.parse_args()
    groups, idle_s = (1, 5.0) if words.quick else (words.groups, words.idle)
    for spec in words.server:
        with serving(spec, performance_schema="ON") as server:
            measure(spec, server, words.workload, groups, idle_s)


def measure(
    spec: str, server: Server, workloads: Sequence[str], groups: int, idle_s: float
) -> None:
    play(plan(server.session, "oltp_point_select", ["cleanup", "prepare"], table_size=100_000))
    duckdb = store.open_library(driver.ask, print)
    with tempfile.TemporaryDirectory() as home:
        busy, idle = Path(home) / "busy", Path(home) / "idle"
        if groups:
            with watching(server, busy) as pid:
                time.sleep(1)
                thread = serving_thread(server)
                for workload in workloads:
                    before_s = thread_s(server, thread), cpu_s(pid), time.monotonic()
                    logs = slices(server, workload, partial(let_go, pid), groups)
                    after_s = thread_s(server, thread), cpu_s(pid), time.monotonic()
                    spent = [b - a for a, b in zip(before_s, after_s, strict=True)]
                    awake_s = spent[2] - groups * SLICE_S * len(ORDER) / 2
                    theirs, ours = (1000 * it / awake_s for it in spent[:2])
                    print(
                        f"{spec} {workload}: throughput {change(logs)} beside a watcher,"
                        f" {groups} ABBAs; a second's sample"
                        f" takes {theirs:.1f} ms of the server and {ours:.1f} ms of the watcher:"
                        f" {(theirs + ours) / 10 / COUNT:.2f} % of {COUNT} cores",
                        flush=True,
                    )
        with watching(server, idle) as pid:
            time.sleep(2)
            before_s = cpu_s(pid)
            time.sleep(idle_s)
            used_s = cpu_s(pid) - before_s
        copy = full_copy_bytes(server, Path(home) / "copy", duckdb)
        # as if the hour were over
        later = datetime.now(UTC) + timedelta(hours=2)
        sources = store.with_samples(servers.list_sources("mysql"))
        store.WatchStore(idle, driver.ask, duckdb).merge(later, sources)
        taken, samples = store.measure_size_bytes(idle), idle_s + 2
        # the first sample is whole, as it is in each hour
        day = DAY_S * max(taken - copy, 0) / samples + 24 * copy
        print(
            f"{spec} idle: {taken} bytes in {samples:.0f} samples, {copy} in a copy of one:"
            f" {copy * samples / taken:.0f} times less than copies; a day {day / 1e6:.1f} MB;"
            f" the watcher takes {100 * used_s / idle_s:.2f} % of a core",
            flush=True,
        )


if __name__ == "__main__":
    main()
