"""A book made of numbers, the same on every machine: what the golden tests render."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fakes import make_latency, make_record, make_run, make_tally, make_trial, make_workload

from dyno.measures import measures
from dyno.record import (
    Calibration,
    Candidate,
    Comparison,
    Evidence,
    Finding,
    Metric,
    Observation,
    Reading,
    Run,
    Score,
    Series,
    Spread,
    Tally,
    Trial,
    Verdict,
    VerdictName,
)
from dyno.report import Book
from dyno.stats.spread import cov_interval, cov_percent, range_percent

#: Stream → its units per second on the base, by phase.
PHASES = {
    "l.i0": {"insert": 41_200.0},
    "l.i1": {"insert": 12_400.0},
    "qr100": {"query": 8_310.0, "insert": 100.0},
    "qp1000": {"query": 9_120.0, "insert": 1_000.0},
}
PRIMARY = {("l.i0", "insert"), ("l.i1", "insert"), ("qr100", "query")}
#: Log time ratio of each candidate, by phase.
EFFECTS = {
    "3.54.1": {"l.i0": 0.065, "l.i1": 0.004, "qr100": -0.04, "qp1000": 0.0},
    "3.54.1 -O3": {"l.i0": 0.02, "l.i1": -0.01, "qr100": -0.08, "qp1000": 0.3},
}
SECONDS = 20
DROPPED_BLOCK = 3
CONDITIONS = {
    "governor": {"before": "unknown", "state": "not controllable here: no cpufreq"},
    "pinning": {"before": "0,1", "set": "apart", "value": "apart", "driver": "1", "engine": "1"},
    "thp": {"before": "madvise", "value": "keep"},
    "turbo": {"before": "none", "value": "keep"},
}
SURVEY = (
    Observation("swap", "1.0 of 8.0 GB in use", "poor", "it costs", "sudo swapoff -a", 18),
    Observation("CPU", "Example 9000, 2 cores", "fair", "cores are few", "give it four", 6),
    Observation("governor", "not visible here", "unknown", "the clock moves"),
)
CALIBRATION = Calibration(
    host={},
    dyno="0.1.0",
    method=1,
    first_utc="2025-12-30T00:00:00Z",
    last_utc="2025-12-31T00:00:00Z",
    scores=(
        Score("A/A", "null", "same build", 0.0, 40, {"slower": 1}, 0.06, 13.2),
        Score(
            "plant", "null", "5 % planted", 5.0, 20, {"slower": 19}, 75.1, 99.9, dose_percent=4.92
        ),
        Score("synthetic", "", "same build, load effect", 0.0, 10_000, {"slower": 310}, 2.8, 3.5),
        Score("synthetic", "", "same build, normal", 0.0, 10_000, {"slower": 200}, 1.7, 2.3),
        Score("A/A", "other", "same build", 0.0, 20, {"not slower": 20}, 0.0, 16.8),
    ),
)


def make_book(
    folder: Path,
    names: Sequence[str] = ("3.24.0", *EFFECTS),
    blocks: int = 7,
    phases: int = 4,
    **design: Any,
) -> Book:
    """A finished run of the workload `insert`, block 3 dropped and one trial torn and failed."""
    chosen = dict(list(PHASES.items())[:phases])
    run = _run(names, list(chosen), design)
    trials = _trials(names, blocks, chosen)
    return Book(folder, run, trials, make_verdict(run, trials))


def make_verdict(run: Run, trials: Sequence[Trial]) -> Verdict:
    """A verdict with every kind of row in it; the intervals are plain ones, not the judge's."""
    base, *others = (c.name for c in run.candidates)
    comparisons = [
        _comparison(run, trials, metric, (base, name))
        for name in others
        for metric in dict.fromkeys(m for t in trials[:3] for m in measures(t))
        if all(b > 0 and c > 0 for b, c in _pairs(trials, metric, (base, name)))
    ]
    findings = (
        Finding("ledger", "sound", "42 of 42 statements agree with the driver's counters"),
        Finding("client_share", "doubtful", "the driver used 31 % of the CPU in qr100", (2, 5)),
    )
    sentence = "3.54.1 is slower than 3.24.0: l.i0 insert rate by 6.7 %"
    dropped = {f"insert block {DROPPED_BLOCK}": "foreign CPU 14.2 % > 10 % in qr100"}
    apart = tuple(_spreads(run, trials, {c.metric for c in comparisons if c.primary}))
    return Verdict("slower", sentence, True, tuple(comparisons), findings, dropped, spread=apart)


def _spreads(run: Run, trials: Sequence[Trial], primaries: set[Metric]) -> Iterator[Spread]:
    for side in run.candidates:
        own = [measures(t) for t in trials if t.candidate == side.name and t.status == "ok"]
        for metric in sorted(primaries):
            values = np.array([each[metric] for each in own if metric in each])
            mean, cov, (low, high) = float(values.mean()), cov_percent(values), cov_interval(values)
            between = range_percent(values)
            yield Spread(side.name, metric, values.size, mean, between, cov, low, high)


