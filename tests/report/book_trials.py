"""The trials of the golden book: rates with set effects, a drift, one torn block."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from fakes import make_latency, make_readings, make_record, make_tally, make_trial
from msgspec import structs

from dyno.record import (
    Conditions,
    ControlCondition,
    Evidence,
    Failure,
    PinningCondition,
    Reading,
    Series,
    Tally,
    Trial,
)
from report.book_verdict import DROPPED_BLOCK

#: Stream → its units per second on the base, by phase.
PHASES = {
    "l.i0": {"insert": 41_200.0},
    "l.i1": {"insert": 12_400.0},
    "qr100": {"query": 8_310.0, "insert": 100.0},
    "qp1000": {"query": 9_120.0, "insert": 1_000.0},
}


#: Log time ratio of each candidate, by phase.
EFFECTS = {
    "3.54.1": {"l.i0": 0.065, "l.i1": 0.004, "qr100": -0.04, "qp1000": 0.0},
    "3.54.1 -O3": {"l.i0": 0.02, "l.i1": -0.01, "qr100": -0.08, "qp1000": 0.3},
}


SECONDS = 20
CONTROLS = {
    "governor": ControlCondition("performance", before="unknown", refused="no cpufreq"),
    "pinning": ControlCondition("apart", before="0,1", set="apart"),
    "thp": ControlCondition("keep", before="madvise"),
    "turbo": ControlCondition("keep", before="none"),
}

#: What the host did in `DROPPED_BLOCK`: 14.2 % of all CPU time was somebody else's.
CROWDED = {"steal_ns": 0.0, "busy_ns": 142.0, "idle_ns": 858.0, "own_ns": 0.0}


def made_trials(
    names: Sequence[str], blocks: int, phases: dict[str, dict[str, float]]
) -> list[Trial]:
    """Every candidate in every block; in block 5 a trial failed and the block was begun anew."""
    rng = random.Random(7)
    trials: list[Trial] = []
    for block in range(blocks):
        order = rng.sample(list(names), len(names))
        drift = rng.gauss(0, 0.03)
        if block == 5:
            torn = make_trial(len(trials) + 1, order[0], block, 1.0, workload="insert", phases=())
            failure = Failure("the driver was killed")
            trials.append(structs.replace(torn, status="failed", failure=failure))
        for position, name in enumerate(order):
            records = tuple(_record(rng, phase, name, drift, phases) for phase in phases)
            trials.append(_trial(len(trials) + 1, name, (block, position), records))
    return trials


def _trial(number: int, name: str, at: tuple[int, int], records: tuple[Any, ...]) -> Trial:
    block, position = at
    trial = make_trial(number, name, block, 1.0, workload="insert", order=position)
    if block == DROPPED_BLOCK:
        records = tuple(
            structs.replace(record, readings=(*record.readings, *make_readings(CROWDED)))
            for record in records
        )
    aslr = ControlCondition("on", before="on", details={"environment": f"{16 * number} B"})
    return structs.replace(
        trial,
        attempt=2 if block == 5 else 1,
        started_utc=f"2026-01-01T{block:02d}:{10 * position:02d}:00Z",
        phases=records,
        settings={"journal_mode": "wal", "page_size": "4096", "version": name.split()[0]},
        conditions=Conditions(CONTROLS | {"aslr": aslr}, PinningCondition((1,), (1,))),
        evidence=(Evidence("rows", "SELECT COUNT(*) FROM pi1", 100_000, "100000"),),
        size_bytes=12_345_678,
    )


def _record(
    rng: random.Random, phase: str, name: str, drift: float, phases: dict[str, dict[str, float]]
) -> Any:
    effect = EFFECTS.get(name, {}).get(phase, 0.0) + drift + rng.gauss(0, 0.01)
    tallies = [_tally(rng, s, rate, effect) for s, rate in phases[phase].items()]
    operations = sum(tally.done for tally in tallies)
    costs = {
        "server_cpu_us": ("µs", 21.0 * math.exp(effect)),
        "context_switches": ("switches", 0.4),
        "write_calls": ("calls", 1.7),
        "written_bytes": ("B", 612.0),
    }
    readings = tuple(
        Reading("process", n, unit, "lower", value * operations, True)
        for n, (unit, value) in costs.items()
    )
    size = Reading("process", "database_bytes", "B", "lower", 12_345_678.0, False)
    return make_record(tallies, phase, SECONDS, (*readings, size))


def _tally(rng: random.Random, stream: str, rate: float, effect: float) -> Tally:
    """A paced `insert` stream beside readers (100 or 1,000 a second), else a closed loop."""
    paced = rate <= 1_000
    kept = (0.91 if effect > 0.2 else 1.0) if paced else math.exp(-effect)
    unit = "row" if stream == "insert" else "query"
    done = [round(rate * kept * (1 if paced else rng.gauss(1, 0.02))) for _ in range(SECONDS)]
    if not paced:
        done[SECONDS // 2] = round(done[SECONDS // 2] * 0.7)
    total = sum(done)
    return make_tally(
        total / SECONDS,
        SECONDS,
        name=stream,
        unit=unit,
        intended=total,
        done=total,
        target_per_s=rate if paced else None,
        latency=make_latency(1e9 / rate * math.exp(effect), total),
        series=Series(tuple(done), (0,) * SECONDS, (1,) * SECONDS),
    )
