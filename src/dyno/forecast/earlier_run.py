"""What an earlier run tells of one that is planned: how its primaries vary, what trials cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from dyno.analysis.analysis import Analysis
from dyno.analysis.comparisons import PairedMetric
from dyno.analysis.run_view import DeclaredPrimary, RunView
from dyno.analysis.spread import Sources, spread_sources
from dyno.errors import UsageError
from dyno.record import Metric, Run, WorkloadPlan
from dyno.run_folder import RunFolder
from dyno.stats.components import LOADS
from dyno.stats.power import Errors

#: Fewer blocks than this say too little of how blocks vary.
BLOCKS_LEAST = 3


@dataclass(frozen=True)
class EarlierRun:
    """The primaries of a run that was played: their comparisons, and the spread of each.

    `loads` of each candidate took turns; 0: every trial loaded anew.
    """

    name: str
    run: Run
    lines: tuple[PairedMetric, ...]
    spreads: dict[Metric, Sources]
    loads: int = 0

    @property
    def blocks(self) -> int:
        """Valid blocks that stand behind it."""
        return max(line.logs.size for line in self.lines)

    def errors(
        self, pair: DeclaredPrimary, workload: WorkloadPlan, loads: int | None, norm: float
    ) -> Errors | None:
        """How the blocks of a primary will vary; None where this run did not measure it. `loads`
        None leaves as many as it was; `norm` is that of the planned effect's weights.

        Pooled over the candidates (or effects, each by its own norm), and scaled by the components
        where `workload` is now measured longer or shorter than it was.
        """
        loads = self.loads if loads is None else loads
        own = [line for line in self.lines if pair.names(line.metric)]
        if not own:
            return None
        restart = np.sqrt(np.mean([line.logs.var(ddof=1) / line.effect.norm**2 for line in own]))
        sd = float(restart) * norm
        spread = self.spreads.get(own[0].metric)
        if spread is None or sd == 0.0:
            return Errors(sd, loads)
        part = spread.found.part(LOADS)
        kept = min(sd, norm * float(np.sqrt(part.variance))) if part else 0.0
        factor = self._longer(pair, workload, spread)
        return Errors(sd * factor, loads, kept * factor)

    def _longer(self, pair: DeclaredPrimary, workload: WorkloadPlan, spread: Sources) -> float:
        """How the sd changes with the phase's length; 1 where it is the same, or not timed."""
        phase = next(each for each in workload.phases if each.name == pair.phase)
        seconds, then = phase.measured_s, spread.found.block_sd()
        if not seconds or abs(seconds / spread.seconds - 1.0) < 0.1 or then == 0.0:
            return 1.0
        return spread.found.block_sd(seconds) / then

    def trial_s(self, workload: WorkloadPlan) -> float | None:
        """Seconds that a trial of `workload` takes from its start to that of the next one."""
        timed = [
            spread.costs.restart_s + spread.seconds
            for metric, spread in self.spreads.items()
            if metric.workload == workload.name and spread.costs is not None
        ]
        then = next((w for w in self.run.workloads if w.name == workload.name), None)
        if not timed or then is None:
            return None
        longer = sum(p.length_s for p in workload.phases) - sum(p.length_s for p in then.phases)
        return median(timed) + longer


def learn_from(folder: RunFolder) -> EarlierRun:
    """What the run in `folder` knows; `UsageError` where it has too few valid blocks."""
    analysis = Analysis(RunView(folder.run(), folder.trials()))
    most = max(analysis.view.valid_blocks.values(), default=0)
    lines = tuple(line for line in analysis.lines(most) if line.primary)
    if most < BLOCKS_LEAST or not lines:
        raise UsageError(
            f"{folder.path.name} has {most} valid blocks, too few to plan from",
            hint=f"{BLOCKS_LEAST} or more; without --from, assumed spreads are planned for",
        )
    metrics = list(dict.fromkeys(line.metric for line in lines))
    counted = analysis.view.counted_trials
    found = {each.metric: each for each in spread_sources(analysis.view, counted, metrics)}
    loads = max(t.conditions.load.of if t.conditions.load else 0 for t in counted)
    return EarlierRun(folder.path.name, analysis.run, lines, found, loads)


def newest_run(folders: Sequence[RunFolder], run: Run) -> EarlierRun | None:
    """The last of `folders` that played the same experiment: its name and workloads."""
    wanted = {workload.name for workload in run.workloads}
    for folder in reversed(folders):
        try:
            told = folder.run()
            if told.name == run.name and wanted == {w.name for w in told.workloads}:
                return learn_from(folder)
        except UsageError:
            continue  # a run that is damaged, or too short, is no source
    return None