def _run(names: Sequence[str], phases: Sequence[str], design: dict[str, Any]) -> Run:
    plain = [{"name": name, "streams": []} for name in phases]
    options = {"rows": "100000", "secondary_at_end": "on"}
    workload = dataclasses.replace(make_workload("insert", plain), options=options)
    held = {
        "aslr": "on",
        "governor": "performance",
        "pinning": "apart",
        "thp": "keep",
        "turbo": "keep",
    }
    run = make_run(names, [workload], **({"controls": held} | design))
    published = {"phase": "l.i0", "change": "rate fell by 5 %", "source": "an article of 2024"}
    return dataclasses.replace(
        run,
        name="sqlite-3.24-to-3.54",
        question="Did six years of releases make inserts slower?",
        command="dyno run experiments/sqlite-3.24-to-3.54.toml",
        seed=20260101,
        candidates=tuple(_candidate(name, at) for at, name in enumerate(names)),
        host={"cpu": "Example 9000, 2 cores", "kernel": "6.1.0", "memory": "8 GB"},
        published=(published,),
        dyno="0.1.0",
        driver_sha256="ab" * 32,
        survey=SURVEY,
        calibration=CALIBRATION,
    )


def _candidate(name: str, at: int) -> Candidate:
    facts = {"version": name.split()[0], "flags": name.partition(" ")[2], "compiler": "gcc 12.2.0"}
    build = {**facts, "sha256": f"{at:x}" * 64}
    controls = {"aslr": "off"} if at == 2 else {}
    return Candidate(name, f"{name}=null@200us", "null", True, build, {}, controls)


def _trials(names: Sequence[str], blocks: int, phases: dict[str, dict[str, float]]) -> list[Trial]:
    dice = random.Random(7)
    trials: list[Trial] = []
    for block in range(blocks):
        order = dice.sample(list(names), len(names))
        drift = dice.gauss(0, 0.03)
        if block == 5:
            torn = make_trial(len(trials) + 1, order[0], block, 1.0, workload="insert", phases=())
            failure = "the driver was killed"
            trials.append(dataclasses.replace(torn, status="failed", failure=failure))
        for position, name in enumerate(order):
            records = tuple(_record(dice, phase, name, drift, phases) for phase in phases)
            trials.append(_trial(len(trials) + 1, name, (block, position), records))
    return trials


def _trial(number: int, name: str, at: tuple[int, int], records: tuple[Any, ...]) -> Trial:
    block, position = at
    trial = make_trial(number, name, block, 1.0, workload="insert", order=position)
    return dataclasses.replace(
        trial,
        attempt=2 if block == 5 else 1,
        started_utc=f"2026-01-01T{block:02d}:{10 * position:02d}:00Z",
        phases=records,
        settings={"journal_mode": "wal", "page_size": "4096", "version": name.split()[0]},
        conditions=CONDITIONS | {"aslr": {"before": "on", "environment": f"{16 * number} B"}},
        evidence=(Evidence("rows", "SELECT COUNT(*) FROM pi1", 100_000, "100000"),),
        size_bytes=12_345_678,
    )


def _record(
    dice: random.Random, phase: str, name: str, drift: float, phases: dict[str, dict[str, float]]
) -> Any:
    effect = EFFECTS.get(name, {}).get(phase, 0.0) + drift + dice.gauss(0, 0.01)
    tallies = [_tally(dice, s, rate, effect) for s, rate in phases[phase].items()]
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


def _tally(dice: random.Random, stream: str, rate: float, effect: float) -> Tally:
    """A paced `insert` stream beside readers (100 or 1,000 a second), else a closed loop."""
    paced = rate <= 1_000
    kept = (0.91 if effect > 0.2 else 1.0) if paced else math.exp(-effect)
    unit = "row" if stream == "insert" else "query"
    done = [round(rate * kept * (1 if paced else dice.gauss(1, 0.02))) for _ in range(SECONDS)]
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


def _comparison(
    run: Run, trials: Sequence[Trial], metric: Metric, sides: tuple[str, str]
) -> Comparison:
    pairs = _pairs(trials, metric, sides)
    logs = [math.log(b / c) * (1 if metric.better == "higher" else -1) for b, c in pairs]
    middle = sum(logs) / len(logs)
    spread = math.sqrt(sum((x - middle) ** 2 for x in logs) / (len(logs) - 1))
    reach = 2.45 * spread / math.sqrt(len(logs))
    low, mid, high = (100 * math.expm1(x) for x in (middle - reach, middle, middle + reach))
    primary = (metric.phase, metric.transaction) in PRIMARY and metric.name == "rate_per_s"
    old, new = (sum(side) / len(side) for side in zip(*pairs, strict=True))
    return Comparison(
        metric=metric,
        primary=primary,
        base=sides[0],
        candidate=sides[1],
        base_value=old,
        candidate_value=new,
        change_percent=100 * (new / old - 1),
        slowdown_percent=mid,
        low_percent=low,
        high_percent=high,
        margin_percent=run.design.margin_percent,
        blocks=len(logs),
        dropped=1,
        sd_percent=100 * spread,
        mde80_percent=100 * 2.8 * spread / math.sqrt(len(logs)),
        p_value=0.01,
        verdict=_named(low, high, run.design.margin_percent),
        notes=("sign-flip test disagrees: p = 0.08",) if metric.phase == "l.i1" and primary else (),
    )


def _named(low: float, high: float, margin: float) -> VerdictName:
    if low > 0 and high >= margin:
        return "slower"
    if high < 0:
        return "faster"
    return "not slower" if high < margin else "inconclusive"


def _pairs(
    trials: Sequence[Trial], metric: Metric, sides: tuple[str, str]
) -> list[tuple[float, float]]:
    found: dict[tuple[int, str], float] = {
        (t.block, t.candidate): measures(t)[metric]
        for t in trials
        if t.status == "ok" and t.block != DROPPED_BLOCK
    }
    blocks = sorted({block for block, _ in found})
    return [(found[b, sides[0]], found[b, sides[1]]) for b in blocks]
