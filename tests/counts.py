"""Counts of instructions as a test wants them: two sides, two functions."""

from __future__ import annotations

from typing import Any

from nightly_runs import make_build

from dyno.record import Candidate
from dyno.record.count import CandidateCount, Count, CountedFunction


def make_candidate_count(name: str, repeats: tuple[float, ...], **more: Any) -> CandidateCount:
    """A candidate whose function `parse` takes 100 instructions, and `find` the rest."""
    functions = (
        CountedFunction("parse", "lib.so", "parser", 100.0),
        CountedFunction("find", "lib.so", "b-tree", repeats[0] - 100.0),
    )
    return CandidateCount(name, repeats, (0.0,) * len(repeats), functions, **more)


def make_count(
    sides: dict[str, tuple[float, ...]],
    candidates: tuple[Candidate, ...] = (),
    inputs: int = 1,
    **more: Any,
) -> Count:
    """A count of the workload `select`, phase `run`; the first of `sides` is the base."""
    fields: dict[str, Any] = {
        "name": " vs ".join(sides),
        "created_utc": "2026-01-01T00:00:00Z",
        "command": "dyno count",
        "seed": 1,
        "workload": "select",
        "phase": "run",
        "unit": "event",
        "options": {},
        "short_operations": 1000,
        "long_operations": 11_000,
        "margin_percent": 0.5,
        "candidates": candidates or tuple(map(make_build, sides)),
        "counts": tuple(
            make_candidate_count(name, repeats, inputs=inputs) for name, repeats in sides.items()
        ),
        "valgrind": "valgrind-3.19.0",
    }
    return Count(**(fields | more))
