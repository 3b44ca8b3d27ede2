"""What a run will cost and what it can detect, before it starts: time, disk, blocks, MDE80.

An effect of crossed factors averages over cells, so that a block says more of it than of a pair of
restarts: spreads are kept as those of a restart, and each effect takes its weights' norm of that.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dyno.errors import UsageError
from dyno.judge.analysis.effects import (
    DeclaredPrimary,
    Effect,
    list_declared_primaries,
    list_effects,
)
from dyno.judge.stats.interim_analyses import InterimAnalyses, choose_analyses_up_to
from dyno.judge.stats.log_ratio import to_log
from dyno.judge.stats.power import BlockErrors, compute_mde80
from dyno.judge.stats.verdict import CLEAR_LEAST
from dyno.record import Candidate, Run, WorkloadPlan, find_echo_stand
from dyno.runs.experiment import BLOCKS
from dyno.runs.forecast.earlier_run import EarlierRun, LearntErrors
from dyno.runs.resolve.design import (
    LOADS,
    SLOW_LOAD_S,
    list_due_baselines,
    needs_baseline,
)
from dyno.runs.resolve.draft import Prepared, RunDraft
from dyno.runs.resolve.preconditions import compute_disk_bytes
from dyno.workloads import select_data_options

#: Starting driver and engine, connecting, ledger, stopping.
OVERHEAD_S = 0.2
#: What an echo takes in a server's place, once for each of them and workload.
ECHO_S = 1.5
#: Starting a server on new data, and stopping it.
SERVER_S = 3.0
#: Rough speed of `prepare`, by the data's size; only the forecast hangs on it.
LOAD_BYTES_PER_S = 20e6


@dataclass(frozen=True)
class Forecast:
    """`expected_s` ends at the first interim analysis that may clear a candidate, `worst_s` plays
    every block and replay.

    `detectable` maps how two restarts vary in percent (`SDS_PERCENT`) to the smallest slowdown, in
    percent, that the last analysis finds in four runs of five, in whichever primary it is the
    largest.
    """

    expected_s: float
    worst_s: float
    disk_bytes: int
    blocks_expected: int
    blocks_worst: int
    detectable: dict[float, float]


@dataclass(frozen=True)
class RunCost:
    """Seconds of a run: once, in each block, and in each of the first `loads` blocks besides, which
    make the loads that are kept.
    """

    baseline_s: float
    block_s: float
    loads_s: float = 0.0
    loads: int = 0

    def compute_total_s(self, blocks: float) -> float:
        """Seconds of a run of so many blocks."""
        return self.baseline_s + blocks * self.block_s + min(blocks, self.loads) * self.loads_s

    def count_blocks_within(self, budget_s: float) -> int:
        """How many blocks end within `budget_s`; `UsageError` if not enough do."""
        blocks = int((budget_s - self.baseline_s) // (self.block_s + self.loads_s))
        if blocks >= self.loads:
            blocks = int((budget_s - self.compute_total_s(self.loads)) // self.block_s) + self.loads
        if blocks < BLOCKS[0]:
            hint = f"{BLOCKS[0]} blocks take {math.ceil(self.compute_total_s(BLOCKS[0]))} s"
            raise UsageError(f"a budget of {budget_s:g} s is too short", hint=hint)
        return blocks


def estimate_cost(prepared: Prepared | RunDraft) -> RunCost:
    """What `prepared` takes by the lengths that its scripts declare, and guesses of the rest."""
    each_s = sum(estimate_block_s(workload, prepared) for workload in prepared.workloads)
    kept = [workload for workload in prepared.workloads if _keeps_loads(workload, prepared)]
    return RunCost(
        baseline_s=estimate_baseline_s(prepared),
        block_s=each_s,
        loads_s=_count_data_sets(kept, prepared.candidates) * _estimate_load_s(prepared),
        loads=prepared.design.loads or LOADS,
    )


def forecast_run(prepared: Prepared) -> Forecast:
    """How long `prepared` will play, how much disk it needs, and what it can detect."""
    run, analyses = prepared.run, prepared.design.analyses
    cost, most = estimate_cost(prepared), run.design.most_blocks
    clearing = next((n for n in analyses if n >= CLEAR_LEAST), analyses[-1])
    return Forecast(
        expected_s=cost.compute_total_s(clearing),
        worst_s=cost.compute_total_s(most),
        disk_bytes=compute_disk_bytes(prepared),
        blocks_expected=clearing,
        blocks_worst=most,
        detectable={sd: _compute_detection(run, sd) for sd in SDS_PERCENT},
    )


def fit_budget(draft: RunDraft, budget_s: float) -> None:
    """Gives `draft` as many blocks as end within `budget_s`; `UsageError` if none do."""
    analyses, blocks = draft.design.analyses, estimate_cost(draft).count_blocks_within(budget_s)
    if blocks < analyses[-1]:
        fewer = (blocks,) if len(analyses) == 1 else choose_analyses_up_to(blocks)
        draft.change(design=replace(draft.design, analyses=fewer))


def estimate_block_s(workload: WorkloadPlan, prepared: Prepared | RunDraft) -> float:
    """Seconds that a block of `workload` should take: the declared phases of all its trials, their
    loads where none are kept, and our guesses of starts and stops. Interleaved these go on side by
    side; loads do too, but share the engines' cores.
    """
    sides, turns = prepared.candidates, prepared.design.interleaving
    loads_s = 0.0 if _keeps_loads(workload, prepared) else len(sides) * _estimate_load_s(prepared)
    phases_s = sum(_sum_phases_s(workload.with_options(side.options)) for side in sides)
    restarts_s = [OVERHEAD_S + SERVER_S * (not side.embedded) for side in sides]
    if turns is None:
        return phases_s + loads_s + sum(restarts_s)
    time_slice = turns.find_slice(workload.name)
    return phases_s * (1 + time_slice.drain_s / time_slice.length_s) + loads_s + max(restarts_s)


def estimate_baseline_s(prepared: Prepared | RunDraft) -> float:
    """Seconds that the client-only baseline should take before the first block, and the servers'
    echoes after it.
    """
    sides, workloads = prepared.candidates, prepared.workloads
    stands = {
        find_echo_stand(side, sides, prepared.design.controls).name
        for side in sides
        if not side.embedded
    }
    echoes_s = ECHO_S * len(stands) * len(workloads)
    due = list_due_baselines(workloads) if needs_baseline(sides) else []
    return echoes_s + sum(
        _sum_baseline_s(workload.with_options(options), prepared) for workload, options in due
    )


def _sum_baseline_s(workload: WorkloadPlan, prepared: Prepared | RunDraft) -> float:
    return _sum_phases_s(workload) + _estimate_load_s(prepared) + OVERHEAD_S


def _sum_phases_s(workload: WorkloadPlan) -> float:
    return sum(phase.length_s for phase in workload.phases)


def _estimate_load_s(prepared: Prepared | RunDraft) -> float:
    return prepared.size_bytes / LOAD_BYTES_PER_S


def _keeps_loads(workload: WorkloadPlan, prepared: Prepared | RunDraft) -> bool:
    """Will trials begin with copies? Where the experiment does not say, slow loads are kept."""
    asked = prepared.design.loads
    keeps = _estimate_load_s(prepared) > SLOW_LOAD_S if asked is None else asked > 0
    return keeps and "prepare" in workload.commands


def _count_data_sets(workloads: Sequence[WorkloadPlan], candidates: Sequence[Candidate]) -> int:
    """How many data sets the candidates load for them; settings that shape no file count too."""
    found = {
        json.dumps(
            [side.engine, side.build, side.settings, workload.script_sha256, options],
            sort_keys=True,
        )
        for workload in workloads
        for side in candidates
        for options in [
            select_data_options(Path(workload.script), workload.with_options(side.options).options)
        ]
    }
    return len(found)


def _compute_detection(run: Run, pair_percent: float) -> float:
    """The slowdown in percent that the last analysis finds with a power of 80 %, at the level that
    the analyses before it and the other primaries leave.
    """
    analyses, every = InterimAnalyses(run.design.analyses, run.design.alpha), count_family(run)
    found = (
        compute_mde80(analyses, case.errors, every) for case in assume_primaries(run, pair_percent)
    )
    return max(found, default=math.inf)


#: Spreads that are assumed, in percent: sds of the log ratio of two restarts in a block.
SDS_PERCENT = (1.0, 2.0, 5.0)
PAIR = math.sqrt(2.0)


@dataclass(frozen=True)
class PlannedPrimary:
    """Primaries by name, their margin, and how the block logs of each of the `count` will vary:
    `errors` are planned for, at the upper 80 % bound of those measured; `likely` are those.
    """

    name: str
    margin_percent: float
    errors: BlockErrors
    count: int = 1
    likely: BlockErrors | None = None


def count_family(run: Run) -> int:
    """Candidates, or main effects, × primaries: what Holm runs over."""
    return sum(map(len, _group_equal_effects(run))) * len(_list_primaries(run))


def plan_primaries(run: Run, earlier: EarlierRun | None) -> list[PlannedPrimary]:
    """Each primary as `earlier` measured it; without that each spread that is assumed."""
    if earlier is None:
        return [case for sd in SDS_PERCENT for case in assume_primaries(run, sd)]
    alike = _group_equal_effects(run)
    return [
        PlannedPrimary(
            _name_primary(pair) + _describe_factors(own, alike),
            pair.margin_percent,
            errors.planned,
            len(own),
            errors.likely,
        )
        for pair in _list_primaries(run)
        for own in alike
        if (errors := _find_errors(run, earlier, pair, own[0].norm)) is not None
    ]


def assume_primaries(run: Run, pair_percent: float) -> list[PlannedPrimary]:
    """All primaries, those together that have margin and weights alike, where the log ratio of two
    restarts has this sd.
    """
    margins, alike = (
        [pair.margin_percent for pair in _list_primaries(run)],
        _group_equal_effects(run),
    )
    restart, found = to_log(pair_percent) / PAIR, []
    for margin in sorted(set(margins)):
        for own in alike:
            errors = BlockErrors(restart * own[0].norm, run.design.loads or 0)
            count = len(own) * margins.count(margin)
            every = f"each of {count} primaries" if count > 1 else "the primary"
            name = f"{every}{_describe_factors(own, alike)}"
            if run.factors:
                name = f"{name}, two restarts vary by {pair_percent:g} %"
            found.append(PlannedPrimary(name, margin, errors, count))
    return found


def _group_equal_effects(run: Run) -> list[list[Effect]]:
    """Candidates, or main effects, those together of which a block tells as much."""
    found: dict[float, list[Effect]] = {}
    for effect in list_effects(run):
        if not effect.interaction:
            found.setdefault(round(effect.norm, 9), []).append(effect)
    return list(found.values())


def _describe_factors(own: Sequence[Effect], alike: Sequence[Sequence[Effect]]) -> str:
    """The factors meant, where not all are."""
    names = dict.fromkeys(name for effect in own for name in effect.levels)
    return f" ({', '.join(names)})" if len(alike) > 1 else ""


def _list_primaries(run: Run) -> list[DeclaredPrimary]:
    return [pair for workload in run.workloads for pair in list_declared_primaries(run, workload)]


def _find_errors(
    run: Run, earlier: EarlierRun, pair: DeclaredPrimary, norm: float
) -> LearntErrors | None:
    workload = next(each for each in run.workloads if each.name == pair.workload)
    return earlier.estimate_errors(pair, workload, run.design.loads, norm)


def _name_primary(pair: DeclaredPrimary) -> str:
    return f"{pair.workload} / {pair.phase} / {pair.stream} {pair.metric}"
