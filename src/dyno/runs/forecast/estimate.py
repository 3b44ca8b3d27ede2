"""What a run will cost and what it can detect, before it starts: time, disk, blocks, MDE80."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dyno.errors import UsageError
from dyno.judge.stats.interim_analyses import InterimAnalyses, choose_analyses_up_to
from dyno.judge.stats.power import compute_mde80
from dyno.judge.stats.verdict import CLEAR_LEAST
from dyno.record import Candidate, Run, WorkloadPlan, find_echo_stand
from dyno.runs.experiment import BLOCKS
from dyno.runs.forecast.detection import SDS_PERCENT, assume_primaries, count_family
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
