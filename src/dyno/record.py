"""The waist: what a run leaves behind, and all that a judge or a report may know of it.

A run is a folder; a trial is one file in it, written once and never rewritten. Everything else
(`verdict.json`, `report.html`, `trials.csv`) is derived and can be made again with no engine
installed. `SCHEMA` is the version of these files; older ones are still read, newer refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

SCHEMA = 1

Better = Literal["lower", "higher"]


@dataclass(frozen=True, order=True)
class Metric:
    """A number's identity. A number without one cannot be stored.

    `transaction` names the stream, or `stream/type` where a script names transaction types, or
    is empty for what belongs to a whole phase (server cost, database size).
    """

    workload: str
    phase: str
    transaction: str
    name: str
    unit: str
    better: Better


@dataclass(frozen=True)
class Latency:
    """A distribution of durations in ns, from the intended time to the answer."""

    count: int
    mean_ns: float
    max_ns: int
    percentiles_ns: dict[str, int]
    hdr: str


@dataclass(frozen=True)
class Series:
    """Per-second columns of a stream, all of one length."""

    done: tuple[int, ...]
    failed: tuple[int, ...]
    latency_ns_max: tuple[int, ...]


@dataclass(frozen=True)
class Tally:
    """What a stream did in a phase. Always: intended = done + failed + skipped."""

    name: str
    unit: str
    units_per_event: int
    connections: int
    target_per_s: float | None
    intended: int
    done: int
    failed: int
    skipped: int
    warmup: int
    restarted: int
    queries: int
    rows_read: int
    rows_changed: int
    busy: int
    errors: dict[str, int]
    service_ns: int | None
    latency: Latency
    lateness: Latency
    transactions: dict[str, Latency]
    series: Series
    reconnected: int = 0

    def __post_init__(self) -> None:
        if self.intended != self.done + self.failed + self.skipped:
            raise ValueError(
                f"stream {self.name}: {self.intended} intended, but {self.done} done + "
                f"{self.failed} failed + {self.skipped} skipped"
            )


@dataclass(frozen=True)
class Usage:
    """What the driver's process spent in a phase (with the engine in it, where embedded)."""

    user_ns: int
    system_ns: int
    voluntary_switches: int
    involuntary_switches: int
    resident_bytes: int


@dataclass(frozen=True)
class Reading:
    """A probe's number over one phase, with its identity.

    `value` is what the phase added to a counter, or a gauge's value at its end. `per_operation`
    says that the number is a cost to be divided by the phase's operations.
    """

    probe: str
    name: str
    unit: str
    better: Better
    value: float
    per_operation: bool


@dataclass(frozen=True)
class PhaseRecord:
    """What one phase of one trial measured; times are CLOCK_MONOTONIC."""

    phase: str
    started_ns: int
    measured_ns: int
    ended_ns: int
    interrupted: bool
    usage: Usage
    streams: tuple[Tally, ...]
    readings: tuple[Reading, ...] = ()

    @property
    def duration_s(self) -> float:
        """Seconds measured: from the end of the warm-up to the last answer."""
        return (self.ended_ns - self.measured_ns) / 1e9


@dataclass(frozen=True)
class Evidence:
    """What the ledger saw: a statement's number beside the driver's own.

    Of a statement without counters nothing is `expected`: its rows are `found` as their number and
    `digest`, to be held against those of other candidates.
    """

    name: str
    sql: str
    expected: int
    found: str
    digest: str = ""


Status = Literal["ok", "failed", "interrupted"]

#: The candidate name of the trials that play the script on `null`, to know the driver's floor.
FLOOR = "(floor)"


@dataclass(frozen=True)
class Trial:
    """One restart of one candidate under one workload.

    `number` names its file; `attempt` counts the times that its block was begun; `conditions` is
    what each control found and set; `settings` are the engine's, as read back; `failure` is the
    sentence of a failed trial; `options` are the workload's that belong to its cell alone.
    """

    number: int
    workload: str
    block: int
    candidate: str
    attempt: int
    order: int
    started_utc: str
    status: Status
    phases: tuple[PhaseRecord, ...] = ()
    counters: dict[str, int] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, dict[str, str]] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    size_bytes: int = 0
    failure: str = ""
    log: str = ""
    options: dict[str, str] = field(default_factory=dict)
    schema: int = SCHEMA


