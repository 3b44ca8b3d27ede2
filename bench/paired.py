"""Ours and a peer in turn: pairs of measurements, their ratio, and how a benchmark reports."""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dyno.driver import End, Event, Launch, Limit, Process, Progress
from dyno.plan import Plan, Script, Session
from dyno.record import PhaseRecord
from dyno.workloads import find

BENCH = Path(__file__).resolve().parent
NULL: Session = {"kind": "null", "delay_ns": 0}
SEED = 20261121
PHASE_LIMIT_S = 300.0


@dataclass(frozen=True)
class Pair:
    """One round: what ours and the peer needed, in the same unit, less being better."""

    ours: float
    peer: float

    @property
    def ratio(self) -> float:
        """How many times the peer's cost ours is."""
        return self.ours / self.peer


def quick(name: str) -> bool:
    """Reads the command line of the benchmark `name`: was `--quick` given?"""
    parser = argparse.ArgumentParser(prog=f"bench/run {name}")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    return bool(parser.parse_args().quick)


def alternate(ours: Callable[[], float], peer: Callable[[], float], rounds: int) -> list[Pair]:
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


def summary(pairs: Sequence[Pair]) -> dict[str, float]:
    """The median of the rounds' ratios, and the smallest and largest."""
    ratios = [pair.ratio for pair in pairs]
    return {
        "ratio": round(statistics.median(ratios), 4),
        "ratio_min": round(min(ratios), 4),
        "ratio_max": round(max(ratios), 4),
    }


def report(rows: Iterable[Sequence[object]], figures: dict[str, float | str]) -> None:
    """Prints a table (the first row is its head), then the figures as one line of JSON."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    print(json.dumps(figures))


def sqlite_library() -> Path:
    """The system's SQLite, where the loader finds it."""
    ctypes.CDLL("libsqlite3.so.0")
    mapped = Path("/proc/self/maps").read_text().split()
    return Path(next(word for word in mapped if "libsqlite3.so" in word))


@dataclass
class Played:
    """A plan's records by phase, the script's counters, and (elapsed s, resident bytes) seen."""

    phases: dict[str, PhaseRecord] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    resident: list[tuple[float, int]] = field(default_factory=list)

    def cost_ns(self, phase: str) -> float:
        """CPU of the driver per unit of the phase's first stream, in ns."""
        record = self.phases[phase]
        tally = record.streams[0]
        return (record.usage.user_ns + record.usage.system_ns) / (
            (tally.done + tally.warmup) * tally.units_per_event
        )

    def time_ns(self, phase: str) -> float:
        """Wall time per unit of the phase's first stream, in ns."""
        record = self.phases[phase]
        tally = record.streams[0]
        return record.duration_s * 1e9 / (tally.done * tally.units_per_event)


def plan(session: Session, workload: str, commands: Sequence[str], **options: object) -> Plan:
    """The plan of one of our workloads, or of a script beside this file."""
    beside = BENCH / f"{workload}.lua"
    path = beside if beside.is_file() else find(workload)
    texts = {name: str(value) for name, value in options.items()}
    return Plan(session, Script(str(path), texts), SEED, tuple(commands), progress_s=0.2)


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
