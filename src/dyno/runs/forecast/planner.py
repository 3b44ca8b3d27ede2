"""Plans a run: what a time buys, or what it costs to find a given slowdown. Plays nothing.

All figures count the analyses and Holm over the primaries (`stats.power`). How noisy blocks are and
what a trial costs comes from an earlier run of the same experiment; without one, the forecast's
assumptions are taken, with three spreads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from dyno.errors import UsageError
from dyno.judge.stats.interim_analyses import InterimAnalyses, choose_analyses_up_to
from dyno.judge.stats.log_ratio import to_log, to_percent
from dyno.judge.stats.power import compute_mde80, estimate_blocks, estimate_chances
from dyno.record import Run
from dyno.runs.experiment import BLOCKS
from dyno.runs.forecast.earlier_run import EarlierRun
from dyno.runs.forecast.estimate import (
    SDS_PERCENT,
    PlannedPrimary,
    RunCost,
    assume_primaries,
    count_family,
    estimate_block_s,
    estimate_cost,
    plan_primaries,
)
from dyno.runs.resolve.draft import Prepared


@dataclass(frozen=True)
class DetectionForecast:
    """What one primary (or, where spreads are assumed, each of them) will see.

    Percentages: the sd of a block as it was measured (or is assumed), MDE80, MDE80 with twice the
    blocks, the margin. `found` is the chance that a slowdown of the margin is called so, `cleared`
    that an equal build is. `planned_sd_percent` is what all of these count with: the upper 80 %
    bound of the sd.
    """

    primary: str
    sd_percent: float
    mde80_percent: float
    doubled_percent: float
    margin_percent: float
    found: float
    cleared: float
    planned_sd_percent: float


@dataclass(frozen=True)
class PhaseLength:
    """How long a phase is measured in each trial, how long would be best, what that saves."""

    phase: str
    seconds: float
    best_seconds: float
    time_saved: float


@dataclass(frozen=True)
class RunPlan:
    """A plan: `expected_s` if nothing differs, `full_s` if all of MAX is played, `worst_s` with
    every replay of blocks that noise spoils. `source` names the run that it is measured in; empty:
    assumed. `primaries` are candidates × primaries, which Holm runs over; `pooled` older runs of
    the experiment have told of its spread as well.
    """

    source: str
    analyses: tuple[int, ...]
    block_s: float
    expected_s: float
    full_s: float
    worst_s: float
    primaries: int
    forecasts: tuple[DetectionForecast, ...]
    lengths: tuple[PhaseLength, ...]
    pooled: int = 0


#: Comparisons beyond these change the expected length little.
SIMULATED_MOST = 12


@dataclass(frozen=True)
class Planner:
    """Plans `prepared`, by what `earlier` knows of it."""

    prepared: Prepared
    earlier: EarlierRun | None = None

    @property
    def run(self) -> Run:
        """The run that is planned."""
        return self.prepared.run

    def plan_budget(self, budget_s: float) -> RunPlan:
        """As many blocks as end within `budget_s`, replays not counted; `UsageError` if none do."""
        blocks = self.cost.count_blocks_within(budget_s)
        return self.plan_for(min(blocks, BLOCKS[-1]))

    def plan_detection(self, percent: float) -> RunPlan:
        """The fewest blocks of which every primary finds `percent` four times in five."""
        if percent <= 0:
            message = f"a slowdown of {percent:g} % cannot be detected"
            raise UsageError(message, hint="name one above 0 %")
        # one by one: where an analysis is added a block more sees less, so that bisection may miss
        # it
        enough = (n for n in BLOCKS if self._find_worst(self.choose_analyses(n))[0] <= percent)
        blocks = next(enough, None)
        if blocks is None:
            raise self._build_too_few_error(percent)
        return self.plan_for(blocks)

    def _build_too_few_error(self, percent: float) -> UsageError:
        """What the most blocks would find, and where it is worst; or that this was assumed."""
        most = BLOCKS[-1]
        best, name = self._find_worst(self.choose_analyses(most))
        told = f"{most} blocks find {best:.2g} % in {name}; `dyno show RUN` says what varies there"
        if self.earlier is None:
            told = (
                f"{most} blocks find {best:.2g} % if blocks vary by {SDS_PERCENT[-1]:g} %, as is "
                "assumed at worst; play it once to plan by the measured spread"
            )
        return UsageError(
            f"{most} blocks, the maximum, are too few to find {percent:g} %", hint=told
        )

    def plan_for(self, blocks: int) -> RunPlan:
        """The plan of `blocks` at the last analysis."""
        analyses = self.choose_analyses(blocks)
        run = replace(self.run, design=replace(self.run.design, analyses=analyses.blocks))
        return RunPlan(
            source=self.earlier.name if self.earlier else "",
            pooled=len(self.earlier.others) if self.earlier else 0,
            analyses=analyses.blocks,
            block_s=self.cost.block_s,
            expected_s=self.cost.compute_total_s(self._compute_expected_blocks(analyses)),
            full_s=self.cost.compute_total_s(blocks),
            worst_s=self.cost.compute_total_s(run.design.most_blocks),
            primaries=self._family,
            forecasts=tuple(self._forecast_detection(analyses, case) for case in self._cases),
            lengths=tuple(self._find_best_lengths()),
        )

    def choose_analyses(self, blocks: int) -> InterimAnalyses:
        """Those of a run of `blocks`: the experiment's own, or the default ones up to there."""
        design = self.run.design
        own = blocks == design.analyses[-1]
        return InterimAnalyses(
            design.analyses if own else choose_analyses_up_to(blocks), design.alpha
        )

    @cached_property
    def cost(self) -> RunCost:
        """What the run takes: foretold, or as an earlier one did, its loads among the rest."""
        cost = estimate_cost(self.prepared)
        known = [
            (w, self.earlier.measure_trial_s(w) if self.earlier else None)
            for w in self.run.workloads
        ]
        if not any(seconds for _, seconds in known):
            return cost
        sides = len(self.run.candidates)
        each_s = sum(s * sides if s else estimate_block_s(w, self.prepared) for w, s in known)
        return RunCost(cost.baseline_s, each_s)

    @cached_property
    def _cases(self) -> list[PlannedPrimary]:
        return plan_primaries(self.run, self.earlier)

    @cached_property
    def _family(self) -> int:
        return count_family(self.run)

    def _find_worst(self, analyses: InterimAnalyses) -> tuple[float, str]:
        """The largest MDE80 of all cases, and whose it is."""
        return max(
            (compute_mde80(analyses, case.errors, self._family), case.name) for case in self._cases
        )

    def _compute_expected_blocks(self, analyses: InterimAnalyses) -> float:
        """Of all comparisons together; of assumed spreads the middle one stands for all."""
        own = self._cases if self.earlier else assume_primaries(self.run, SDS_PERCENT[1])
        every = [case for case in own for _ in range(case.count)][:SIMULATED_MOST]
        margins = [to_log(case.margin_percent) for case in every]
        return estimate_blocks(analyses, margins, [case.likely or case.errors for case in every])

    def _forecast_detection(
        self, analyses: InterimAnalyses, case: PlannedPrimary
    ) -> DetectionForecast:
        twice = self.choose_analyses(min(2 * analyses.maximum, BLOCKS[-1]))
        seen = estimate_chances(analyses, to_log(case.margin_percent), case.errors, self._family)
        return DetectionForecast(
            primary=case.name,
            sd_percent=to_percent((case.likely or case.errors).sd),
            mde80_percent=compute_mde80(analyses, case.errors, self._family),
            doubled_percent=compute_mde80(twice, case.errors, self._family),
            margin_percent=case.margin_percent,
            found=seen.found,
            cleared=seen.cleared,
            planned_sd_percent=to_percent(case.errors.sd),
        )

    def _find_best_lengths(self) -> Iterator[PhaseLength]:
        """The best length of every timed phase in which the earlier run saw enough seconds."""
        for metric, spread in (self.earlier.spreads if self.earlier else {}).items():
            workload = next((w for w in self.run.workloads if w.name == metric.workload), None)
            phases = [p for p in workload.phases if p.name == metric.phase] if workload else []
            if phases and phases[0].measured_s and (best := spread.best_seconds) is not None:
                now, saved = phases[0].measured_s, spread.compute_time_saved(phases[0].measured_s)
                yield PhaseLength(f"{metric.workload} / {metric.phase}", now, best, saved)