@dataclass(frozen=True)
class Candidate:
    """One side of a comparison: a name, the spec that the user wrote, and what it resolved to.

    `build` holds the build's facts (version, source, flags, checksum of the program, compiler);
    `settings` the engine settings asked for; `controls` the controls that differ from the run's.
    Of a cell, `levels` are those of the factors; `options` of the workload, where not the base's.
    """

    name: str
    spec: str
    engine: str
    embedded: bool
    build: dict[str, str]
    settings: dict[str, str]
    controls: dict[str, str]
    levels: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Variant:
    """A workload as a cell plays it: the options that are the cell's own, and what they make of
    its phases and of its ledger.
    """

    options: dict[str, str]
    phases: tuple[dict[str, Any], ...]
    ledger: tuple[dict[str, Any], ...]
    size_bytes: int = 0


@dataclass(frozen=True)
class WorkloadPlan:
    """A workload as resolved: its options, and its phases and primaries under them.

    `phases` are `plan.Phase` as plain data; `script` is the Lua file and `script_sha256` its
    checksum, which a resume compares; `commands` are those of the script that a trial plays;
    `sweep` is the option, with its value, that tells it from its like in a sweep; `size_bytes` is
    the data set's size as the script guesses it, 0 where it does not. `variants` are there where a
    factor is an option of the workload.
    """

    name: str
    script: str
    script_sha256: str
    options: dict[str, str]
    phases: tuple[dict[str, Any], ...]
    ledger: tuple[dict[str, Any], ...]
    commands: tuple[str, ...] = ("prepare", "run")
    sweep: dict[str, str] = field(default_factory=dict)
    size_bytes: int = 0
    variants: tuple[Variant, ...] = ()

    def under(self, options: dict[str, str]) -> WorkloadPlan:
        """The workload with a cell's own options, as it is played; itself without any."""
        if not options:
            return self
        own = next(each for each in self.variants if each.options == options)
        plain = replace(self, options=self.options | options, variants=())
        return replace(plain, phases=own.phases, ledger=own.ledger, size_bytes=own.size_bytes)


Kind = Literal["candidate", "build flag", "engine setting", "control", "workload option"]
Crossing = Literal["factorial", "one at a time"]


