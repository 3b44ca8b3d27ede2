"""What tests of the judge share: blocks of a known mean and spread, and a noisy host."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from fakes import make_readings, make_run, make_trials
from msgspec import structs

from dyno.judge.analysis.judge import InterimResult, analyse_now, judge
from dyno.judge.analysis.run_view import RunView
from dyno.record import Comparison, Finding, Run, Trial, Verdict

NOISY = {"steal_ns": 1.0, "busy_ns": 1.0, "idle_ns": 1.0, "own_ns": 1.0}
CROWDED = {"steal_ns": 0.0, "busy_ns": 2.0, "idle_ns": 1.0, "own_ns": 1.0}


class FixedAudit:
    """An audit that finds what it was made with."""

    summary = "a test's own"

    def __init__(self, finding: Finding) -> None:
        self.finding = finding

    def judge(self, view: RunView) -> list[Finding]:
        return [self.finding]


def judge_unaudited(run: Run, trials: Sequence[Trial]) -> Verdict:
    """The verdict with no audit asked: made-up trials need not be sound in every way."""
    return judge(run, trials, audits={})


def analyse_unaudited(run: Run, trials: Sequence[Trial]) -> InterimResult:
    """What to do after the trials so far, with no audit asked."""
    return analyse_now(run, trials, audits={})


def logs(mean: float, sd: float, blocks: int, seed: int = 1) -> list[float]:
    """Blocks whose mean and spread are exactly these, to leave nothing to chance."""
    rng = random.Random(seed)
    raw = [rng.gauss(0.0, 1.0) for _ in range(blocks)]
    middle = sum(raw) / blocks
    spread = (sum((x - middle) ** 2 for x in raw) / (blocks - 1)) ** 0.5
    return [mean + sd * (x - middle) / spread for x in raw]


def primary(verdict: Verdict, candidate: str = "new") -> Comparison:
    return next(c for c in verdict.comparisons if c.primary and c.candidate == candidate)


def judged(mean: float, sd: float = 0.005, blocks: int = 6, **design: Any) -> Verdict:
    return judge_unaudited(make_run(**design), make_trials({"new": logs(mean, sd, blocks)}))


def noisy(trials: Sequence[Trial], blocks: set[int], host: dict[str, float]) -> list[Trial]:
    """The same trials; in `blocks` one candidate's saw this `host`."""
    return [
        structs.replace(
            trial,
            phases=tuple(
                structs.replace(record, readings=make_readings(host)) for record in trial.phases
            ),
        )
        if trial.block in blocks and trial.candidate == "new"
        else trial
        for trial in trials
    ]
