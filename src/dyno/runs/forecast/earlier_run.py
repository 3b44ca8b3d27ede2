"""Reads from an earlier run how its primaries vary and what trials cost, for planning."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median
from typing import NoReturn

from dyno.errors import UsageError
from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.comparisons import PairedMetric
from dyno.judge.analysis.effects import DeclaredPrimary
from dyno.judge.analysis.run_view import RunView
from dyno.judge.analysis.spread import Sources, find_spread_sources
from dyno.judge.stats.components import LOADS
from dyno.judge.stats.interval import compute_error
from dyno.judge.stats.power import BlockErrors, compute_known_freedom, compute_sd_bound
from dyno.record import Metric, Run, WorkloadPlan
from dyno.runs.run_folder import RunFolder

#: Fewer blocks than this say too little of how blocks vary.
BLOCKS_LEAST = 3
#: Older runs whose spread is pooled: more of them would tell of another season of the host.
POOLED_MOST = 4
#: What runs that are pooled must share of the host.
HOST = ("cpu", "machine", "cores", "kernel")


@dataclass(frozen=True)
class LearntErrors:
    """How a primary's blocks will vary: `likely` as they did, `planned` at the upper 80 % bound."""

    likely: BlockErrors
    planned: BlockErrors


@dataclass(frozen=True)
class EarlierRun:
    """The primaries of a run that was played: their comparisons, and the spread of each.

    `loads` of each candidate rotated; 0: every trial loaded anew. `others` are older runs of the
    same experiment on the same host, whose spread is pooled with this one's. A run that was
    gathered of shares has one of each share in `shares`: what is told of it is within them.
    """

    name: str
    run: Run
    lines: tuple[PairedMetric, ...]
    spreads: dict[Metric, Sources]
    loads: int = 0
    others: tuple[EarlierRun, ...] = ()
    shares: tuple[EarlierRun, ...] = ()

    @property
    def blocks(self) -> int:
        """Valid blocks that stand behind it."""
        return max(line.logs.size for line in self.lines)

    def estimate_errors(
        self, pair: DeclaredPrimary, workload: WorkloadPlan, loads: int | None, norm: float
    ) -> LearntErrors | None:
        """How the blocks of a primary will vary; None where this run did not measure it. `loads`
        None leaves as many as it was; `norm` is that of the planned effect's weights.

        Pooled over the candidates (or effects, each by its own norm) and over `others`, and scaled
        by the components where `workload` is now measured longer or shorter than it was.
        """
        loads = self.loads if loads is None else loads
        known = (*(self.shares or (self,)), *self.others)
        found = [each for run in known if (each := run._estimate_variance(pair))]
        own = [line for line in self.lines if pair.matches(line.metric)]
        if not own:
            return None
        free = sum(known for _, known in found)
        sd = norm * math.sqrt(sum(variance * known for variance, known in found) / free)
        bound = compute_sd_bound(sd, free)
        spread = self.spreads.get(own[0].metric)
        if spread is None or sd == 0.0:
            return LearntErrors(BlockErrors(sd, loads), BlockErrors(bound, loads))
        part = spread.found.find_part(LOADS)
        kept = min(sd, norm * math.sqrt(part.variance)) if part else 0.0
        likely = self._compute_length_factor(pair, workload, spread)
        planned = likely * bound / sd
        return LearntErrors(
            BlockErrors(sd * likely, loads, kept * likely),
            BlockErrors(sd * planned, loads, kept * planned),
        )

    def _estimate_variance(self, pair: DeclaredPrimary) -> tuple[float, int] | None:
        """That of a restart's log in a block, and its degrees of freedom; those of several
        candidates count once, since they share the base. Where blocks share loads, their mean is
        known as well as that of so many loads, and the variance around it as badly.
        """
        own = [line for line in self.lines if pair.matches(line.metric)]
        if not own:
            return None
        found = [
            float(line.logs.var()) * line.data.size / (line.data.size - 1) / line.effect.norm**2
            for line in own
        ]
        early = self.run.share is None and own[0].logs.size < self.run.design.analyses[-1]
        freedom = compute_error(own[0].data)[1]
        return sum(found) / len(found), compute_known_freedom(freedom, stopped_early=early)

    def _compute_length_factor(
        self, pair: DeclaredPrimary, workload: WorkloadPlan, spread: Sources
    ) -> float:
        """How the sd changes with the phase's length; 1 where it is the same, or not timed."""
        phase = next(each for each in workload.phases if each.name == pair.phase)
        seconds, then = phase.measured_s, spread.found.estimate_block_sd()
        if not seconds or abs(seconds / spread.seconds - 1.0) < 0.1 or then == 0.0:
            return 1.0
        return spread.found.estimate_block_sd(seconds) / then

    def measure_trial_s(self, workload: WorkloadPlan) -> float | None:
        """Seconds that a trial of `workload` takes from its start to that of the next one."""
        timed = [
            spread.costs.restart_s + spread.seconds
            for known in self.shares or (self,)
            for metric, spread in known.spreads.items()
            if metric.workload == workload.name and spread.costs is not None
        ]
        then = next((w for w in self.run.workloads if w.name == workload.name), None)
        if not timed or then is None:
            return None
        longer = sum(p.length_s for p in workload.phases) - sum(p.length_s for p in then.phases)
        return median(timed) + longer