@dataclass(frozen=True)
class Factor:
    """Something varied on purpose; its first level is the base's. Of the factor `candidate` the
    levels are the candidates' names.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Design:
    """How an experiment is played and judged, all of it fixed before the first trial.

    `looks` are the numbers of valid blocks at which the data are looked at (the last is MAX);
    `margin_percent` and `alpha` are METHOD.md's δ and α; `quick` marks a shortened run; `limits`
    are the noise limits, name to largest value (`steal_percent`, `foreign_percent`).
    `loads` is how many loads of the data each candidate has (0: every trial loads anew; None: the
    first trial of a workload decides by how long that takes). `crossing` says how the factors,
    if there are any, make cells.
    `extended_from` is the former MAX where that was raised after a look, which makes the result
    exploratory (METHOD 4); else 0. `aa` declares that the candidates are meant to be the same.
    """

    base: str
    looks: tuple[int, ...]
    margin_percent: float
    alpha: float
    quick: bool
    limits: dict[str, float]
    controls: dict[str, str]
    extended_from: int = 0
    loads: int | None = None
    crossing: Crossing | None = None
    aa: bool = False


Mark = Literal["good", "fair", "poor", "unknown"]


@dataclass(frozen=True)
class Observation:
    """What a survey saw of one thing of the host, and what that means for a measurement.

    `why` is one clause, `hint` what to do where the mark is not good (a command, or the control
    that holds it), `points` what the mark costs the host's score of 100.
    """

    name: str
    found: str
    mark: Mark
    why: str
    hint: str = ""
    points: int = 0


def host_score(survey: Sequence[Observation]) -> int:
    """A hundred, less what each observation costs; never below 0."""
    return max(0, 100 - sum(observation.points for observation in survey))


@dataclass(frozen=True)
class Score:
    """What the method made of comparisons with a known truth, of one kind on one engine.

    `kind` is `synthetic` (made-up blocks), `A/A` (a build with itself), `plant` (a slowdown put
    in), `p99 plant` (one operation in fifty slowed down) or `noise` (A/A beside a load that comes
    and goes); `what` says it in words. `words` counts the verdicts. `low_percent` and
    `high_percent` are the 95 % Clopper-Pearson interval of the share called *slower*: of false
    alarms where `effect_percent` is 0, of slowdowns found where it is not. `dose_percent` is the
    mean slowdown that was really planted, as measured apart from the verdict (None: nothing was).
    `covered` of the intervals held the truth, `coverable` of them could be asked. `settings` are
    those that the comparisons were played with.
    """

    kind: str
    engine: str
    what: str
    effect_percent: float
    comparisons: int
    words: dict[str, int]
    low_percent: float
    high_percent: float
    covered: int = 0
    coverable: int = 0
    dose_percent: float | None = None
    dropped_blocks: int = 0
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def slower(self) -> int:
        """How many comparisons were called *slower*."""
        return self.words.get("slower", 0)

    @property
    def slower_percent(self) -> float:
        """Their share."""
        return 100.0 * self.slower / self.comparisons


@dataclass(frozen=True)
class Calibration:
    """What calibration had found on this host when a run began (`dyno calibrate`).

    `first_utc` and `last_utc` bound the comparisons; `method` is the version of the rule that was
    calibrated (`calibration.METHOD`). `stale` says, a clause each, what was no longer as it was
    then: empty where the figures speak for the run.
    """

    host: dict[str, str]
    dyno: str
    method: int
    first_utc: str
    last_utc: str
    scores: tuple[Score, ...]
    stale: tuple[str, ...] = ()


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


VerdictName = Literal["slower", "not slower", "faster", "inconclusive", "invalid"]


@dataclass(frozen=True)
class Comparison:
    """One candidate against the base in one metric: a row of the table and of `--json`.

    Percentages are slowdowns turned into the metric's own change: `change_percent` is how the
    candidate's number differs from the base's, `slowdown_percent` = time ratio − 1 (positive is
    worse, whatever the metric's direction). `low_percent` and `high_percent` bound the slowdown.
    `base_value` and `candidate_value` are geometric means over the blocks judged. `p_value` counts
    all looks and all comparisons (Holm over the primaries, Benjamini-Hochberg over the others).
    From 8 blocks on `sign_flip_p` and `hodges_lehmann_percent` stand beside as a second opinion.

    Where factors are crossed, it is an effect, and `levels` maps its factors to their levels: with
    one a main effect, that level against the factor's first; with several an interaction, the
    cells at these levels against what the effects of fewer factors would have made of them.
    """

    metric: Metric
    primary: bool
    base: str
    candidate: str
    base_value: float
    candidate_value: float
    change_percent: float
    slowdown_percent: float
    low_percent: float
    high_percent: float
    margin_percent: float
    blocks: int
    dropped: int
    sd_percent: float
    mde80_percent: float
    p_value: float
    verdict: VerdictName
    notes: tuple[str, ...] = ()
    sign_flip_p: float | None = None
    hodges_lehmann_percent: float | None = None
    levels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Spread:
    """How far the restarts of a candidate lie apart in one primary metric.

    `value` is their geometric mean; `range_percent` largest ÷ smallest − 1; `cov_percent` standard
    deviation ÷ mean, with its 95 % interval for normal errors (`low_percent`, `high_percent`).
    """

    candidate: str
    metric: Metric
    restarts: int
    value: float
    range_percent: float
    cov_percent: float
    low_percent: float
    high_percent: float


Soundness = Literal["sound", "doubtful", "invalid"]


@dataclass(frozen=True)
class Finding:
    """An audit's judgement: how sound, one sentence why, and the trials meant.

    Where `phase` is given, an invalid one condemns only what was measured in that phase.
    """

    audit: str
    soundness: Soundness
    sentence: str
    trials: tuple[int, ...] = ()
    phase: str = ""


@dataclass(frozen=True)
class Verdict:
    """`verdict.json`: everything derived from a run's trials.

    `overall` is the worst of invalid > slower > inconclusive > not slower over the primaries;
    `sentence` says it in words; `dropped` names the noise-broken blocks with the reason; `spread`
    is that of every candidate in every primary metric, over the blocks judged.
    """

    overall: VerdictName
    sentence: str
    complete: bool
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]
    dropped: dict[str, str]
    looks: tuple[dict[str, float], ...] = ()
    spread: tuple[Spread, ...] = ()
    schema: int = SCHEMA
