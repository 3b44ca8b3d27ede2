"""Why a candidate's numbers differ from the base's: plans, server counters, CPU time by layer."""

from __future__ import annotations

from typing import Literal

from dyno.record.schema import Int64, Record
from dyno.record.waits import WaitKind

#: `between`: no restart of the candidate has a plan that one of the base's has; `during`: it
#: changed while the candidate was measured, and never on the base; `both`: so it did on both;
#: `varies`: some restarts of the candidate have a plan that none of the base's has.
PlanChangeKind = Literal["between", "during", "both", "varies"]


#: Behind a statement in the names of its plans: it is that of another execution, with other values.
OF_VALUES = "(values {})"


class PlanChange(Record):
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
    restarts: Int64
    of: Int64


class CounterDifference(Record):
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


#: `costlier` and `cheaper`: surely; slightly so: surely, and surely by less than the margin;
#: `not costlier`: by less than the margin, if at all.
LayerWord = Literal[
    "costlier", "slightly costlier", "not costlier", "slightly cheaper", "cheaper", "undecided"
]


class FunctionDifference(Record):
    """CPU time of an operation in a function's own code, in ns: candidate − base, its interval.

    `differs`: the interval excludes 0, and Benjamini and Hochberg agree over all of some size.
    """

    name: str
    layer: str
    base_ns: float
    candidate_ns: float
    difference_ns: float
    low_ns: float
    high_ns: float
    differs: bool


class LayerDifference(Record):
    """CPU time of an operation in a layer, in ns: candidate − base, with its interval.

    The interval is that of the difference as a share of the base's whole, block by block, times the
    base's mean; `candidate_ns` = `base_ns` + `difference_ns`. `p_value` counts all analyses, all
    layers (Holm) and the whole, which is tested first. `functions` are those that changed most.
    """

    layer: str
    base_ns: float
    candidate_ns: float
    difference_ns: float
    low_ns: float
    high_ns: float
    p_value: float
    word: LayerWord
    functions: tuple[FunctionDifference, ...] = ()


class ExplainedShare(Record):
    """How much of the difference in time the one in CPU time is, with Fieller's interval."""

    percent: float
    low_percent: float
    high_percent: float


class CpuDifference(Record):
    """CPU time of an operation of a phase, by layer, over so many sampled `blocks`.

    `total` is all of it, `layers` its parts, the largest difference first, of which `tested` hold
    enough to be tested. `margin_percent` is of the base's whole: `total` is held against the run's
    margin, the layers against this one. `unattributed_percent` has no layer, of the side with more.
    `explained` stands where time is slower or faster. Where `is_across_engines` their own layers
    are one. `time_difference_ns` is what an operation takes longer, times the users that run at
    once; None where some rest.
    """

    workload: str
    phase: str
    candidate: str
    blocks: Int64
    margin_percent: float
    total: LayerDifference
    layers: tuple[LayerDifference, ...]
    tested: Int64
    unattributed_percent: float
    explained: ExplainedShare | None = None
    is_across_engines: bool = False
    time_difference_ns: float | None = None


#: What a clause of the sentence tells of; the report links it to that table.
CauseTable = Literal["plans", "counters", "waits", "layers", "instructions", ""]


class CauseClause(Record):
    """A part of the sentence, and the table that it rests on (empty: none)."""

    text: str
    table: CauseTable


class InstructionChange(Record):
    """Instructions per `unit` of a phase, counted under callgrind for one user (`dyno count`): the
    candidate's against the base's, with its interval.

    `explained_percent` is the share of the time's change that as many more (or fewer) instructions
    make up at the base's pace, at most, with its ends; None where time and instructions do not
    change the same way, or the time is not known (`is_timed`). `layers` are the changes in
    instructions by part of the engine, the largest first.
    """

    workload: str
    phase: str
    unit: str
    base_value: float
    candidate_value: float
    change_percent: float
    low_percent: float
    high_percent: float
    explained_percent: float | None = None
    explained_low_percent: float | None = None
    explained_high_percent: float | None = None
    layers: dict[str, float] = {}
    is_timed: bool = True


class WaitDifference(Record):
    """What sessions spent waiting, or running, for an operation of a phase: candidate − base in µs,
    with its interval.

    `base_us` and `candidate_us` are means over the blocks judged, `base_share` and
    `candidate_share` their parts of the database's time, the sum of all kinds (0 to 1; None where
    nothing was sampled). `base_events` and `events` say what of it was for what. `is_counted`: the
    engine measured it itself; else sessions were sampled. `p_value` counts all analyses and all
    rows of the table (Holm). `differs`: the interval excludes 0, Holm agrees, and it is no trifle.
    """

    workload: str
    phase: str
    candidate: str
    kind: WaitKind
    base_us: float
    candidate_us: float
    difference_us: float
    low_us: float
    high_us: float
    p_value: float
    differs: bool
    is_counted: bool = False
    base_share: float | None = None
    candidate_share: float | None = None
    base_events: dict[str, float] | None = None
    events: dict[str, float] | None = None


class Cause(Record):
    """What changed on a candidate, and `sentence` says it: changed plans first, then waits for
    others, CPU time by layer, counters, other waits, the largest first. It never alters a verdict.

    `clauses` are the sentence's parts. The plans of `statements` statements were compared; those of
    `unexplained` were not, by reason. `cpu` has an entry for each phase that was sampled.
    `uncounted` are counters that only one side knows.
    """

    candidate: str
    sentence: str
    plan_changes: tuple[PlanChange, ...] = ()
    counters: tuple[CounterDifference, ...] = ()
    statements: Int64 = 0
    unexplained: dict[str, Int64] | None = None
    cpu: tuple[CpuDifference, ...] = ()
    clauses: tuple[CauseClause, ...] = ()
    instructions: tuple[InstructionChange, ...] = ()
    waits: tuple[WaitDifference, ...] = ()
    uncounted: tuple[str, ...] = ()