def learn_from(folder: RunFolder) -> EarlierRun:
    """What the run in `folder` knows; `UsageError` where it has too few valid blocks."""
    view = RunView(folder.read_run(), folder.read_trials())
    name = folder.path.name
    if view.run.gathered:
        return _learn_from_shares(name, view)
    found = _learn_from_view(name, view)
    if found is None or found.blocks < BLOCKS_LEAST:
        _refuse_few(name, max(view.valid_blocks.values(), default=0))
    return found


def _learn_from_shares(name: str, view: RunView) -> EarlierRun:
    """What the shares know together. Hosts differ in speed, so that blocks are held together with
    those of their own host alone: one of `n` blocks knows the spread by `n` − 1.
    """
    shares = [known for each in view.shares if (known := _learn_from_view(name, each))]
    if sum(each.blocks - 1 for each in shares) < BLOCKS_LEAST - 1:
        _refuse_few(name, max((each.blocks for each in shares), default=1), " on a host")
    spreads: dict[Metric, Sources] = {}
    for each in reversed(shares):
        spreads |= each.spreads
    lines = tuple(line for each in shares for line in each.lines)
    loads = max(each.loads for each in shares)
    return EarlierRun(name, view.run, lines, spreads, loads, shares=tuple(shares))


def _learn_from_view(name: str, view: RunView) -> EarlierRun | None:
    """What these trials know; None where no primary was compared in two blocks."""
    analysis = Analysis(view)
    most = max(view.valid_blocks.values(), default=0)
    lines = tuple(line for line in analysis.list_lines(most) if line.primary)
    if not lines:
        return None
    metrics = list(dict.fromkeys(line.metric for line in lines))
    counted = view.counted_trials
    found = {each.metric: each for each in find_spread_sources(view, counted, metrics)}
    loads = max(t.conditions.load.of if t.conditions.load else 0 for t in counted)
    return EarlierRun(name, analysis.run, lines, found, loads)


def _refuse_few(name: str, blocks: int, where: str = "") -> NoReturn:
    raise UsageError(
        f"{name} has {blocks} valid blocks{where}, too few to plan from",
        hint=f"it takes {BLOCKS_LEAST}; without --from, dyno plans with assumed spreads",
    )


def find_newest_run(
    folders: Sequence[RunFolder], run: Run, say: Callable[[str], None]
) -> EarlierRun | None:
    """The last of `folders` that played the same experiment (its name and workloads), with the
    `POOLED_MOST` before it that were played alike, on the same host. `say` is told of those that
    are damaged or too short.
    """
    found = _find_runs(folders, run, say)
    newest = next(found, None)
    if newest is None:
        return None
    alike = [each for each in islice(found, POOLED_MOST) if _are_alike(each.run, newest.run)]
    return replace(newest, others=tuple(alike))


def _find_runs(
    folders: Sequence[RunFolder], run: Run, say: Callable[[str], None]
) -> Iterator[EarlierRun]:
    """Newest first. A run that is damaged, too short, or of other hosts is no source unasked."""
    wanted = {workload.name for workload in run.workloads}
    for folder in reversed(folders):
        try:
            told = folder.read_run()
            if told.name != run.name or wanted != {w.name for w in told.workloads}:
                continue
            if told.gathered:
                hint = f"--from {folder.path.name} plans from it"
                raise UsageError("it was gathered of hosts, of which this may be none", hint=hint)
            earlier = learn_from(folder)
        except UsageError as refused:
            say(f"not planned from {folder.path.name}: {refused.message}")
            continue
        yield earlier


def _are_alike(one: Run, other: Run) -> bool:
    hosts = ([run.host.get(fact) for fact in HOST] for run in (one, other))
    return one.workloads == other.workloads and next(hosts) == next(hosts)
