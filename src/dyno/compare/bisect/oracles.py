"""The oracle of a bisection: what an instrument's verdict says of two points."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dyno.compare.bisect.points import BisectPoint
from dyno.compare.bisect.search import BisectAnswer
from dyno.errors import TrialFailed, UsageError
from dyno.judge.analysis.effect_words import describe_word, measure_losses
from dyno.record import Comparison, Metric, Verdict
from dyno.runs.experiment import Experiment
from dyno.runs.experiment.candidates import make_names_unique, parse_candidate

#: No step below this is looked for, and no margin is wider.
MARGINS_PERCENT = (0.1, 25.0)
#: No change is known to less: the log of one that is exact has this standard error.
ERROR_LEAST = 1e-5


@dataclass
class VerdictOracle:
    """Plays experiments of two points; the metric is that of the first answer, the one that differs
    the most.

    `play` measures an experiment with its instrument and judges it: the run's folder, and the
    verdict. `command` is the instrument's own (`compare`, `count`). `phase` chooses among the
    metrics that a verdict rests on; empty for all.
    """

    experiment: Experiment
    play: Callable[[Experiment], tuple[Path, Verdict]]
    phase: str = ""
    command: str = "compare"
    metric: Metric | None = None

    def measure(self, base: BisectPoint, point: BisectPoint, margin: float | None) -> BisectAnswer:
        """As `Oracle`; `TrialFailed` where the verdict is invalid or nothing was measured."""
        folder, verdict = self.play(self.make_experiment((base, point), margin))
        if not verdict.comparisons and verdict.overall == "inconclusive":  # no block counted
            raise TrialFailed(f"the comparison says nothing: {verdict.sentence}")
        row = self._choose_row(verdict.comparisons)
        if row.verdict == "invalid" or not row.freedom:
            raise TrialFailed(f"the comparison says nothing: {verdict.sentence}")
        self.metric = row.metric
        error = max(math.log1p(row.error_percent / 100), ERROR_LEAST)
        ratio = math.log1p(row.slowdown_percent / 100)
        word = describe_word(row.metric, row.verdict)
        percent = measure_losses(row)[0]
        if percent != row.slowdown_percent:  # a rate that is told as itself
            percent = row.change_percent
        return BisectAnswer(ratio, error, row.freedom, word, folder.name, percent)

    def _choose_row(self, rows: Sequence[Comparison]) -> Comparison:
        own = [row for row in rows if row.primary and self.phase in ("", row.metric.phase)]
        if not own:
            phases = sorted({row.metric.phase for row in rows if row.primary})
            raise UsageError(f"no verdict rests on a phase '{self.phase}'", hint=", ".join(phases))
        same = [row for row in own if row.metric == self.metric]
        return same[0] if same else max(own, key=_compute_weight)

    def make_experiment(self, points: Sequence[BisectPoint], margin: float | None) -> Experiment:
        """The experiment with these candidates, and with a margin where one is given."""
        measuring = self.experiment.measuring
        if margin:
            least, most = MARGINS_PERCENT
            measuring = replace(measuring, margin_percent=max(least, min(margin, most)))
        sides = make_names_unique([parse_candidate(f"{it.name}={it.candidate}") for it in points])
        return replace(
            self.experiment,
            name=f"bisect-{'-'.join(it.name for it in points)}",
            candidates=sides,
            measuring=measuring,
            command=self._write_command(points),
        )

    def _write_command(self, points: Sequence[BisectPoint]) -> str:
        """How to repeat the comparison by itself."""
        (workload,) = self.experiment.workloads
        words = ["dyno", self.command, *(f"{it.name}={it.candidate}" for it in points)]
        words += ["-w", workload.name]
        by = self.experiment.measuring.by
        own = self.experiment.own | ({"by": by} if by != "time" else {})
        for name, value in own.items():
            words += [f"--{name}", str(value)]
        for name, value in workload.options.items():
            words += ["--set", f"{name}={value}"]
        return shlex.join(words)


def _compute_weight(row: Comparison) -> float:
    """The change in standard errors."""
    return abs(row.slowdown_percent) / max(row.error_percent, 1e-9)
