"""A book made of numbers, the same on every machine: what the golden tests render."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fakes import make_run, make_workload
from msgspec import structs

from dyno.record import Calibration, Candidate, Observation, Run, Score, Trial, Verdict
from dyno.report import Book
from report.book_trials import EFFECTS, PHASES, made_trials
from report.book_verdict import make_verdict

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
            "delay",
            "null",
            "5 % injected",
            5.0,
            20,
            {"slower": 19},
            75.1,
            99.9,
            injected_percent=4.92,
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
    run, trials, verdict = _judge(tuple(names), blocks, phases, tuple(design.items()))
    return Book(folder, run, list(trials), verdict)


@cache
def _judge(
    names: tuple[str, ...], blocks: int, phases: int, design: tuple[tuple[str, Any], ...]
) -> tuple[Run, list[Trial], Verdict]:
    """What a book holds, once for all tests: none changes it."""
    chosen = dict(list(PHASES.items())[:phases])
    run = _run(names, list(chosen), dict(design))
    trials = made_trials(names, blocks, chosen)
    return run, trials, make_verdict(run, trials)


def _run(names: Sequence[str], phases: Sequence[str], design: dict[str, Any]) -> Run:
    plain = [{"name": name, "streams": [], "stop": {"kind": "count"}} for name in phases]
    options = {"rows": "100000", "secondary_at_end": "on"}
    workload = structs.replace(make_workload("insert", plain), options=options)
    held = {
        "aslr": "on",
        "governor": "performance",
        "pinning": "apart",
        "thp": "keep",
        "turbo": "keep",
    }
    run = make_run(names, [workload], **({"controls": held} | design))
    published = {"phase": "l.i0", "change": "rate fell by 5 %", "source": "an article of 2024"}
    return structs.replace(
        run,
        name="sqlite-3.24-to-3.54",
        question="Did six years of releases make inserts slower?",
        command="dyno run sqlite-3.24-to-3.54",
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
