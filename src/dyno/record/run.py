"""A run: the design, and the host and the versions it was played with."""

from __future__ import annotations

from dataclasses import dataclass

from dyno.record.calibration import Calibration
from dyno.record.design import Candidate, Design, Factor, WorkloadPlan
from dyno.record.host import Observation
from dyno.record.schema import SCHEMA


@dataclass(frozen=True)
class Run:
    """`run.json`: the experiment as resolved, the host and the versions it was played with.

    `survey` is what was not good about the host when the run began, the worst first; None in the
    records of a Dyno that did not look. `calibration` is what was known of the method's errors on
    it; None: never calibrated. Where `factors` are crossed, the candidates are the cells.
    """

    name: str
    created_utc: str
    question: str
    command: str
    seed: int
    candidates: tuple[Candidate, ...]
    workloads: tuple[WorkloadPlan, ...]
    design: Design
    host: dict[str, str]
    published: tuple[dict[str, str], ...] = ()
    dyno: str = ""
    driver_sha256: str = ""
    factors: tuple[Factor, ...] = ()
    survey: tuple[Observation, ...] | None = None
    calibration: Calibration | None = None
    schema: int = SCHEMA
