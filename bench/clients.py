"""Clients of ours to be measured: the driver, and the bare sockets of `bare/`.

A client sends one load to one server from core 1, and answers what it spent on its statements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from paired import BENCH
from played import SEED, Played, plan, play
from serving import CLIENT_CORE, pinned
from spent import Spent, Usage, run

from dyno.driver.plan import Plan, Session


@dataclass(frozen=True)
class Load:
    """What is sent, over how many connections, for how long.

    `workload` is one of ours by name or a script by its path; `statements` are counted for each
    of its events.
    """

    workload: str
    connections: int
    time_s: int
    options: dict[str, object]
    statements: int = 1

    @property
    def table_size(self) -> object:
        """Rows of the table that all clients read."""
        return self.options["table_size"]


@dataclass(frozen=True)
class Driver:
    """Ours: one thread for all connections."""

    session: Session
    load: Load

    def __call__(self) -> Spent:
        """The measured phase alone, as the driver's own record of itself has it."""
        load = self.load
        options = {"threads": load.connections, "time": load.time_s, "warmup_time": 0}
        played = driven(plan(self.session, load.workload, ["run"], **load.options, **options))
        return spent(played, "run", played.phases["run"].streams[0].done * load.statements)


@dataclass(frozen=True)
class Bare:
    """The point select over bare sockets: blocking on one connection, else through io_uring."""

    session: Session
    load: Load
    program: Path

    def __call__(self) -> Spent:
        session, load = self.session, self.load
        where = [session["kind"], session["host"], session["user"], session["database"]]
        how = "plain" if load.connections == 1 else "ring"
        words = [load.connections, load.time_s, load.table_size, SEED, how]
        said, _ = run([*pinned(CLIENT_CORE), self.program, *where, *words])
        queries, wall_ns, user_ns, kernel_ns = map(int, said.split())
        return Spent(queries, wall_ns, Usage(user_ns, kernel_ns))


def driven(what: Plan, watch: Callable[[], float] = lambda: 0.0) -> Played:
    """A plan played by the driver from one thread on core 1."""
    pinned_plan = replace(what, cpus=(CLIENT_CORE,), progress_s=0.0)
    played = play(pinned_plan, pinned(CLIENT_CORE), watch)
    for record in played.phases.values():
        for stream in record.streams:
            if stream.intended and not stream.done:
                raise SystemExit(f"{what.script.path}: {record.phase} failed: {stream.errors}")
    return played


def spent(played: Played, phase: str, count: int) -> Spent:
    """What the driver says of itself in a phase in which so many were counted."""
    record = played.phases[phase]
    used = Usage(record.usage.user_ns, record.usage.system_ns)
    return Spent(count, record.duration_s * 1e9, used)


def compiled(folder: Path) -> Path:
    """The bare client, compiled into a folder."""
    program = folder / "bare"
    sources = sorted((BENCH / "bare").glob("*.c"))
    run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, *sources])
    return program
