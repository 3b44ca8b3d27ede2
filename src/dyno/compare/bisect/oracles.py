"""The oracles of a bisection: a comparison's verdict on its time, or a count of instructions."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dyno.builds import Say
from dyno.compare.bisect.points import BisectPoint
from dyno.compare.bisect.search import BisectAnswer
from dyno.errors import TrialFailed, UsageError
from dyno.instruments.instructions.candidate import CountPlan
from dyno.instruments.instructions.run import count_run
from dyno.judge.analysis.counts import judge_change
from dyno.judge.analysis.effect_words import describe_word
from dyno.record import Comparison, Metric, Verdict
from dyno.runs.experiment import Experiment
from dyno.runs.experiment.candidates import make_names_unique, parse_candidate
from dyno.runs.resolve.experiment import draft_run

#: No step below this is looked for, and no margin is wider.
MARGINS_PERCENT = (0.1, 25.0)
#: No count is known to less: its log has this standard error at the least.
COUNT_ERROR_LEAST = 1e-5


@dataclass
class TimeOracle:
    """Plays comparisons; the metric is that of the first answer, the one that differs the most.

    `play` plays an experiment and judges it: the run folder's name, and the verdict. `phase`
    chooses among the metrics that a verdict rests on; empty for all.
    """

    experiment: Experiment
    play: Callable[[Experiment], tuple[str, Verdict]]
    phase: str = ""
    metric: Metric | None = None

    def measure(self, base: BisectPoint, point: BisectPoint, margin: float | None) -> BisectAnswer:
        """As `Oracle`; `TrialFailed` where the comparison is invalid or measured nothing."""
        name, verdict = self.play(make_experiment(self.experiment, (base, point), margin))
        if not verdict.comparisons and verdict.overall == "inconclusive":  # no block counted
            raise TrialFailed(f"the comparison says nothing: {verdict.sentence}")
        row = self._choose_row(verdict.comparisons)
        if row.verdict == "invalid" or not row.freedom:
            raise TrialFailed(f"the comparison says nothing: {verdict.sentence}")
        self.metric = row.metric
        error = math.log1p(row.error_percent / 100)
        ratio = math.log1p(row.slowdown_percent / 100)
        return BisectAnswer(ratio, error, row.freedom, row.verdict, name)

    def _choose_row(self, rows: Sequence[Comparison]) -> Comparison:
        own = [row for row in rows if row.primary and self.phase in ("", row.metric.phase)]
        if not own:
            phases = sorted({row.metric.phase for row in rows if row.primary})
            raise UsageError(f"no verdict rests on a phase '{self.phase}'", hint=", ".join(phases))
        same = [row for row in own if row.metric == self.metric]
        return same[0] if same else max(own, key=_compute_weight)


def _compute_weight(row: Comparison) -> float:
    """The change in standard errors."""
    return abs(row.slowdown_percent) / max(row.error_percent, 1e-9)


@dataclass(frozen=True)
class CountOracle:
    """Counts instructions; `plan` says of how many events, of which phase."""

    experiment: Experiment
    plan: CountPlan
    runs: Path
    say: Say

    def measure(self, base: BisectPoint, point: BisectPoint, margin: float | None) -> BisectAnswer:
        """As `Oracle`."""
        made = make_experiment(self.experiment, (base, point), None)
        width = _clip_margin(margin) if margin else self.plan.margin_percent
        plan = replace(self.plan, margin_percent=width)
        folder, count = count_run(draft_run(made, self.say), plan, self.runs, self.say)
        good, other = count.counts
        change = judge_change(good, other, count.margin_percent)
        ratio, error = math.log1p(change.percent / 100), change.error / 100
        error = max(error, COUNT_ERROR_LEAST)
        word = describe_word(count.metric, change.word)
        return BisectAnswer(ratio, error, change.freedom, word, folder.name)


def make_experiment(
    experiment: Experiment, points: Sequence[BisectPoint], margin: float | None
) -> Experiment:
    """The experiment with these candidates, and with a margin where one is given."""
    measuring = experiment.measuring
    if margin:
        measuring = replace(measuring, margin_percent=_clip_margin(margin))
    sides = make_names_unique([parse_candidate(f"{it.name}={it.candidate}") for it in points])
    name = f"bisect-{'-'.join(it.name for it in points)}"
    command = _write_command(experiment, points)
    return replace(experiment, name=name, candidates=sides, measuring=measuring, command=command)


def _write_command(experiment: Experiment, points: Sequence[BisectPoint]) -> str:
    """How to repeat the comparison by itself."""
    (workload,) = experiment.workloads
    words = ["dyno", "compare", *(f"{it.name}={it.candidate}" for it in points)]
    words += ["-w", workload.name]
    for name, value in workload.options.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)


def _clip_margin(margin: float) -> float:
    least, most = MARGINS_PERCENT
    return max(least, min(margin, most))
