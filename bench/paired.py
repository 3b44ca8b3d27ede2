"""Ours and a peer in turn: pairs of measurements, their ratio, and how a benchmark reports."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dyno import driver, engines
from dyno.driver import End, Event, Launch, Limit, Process, Progress
from dyno.plan import Plan, Script, Session
from dyno.record import PhaseRecord
from dyno.workloads import find

BENCH = Path(__file__).resolve().parent
NULL: Session = {"kind": "null", "delay_ns": 0}
SEED = 20261121
PHASE_LIMIT_S = 300.0


@dataclass(frozen=True)
class Cost:
    """What one operation took, in ns."""

    wall_ns: float
    cpu_ns: float


@dataclass(frozen=True)
class Pair:
    """One round: ours and the peer."""

    ours: Cost
    peer: Cost

    @property
    def wall_ratio(self) -> float:
        """How many times the peer's wall time ours is."""
        return self.ours.wall_ns / self.peer.wall_ns

    @property
    def cpu_ratio(self) -> float:
        """How many times the peer's CPU ours is; a busy machine disturbs it less."""
        return self.ours.cpu_ns / self.peer.cpu_ns


def quick(name: str) -> bool:
    """Reads the command line of the benchmark `name`: was `--quick` given?"""
    parser = argparse.ArgumentParser(prog=f"bench/run {name}")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    return bool(parser.parse_args().quick)


def alternate(ours: Callable[[], Cost], peer: Callable[[], Cost], rounds: int) -> list[Pair]:
    """Plays both in every round, each first in every second one, after one round unmeasured."""
    ours(), peer()
    pairs = []
    for number in range(rounds):
        if number % 2:
            second = peer()
            pairs.append(Pair(ours(), second))
        else:
            first = ours()
            pairs.append(Pair(first, peer()))
    return pairs


def report_pairs(name: str, peer: str, pairs: Sequence[Pair]) -> None:
    """Prints every round, then the medians of the rounds' ratios and their range."""
    rows = [
        ("round", "driver ns", f"{peer} ns", "ratio", "driver CPU ns", f"{peer} CPU ns", "ratio")
    ]
    for number, pair in enumerate(pairs, 1):
        wall = (f"{pair.ours.wall_ns:.0f}", f"{pair.peer.wall_ns:.0f}", f"{pair.wall_ratio:.3f}")
        cpu = (f"{pair.ours.cpu_ns:.0f}", f"{pair.peer.cpu_ns:.0f}", f"{pair.cpu_ratio:.3f}")
        rows.append((str(number), *wall, *cpu))
    wall_ratios = [pair.wall_ratio for pair in pairs]
    cpu_ratios = [pair.cpu_ratio for pair in pairs]
    figures: dict[str, float | str] = {
        "bench": name,
        "wall_ratio": round(statistics.median(wall_ratios), 4),
        "wall_ratio_min": round(min(wall_ratios), 4),
        "wall_ratio_max": round(max(wall_ratios), 4),
        "cpu_ratio": round(statistics.median(cpu_ratios), 4),
        "cpu_ratio_min": round(min(cpu_ratios), 4),
        "cpu_ratio_max": round(max(cpu_ratios), 4),
    }
    report(rows, figures)


def report(rows: Iterable[Sequence[object]], figures: dict[str, float | str]) -> None:
    """Prints a table (the first row is its head), then the figures as one line of JSON."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    print(json.dumps(figures))


def session(engine: str, build: str, home: Path) -> Session:
    """A session on an engine of ours with its default settings, its data in `home`."""
    chosen = engines.find(engine, driver.ask)
    return chosen.start(chosen.program(build, {}, print), home, {}).session


@dataclass
class Played:
    """A plan's records by phase, the script's counters, and (elapsed s, resident bytes) seen."""

    phases: dict[str, PhaseRecord] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    resident: list[tuple[float, int]] = field(default_factory=list)

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
    """The plan of one of our workloads, or of a script beside this file."""
    beside = BENCH / f"{workload}.lua"
    path = beside if beside.is_file() else find(workload)
    texts = {name: str(value) for name, value in options.items()}
    return Plan(at, Script(str(path), texts), SEED, tuple(commands), progress_s=0.2)


def play(what: Plan) -> Played:
    """Plays a plan to its end through the driver."""
    played = Played()
    with (
        tempfile.TemporaryDirectory() as home,
        Process(what, Launch(log=Path(home) / "driver.log")) as process,
    ):
        while take(process, played):
            pass
    return played


def take(process: Process, played: Played) -> bool:
    """Takes the next event; False after the last."""
    event: Event = process.next(Limit("a phase", PHASE_LIMIT_S))
    match event:
        case End(counters):
            played.counters = counters
            return False
        case Progress(elapsed_s=elapsed_s):
            played.resident.append((elapsed_s, resident_bytes(process.pid)))
            return True
        case PhaseRecord(phase=phase):
            played.phases[phase] = event
    process.go()
    return True


def resident_bytes(pid: int) -> int:
    """Resident memory of a process now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096
