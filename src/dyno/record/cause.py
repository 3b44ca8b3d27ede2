"""What is known of why a candidate's numbers differ from the base's: plans and server counters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: `between`: no restart of the candidate has a plan that one of the base's has; `during`: it
#: changed while the candidate was measured, and never on the base; `both`: so it did on both;
#: `varies`: some restarts of the candidate have a plan that none of the base's has.
PlanChangeKind = Literal["between", "during", "both", "varies"]


@dataclass(frozen=True)
class PlanChange:
    """A statement that a candidate executes by another plan than the base.

    `base_step` and `step` are the first steps that only one of the two plans has, both shown whole
    in `base_plan` and `plan`; where a plan changed meanwhile, those of its start and of its end.
    `restarts` of the candidate's `of` had the other plan.
    """

    workload: str
    statement: str
    candidate: str
    kind: PlanChangeKind
    base_step: str
    step: str
    base_plan: str
    plan: str
    restarts: int
    of: int


@dataclass(frozen=True)
class CounterDifference:
    """What the server counted for an operation of a phase: candidate − base, with its interval.

    `base_value` and `candidate_value` are means over the blocks judged, `low` and `high` bound the
    `difference`; all are in `unit` an operation. `p_value` counts all analyses and all counters of
    the table (Holm). `differs`: the interval excludes 0, Holm agrees, and it is no trifle.
    """

    workload: str
    phase: str
    candidate: str
    counter: str
    unit: str
    base_value: float
    candidate_value: float
    difference: float
    low: float
    high: float
    p_value: float
    differs: bool


@dataclass(frozen=True)
class Cause:
    """What changed on a candidate, and `sentence` says it: plans first, then counters, the largest
    first. It never alters a verdict.

    The plans of `statements` statements were compared; those of `unexplained` were not, by reason.
    """

    candidate: str
    sentence: str
    plan_changes: tuple[PlanChange, ...] = ()
    counters: tuple[CounterDifference, ...] = ()
    statements: int = 0
    unexplained: dict[str, int] | None = None
