"""What is compared at an interim analysis: each metric of a candidate beside the base's, block by
block.

A `PairedMetric` is one such pair with its data, an `Estimate` the pair with its interval; a
`ComparisonContext` is what all pairs of a run share.

Compared are restarts that ended well, so a candidate that crashes is judged by the survivors. One
that failed significantly more often than the base is neither *not slower* nor *faster*, whatever
they say (docs/METHOD.md, The words).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dyno.judge.analysis.blocks import HostBlocks, group_dependent_blocks, split_by_host
from dyno.judge.analysis.effects import Effect, list_effects
from dyno.judge.analysis.measures import Numbers
from dyno.judge.analysis.run_view import RunView, build_analyses
from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.interval import Interval, extract_independent_data
from dyno.judge.stats.log_ratio import Floats
from dyno.judge.stats.verdict import compute_fisher_p
from dyno.numbers import format_digits
from dyno.record import Doubt, Metric, Phase, Run, Trial, WorkloadPlan

#: Workload and candidate.
Side = tuple[str, str]


@dataclass(frozen=True)
class Restarts:
    """How many restarts ended, well or not, and how many of them failed."""

    ended: int
    failed: int

    def __str__(self) -> str:
        return f"{self.failed} of {self.ended}"


def count_restarts(trials: Sequence[Trial]) -> dict[Side, Restarts]:
    """The restarts of each side, in blocks that count or do not; interrupted ones are none."""
    places = [(t.status, (t.workload, t.candidate)) for t in trials if not t.is_client_baseline]
    failed = Counter(side for status, side in places if status == "failed")
    ended = Counter(side for status, side in places if status in ("ok", "failed"))
    return {side: Restarts(ended[side], failed[side]) for side in ended}


def find_excess_failures(
    restarts: Mapping[Side, Restarts], workload: str, effect: Effect, alpha: float
) -> str:
    """That the candidate's cells failed more often than the base's, by a one-sided exact test at
    `alpha`; else empty. Of a mean over all workloads (a name that none has) all restarts count.
    """
    own = _add_up(restarts, workload, (c for c, w in effect.weights.items() if w > 0))
    base = _add_up(restarts, workload, (c for c, w in effect.weights.items() if w < 0))
    p_value = compute_fisher_p(own.failed, own.ended, base.failed, base.ended)
    if p_value > alpha:
        return ""
    return (
        f"{effect.candidate} failed in {own} restarts and {effect.base} in {base} "
        f"(Fisher's exact test, p = {p_value:.2g}), so it is not cleared by those that did not"
    )


def _add_up(restarts: Mapping[Side, Restarts], workload: str, cells: Iterable[str]) -> Restarts:
    known, among = any(name == workload for name, _ in restarts), set(cells)
    found = [
        each
        for (name, cell), each in restarts.items()
        if cell in among and (name == workload or not known)
    ]
    return Restarts(sum(r.ended for r in found), sum(r.failed for r in found))


#: Paced writers that did less of their target leave a grey cell (Callaghan's rule).
TARGET_LEAST = 0.95


@dataclass(frozen=True)
class PairedMetric:
    """One comparison before it is judged: a number per block of either side, all above 0.

    `grey` says why the phase gets no verdict; it is empty where it gets one. `groups` numbers the
    loads that the blocks were played on where loads come again, or their hosts where these are
    several, and is None where every block is a datum. `hosts` are those of a gathered run.
    `outlasted` are the sides whose numbers are bounds in some block, because an event took longer
    than the phase (-1 the base's, 1 the candidate's); `bound` says so, and what would measure it.
    """

    metric: Metric
    effect: Effect
    primary: bool
    margin_percent: float
    base_values: Floats
    values: Floats
    grey: str = ""
    groups: tuple[int, ...] | None = None
    hosts: tuple[HostBlocks, ...] = ()
    outlasted: frozenset[int] = frozenset()
    bound: str = ""

    @cached_property
    def logs(self) -> Floats:
        """Log time ratios, positive where the candidate is worse, whatever the direction."""
        ratios = np.log(self.values / self.base_values)
        return np.asarray(-ratios if self.metric.better == "higher" else ratios)

    @cached_property
    def data(self) -> Floats:
        """The independent ones among `logs`: means over the blocks that share their loads."""
        return extract_independent_data(self.logs, self.groups)


def pair_metrics(
    view: RunView, workload: WorkloadPlan, blocks: Sequence[dict[str, Trial]]
) -> Iterator[PairedMetric]:
    """Every comparison of `workload` in `blocks`, in the order in which its phases are played.

    A metric that some block lacks, or that is not above 0 everywhere, has no ratio and no line. Of
    interactions only those in primary metrics are looked at.
    """
    declared, phases = view.list_primaries(workload.name), {p.name: p for p in workload.phases}
    in_order = list(phases)
    own = [{name: view.compute_numbers(trial) for name, trial in block.items()} for block in blocks]
    for effect in list_effects(view.run):
        grey = {
            name: _describe_missed_target(p, blocks, effect.cells) for name, p in phases.items()
        }
        groups = group_dependent_blocks(blocks, effect.cells)
        hosts = split_by_host(blocks, effect.cells)
        shared = [m for m in _find_shared_metrics(own, effect.cells) if m.phase in phases]
        for metric in sorted(shared, key=lambda m: in_order.index(m.phase)):
            pair = next((pair for pair in declared if pair.matches(metric)), None)
            if pair or not effect.interaction:
                base_values, values = effect.compute_values(
                    _collect_columns(own, effect.cells, metric)
                )
                margin = pair.margin_percent if pair else view.run.design.margin_percent
                sides, bound = _find_outlasted(phases[metric.phase], blocks, effect, metric)
                yield PairedMetric(
                    metric=metric,
                    effect=effect,
                    primary=pair is not None and not effect.interaction,
                    margin_percent=margin,
                    base_values=base_values,
                    values=values,
                    grey=grey[metric.phase],
                    groups=groups,
                    hosts=hosts,
                    outlasted=sides,
                    bound=bound,
                )


def _collect_columns(
    own: Sequence[dict[str, Numbers]], cells: Sequence[str], metric: Metric
) -> dict[str, Floats]:
    return {cell: np.array([block[cell][metric] for block in own]) for cell in cells}


def _find_shared_metrics(own: Sequence[dict[str, Numbers]], sides: Sequence[str]) -> list[Metric]:
    """The metrics that are above 0 on all sides of every block."""
    columns = [block[side] for block in own for side in sides]
    first = columns[0] if columns else {}
    return [m for m in sorted(first) if all(column.get(m, 0.0) > 0.0 for column in columns)]


def _find_outlasted(
    phase: Phase, blocks: Sequence[dict[str, Trial]], effect: Effect, metric: Metric
) -> tuple[frozenset[int], str]:
    """The sides of a stream's metric whose events took longer than the phase, and that in words."""
    waited_ns = {
        cell: tally.under_way_ns_min
        for block in blocks
        for cell in effect.cells
        for record in block[cell].phases
        for tally in record.streams
        if (record.phase, tally.name) == (metric.phase, metric.transaction) and tally.is_outlasted
    }
    if not waited_ns:
        return frozenset(), ""
    longest_s = max(waited_ns.values()) / 1e9
    seconds = math.ceil(max(10 * phase.measured_s, 3 * longest_s))
    words = (
        f"an event of {' and '.join(waited_ns)} takes longer than the phase of "
        f"{phase.measured_s:g} s, {format_digits(longest_s, 2)} s at least; `--time {seconds}` "
        "would measure it"
    )
    return frozenset(1 if effect.weights[cell] > 0 else -1 for cell in waited_ns), words


