"""Plans played through the driver, for benchmarks: what each phase recorded and cost."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paired import BENCH, Cost

from dyno import driver, engines
from dyno.driver import DriverLaunch, DriverProcess, End, Event, Limit, Progress, Ready
from dyno.driver.plan import Plan, Script, Session
from dyno.record import PhaseRecord
from dyno.workloads import find_workload

NULL: Session = {"kind": "null", "delay_ns": 0}
SEED = 20261121
PHASE_LIMIT_S = 300.0


def session(engine: str, build: str, home: Path) -> Session:
    """A session on an engine of ours with its default settings, its data in `home`."""
    chosen = engines.find_engine(engine, driver.ask)
    return chosen.start(chosen.program(build, {}, print), home, {}).session


@dataclass
class Played:
    """A plan's records by phase, the script's counters, and (elapsed s, resident bytes) seen.

    `watch` is read before and after each phase; `watched` is what the phase added to it.
    """

    watch: Callable[[], float] = lambda: 0.0
    phases: dict[str, PhaseRecord] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    resident: list[tuple[float, int]] = field(default_factory=list)
    watched: dict[str, float] = field(default_factory=dict)

    def cost(self, phase: str) -> Cost:
        """What one unit of the phase's first stream took: wall time, and CPU of the driver."""
        record = self.phases[phase]
        tally = record.streams[0]
        used_ns = record.usage.user_ns + record.usage.system_ns
        return Cost(
            record.duration_s * 1e9 / (tally.done * tally.units_per_event),
            used_ns / ((tally.done + tally.warmup) * tally.units_per_event),
        )


def plan(at: Session, workload: str, commands: Sequence[str], **options: object) -> Plan:
    """The plan of one of our workloads, of a script beside this file, or of one by its path."""
    beside = BENCH / f"{workload}.lua"  # a path of its own stays what it is
    path = (
        Path(workload)
        if "/" in workload
        else beside
        if beside.is_file()
        else find_workload(workload)
    )
    texts = {name: str(value) for name, value in options.items()}
    return Plan(at, Script(str(path), texts), SEED, tuple(commands), progress_s=0.2)


def play(
    what: Plan, prefix: Sequence[str] = (), watch: Callable[[], float] = lambda: 0.0
) -> Played:
    """Plays a plan to its end through the driver, which `prefix` starts (`taskset -c 1`)."""
    played = Played(watch)
    with (
        tempfile.TemporaryDirectory() as home,
        DriverProcess(what, DriverLaunch(Path(home) / "driver.log", tuple(prefix))) as process,
    ):
        while take(process, played):
            pass
    return played


def take(process: DriverProcess, played: Played) -> bool:
    """Takes the next event; False after the last."""
    event: Event = process.read_event(Limit("a phase", PHASE_LIMIT_S))
    match event:
        case End(counters):
            played.counters = counters
            return False
        case Progress(elapsed_s=elapsed_s):
            played.resident.append((elapsed_s, resident_bytes(process.pid)))
            return True
        case Ready(phase=phase):
            played.watched[phase] = -played.watch()
        case PhaseRecord(phase=phase):
            played.watched[phase] += played.watch()
            played.phases[phase] = event
    process.go()
    return True


def resident_bytes(pid: int) -> int:
    """Resident memory of a process now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096
