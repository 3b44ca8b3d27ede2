"""The pilot trials of a calibration: how long an operation takes, and whether a delay reaches
the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dyno.builds import Say
from dyno.compare.pilot.prepare import prepare
from dyno.errors import TrialFailed
from dyno.instruments.time.run import play_once
from dyno.judge.analysis.cpu_time import READING
from dyno.judge.analysis.measures import count_operations
from dyno.record import Failure, PhaseRecord, Trial
from dyno.runs.experiment import Experiment, Measuring, Workload, compare_candidates
from dyno.runs.resolve.draft import Prepared
from dyno.runs.resolve.experiment import draft_run, outline_experiment


@dataclass(frozen=True)
class Shape:
    """A workload, its options, the blocks at the last analysis, noise limits, a margin not ours,
    and what the verdict rests on (`Design.by`).

    The default is small, few blocks of short trials, so that a comparison is soon over. The rule
    is the one of full runs. The length is about the best by cost and variance
    (`stats.within_restarts`; docs/evidence/calibration.md). `pinning` and `sequential` are left
    open until the engine is known (`settle_shape`).
    """

    workload: str = "oltp_point_select"
    options: dict[str, str] = field(default_factory=lambda: {"time": "0.6", "warmup_time": "0.1"})
    blocks: int = 12
    limits: dict[str, float] = field(default_factory=dict)
    sequential: bool | None = None
    pinning: str = ""
    margin_percent: float | None = None
    by: str = "time"

    @property
    def settings(self) -> dict[str, str]:
        """As a score quotes it."""
        limits = {name: f"{percent:g}" for name, percent in self.limits.items()}
        size = {"workload": self.workload, "blocks": str(self.blocks)}
        design = {} if self.sequential is None else {"design": self.design}
        pinning = {"pinning": self.pinning} if self.pinning else {}
        margin = {"margin": f"{self.margin_percent:g} %"} if self.margin_percent else {}
        by = {"by": self.by} if self.by == "cpu" else {}
        return {**size, **self.options, **limits, **design, **pinning, **margin, **by}

    @property
    def design(self) -> str:
        """How restarts are played, in words."""
        return "one after the other" if self.sequential else "interleaved"

    def build_experiment(
        self, specs: Sequence[str], metric: str, *, aa: bool = False
    ) -> Experiment:
        """The experiment that compares `specs` in one primary metric."""
        measuring = Measuring(
            blocks=self.blocks,
            margin_percent=self.margin_percent,
            limits=self.limits,
            controls={"pinning": self.pinning} if self.pinning else {},
            aa=aa,
            sequential=self.sequential,
            by=self.by,
        )
        made = compare_candidates(specs, self.workload, self.options, measuring)
        judged = Workload(self.workload, made.workloads[0].options, ({"metric": metric},))
        return Experiment("calibrate", made.candidates, (judged,), measuring)


SIDES = ("base", "candidate")
#: Trials flown, of which the middle one is believed: one that meets a slow moment of the host makes
#: all sizes wrong.
TRIALS = 3


@dataclass(frozen=True)
class CalibrationPilot:
    """What a trial showed: times of an operation, the engine's answers for each, its version, and
    how many rows were changed.

    `cores` are those of the engine, empty where it has none of its own. `program` is its file.
    """

    per_op_ns: float
    p50_ns: float
    p99_ns: float
    answers_per_op: float
    version: str
    cores: tuple[int, ...]
    program: str = ""
    embedded: bool = True
    rows_changed: int = 0


def settle_shape(text: str, shape: Shape, say: Say) -> Shape:
    """The shape as every comparison of the engine is played, found out once and as any comparison
    finds it: interleaved where that is sound and there is memory, driver and server where `auto`
    puts them.

    A server plays with the connections that the shape names, one by default, and not at saturation:
    what is injected is sized for one that waits.
    """
    specs = [f"{side}={text}" for side in SIDES]
    experiment = shape.build_experiment(specs, "rate_per_s", aa=True)
    run = prepare(draft_run(experiment, say), say, known={}).run
    pinning = run.design.controls["pinning"]
    settled = replace(shape, sequential=run.design.interleaving is None, pinning=pinning)
    say(f"{text}: restarts are played {settled.design}, pinning {pinning}")
    return settled


def measure_baseline(text: str, shape: Shape, say: Say) -> CalibrationPilot:
    """Plays trials of the engine with a delay of nothing; `TrialFailed` where one fails."""
    prepared = prepare(draft_run(_build_pilot_experiment(text, shape), say), say, known={})
    side = prepared.run.candidates[0]
    found = [
        summarize_pilot(_play_trial(prepared), side.build["version"], shape.by)
        for _ in range(TRIALS)
    ]
    middle = sorted(found, key=lambda pilot: pilot.per_op_ns)[TRIALS // 2]
    return replace(middle, program=side.build.get("program", ""), embedded=side.embedded)


def check_pilot(text: str, shape: Shape) -> None:
    """`UsageError` for a word that no pilot could fly with; nothing is fetched or played."""
    outline_experiment(_build_pilot_experiment(text, shape))


def _build_pilot_experiment(text: str, shape: Shape) -> Experiment:
    return shape.build_experiment([with_injected_delay(text, 0)], "rate_per_s")


def _play_trial(prepared: Prepared) -> Trial:
    trial = play_once(prepared, lambda _: None)
    if trial.status == "interrupted":
        raise KeyboardInterrupt
    if trial.status != "ok":
        why = trial.failure or Failure("the trial failed")
        raise TrialFailed(why.message, cause=why.cause, hint=why.hint)
    return trial


def with_injected_delay(text: str, spin_ns: int) -> str:
    """The spec of an engine that spins so long before each answer."""
    return add_keys(text, {"inject": f"{spin_ns}ns"})


def add_keys(text: str, keys: Mapping[str, str]) -> str:
    """The spec with these keys as well."""
    more = "&".join(f"{name}={value}" for name, value in keys.items())
    return f"{text}{'&' if '?' in text else '?'}{more}"


def summarize_pilot(trial: Trial, version: str, by: str = "time") -> CalibrationPilot:
    """What a trial of one closed-loop stream tells of its last phase; `by` CPU time an operation's
    has the driver's own part in it, where the engine lives in its process.
    """
    record = trial.phases[-1]
    tally = record.streams[0]
    return CalibrationPilot(
        per_op_ns=compute_cpu_ns(record) if by == "cpu" else compute_operation_ns(record),
        p50_ns=float(tally.latency.percentiles_ns["50"]),
        p99_ns=float(tally.latency.percentiles_ns["99"]),
        answers_per_op=sum_reading(record, "injected_answers") / max(1, count_operations(record)),
        version=version,
        cores=trial.conditions.engine_cores,
        rows_changed=tally.rows_changed,
    )


def compute_operation_ns(record: PhaseRecord) -> float:
    """How long an operation took a connection of a closed loop, from the answer before to its own.

    Interleaved it is less than time ÷ operations, as a rate has it: a slice counts events that are
    due after its ramp-in, and the one before may outlast the ramp-in (its user is woken late, its
    caches are cold; docs/evidence/injected-delays.md). What is injected is a part of it.
    """
    tally = record.streams[0]
    return tally.latency.mean_ns / tally.units_per_event


def compute_cpu_ns(record: PhaseRecord) -> float:
    """The CPU time that an operation took the engine's processes."""
    return 1e3 * sum_reading(record, READING) / max(1, count_operations(record))


def sum_reading(record: PhaseRecord, name: str) -> float:
    """A probe's number of that name; 0 where there is none."""
    return sum(each.value for each in record.readings if each.name == name)