def _describe_missed_target(
    phase: Phase, blocks: Sequence[dict[str, Trial]], sides: Sequence[str]
) -> str:
    """Whose paced writers did less than 95 % of what was due over all blocks, in words."""
    writers = {s.name for s in phase.streams if s.is_paced and s.role == "writer"}
    for side in sides:
        tallies = [
            tally
            for block in blocks
            for record in block[side].phases
            for tally in record.streams
            if record.phase == phase.name and tally.name in writers
        ]
        done, due = sum(t.done for t in tallies), sum(t.intended for t in tallies)
        if done < TARGET_LEAST * due:
            percent = 100.0 * done / due
            return f"the paced writers of {side} did {percent:.0f} % of their target: no verdict"
    return ""


#: Workload, candidate, and phase or "" for all of them.
Place = tuple[str, str, str]


@dataclass(frozen=True)
class ComparisonContext:
    """What is the same for all comparisons of a run.

    `primaries` counts those declared, measured or not, over all `rivals` (candidates, or effects);
    `invalid` maps (workload, candidate, phase) to the finding that makes it so, with "" for all
    phases; `doubts` likewise to the findings that doubt it; `dropped` the blocks lost to noise, by
    workload; `restarts` those of each side, failed ones included.
    """

    run: Run
    primaries: int
    invalid: dict[Place, str]
    dropped: dict[str, int]
    rivals: int = 1
    doubts: Mapping[Place, Sequence[Doubt]] = field(default_factory=dict)
    restarts: Mapping[Side, Restarts] = field(default_factory=dict)

    def explain_few_blocks(self, line: PairedMetric) -> str:
        """That a line has too few blocks for a word; else empty. Of blocks that were dealt half
        must count: where more were lost, a host is too noisy to say anything.
        """
        n, first = line.logs.size, self.analyses.blocks[0]
        due = self.run.due_blocks
        dealt = due.get(line.metric.workload, min(due.values(), default=0))
        if n < first and not dealt:
            return f"so far: {n} of the {first} blocks of the first interim analysis"
        if 2 * n < dealt:
            return f"{n} of the {dealt} blocks that were dealt count, and half of them must"
        return ""

    @property
    def analyses(self) -> InterimAnalyses:
        """When the data are looked at."""
        return build_analyses(self.run)

    def find_invalid_sentence(self, line: PairedMetric) -> str:
        """The finding that makes `line` invalid, by one of its sides; else empty."""
        found = (self.invalid.get(place, "") for place in _list_places(line))
        return next((sentence for sentence in found if sentence), "")

    def describe_excess_failures(self, line: PairedMetric) -> str:
        """That the candidate's restarts failed more often than the base's; else empty."""
        alpha = self.run.design.alpha
        return find_excess_failures(self.restarts, line.metric.workload, line.effect, alpha)

    def find_doubts(self, line: PairedMetric) -> tuple[Doubt, ...]:
        """What doubts `line`, by one of its sides."""
        found = (doubt for place in _list_places(line) for doubt in self.doubts.get(place, ()))
        return tuple(dict.fromkeys(found))


def _list_places(line: PairedMetric) -> list[Place]:
    sides, phases = line.effect.cells, ("", line.metric.phase)
    return [(line.metric.workload, side, phase) for side in sides for phase in phases]


@dataclass(frozen=True)
class Estimate:
    """A line with its interval; `p` counts all analyses and all comparisons of its family."""

    line: PairedMetric
    interval: Interval
    p: float
