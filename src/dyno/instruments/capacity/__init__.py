"""The highest rate that holds a limit: open loops at searched rates, restart by restart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.errors import UsageError
from dyno.instruments.capacity.folder import CAPACITY_BLOCKS, CAPACITY_RECORD, CapacityFolder
from dyno.record import RunSummary
from dyno.runs.run_folder import (
    Instrument,
    MeasuredPoint,
    MeasuredRun,
    RunFolder,
    RunProgress,
)
from dyno.runs.run_summary import NOT_JUDGED, add_verdict, list_outcomes, take_run

if TYPE_CHECKING:
    from dyno.report.result import Result


class Capacity(Instrument):
    """Runs of `dyno capacity`."""

    name, noun, said = "capacity", "a capacity", "capacity"
    command, has_history = "capacity", True
    record, measured = CAPACITY_RECORD, (CAPACITY_RECORD, CAPACITY_BLOCKS)

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """The rate of each candidate, and the worst word."""
        from dyno.judge.analysis.capacity import judge_capacity
        from dyno.judge.analysis.effect_words import describe_word

        folder = CapacityFolder(path)
        plan, blocks = folder.read_plan(), folder.read_blocks()
        made = replace(take_run(plain, plan.run), question=f"Which rate holds {plan.limit_words}?")
        if not blocks:
            return replace(made, sentence=NOT_JUDGED, is_playing=RunFolder(path).is_played())
        verdict = judge_capacity(plan, blocks)
        return replace(
            add_verdict(made, verdict, path),
            overall=describe_word(plan.metric, verdict.overall),
            outcomes=list_outcomes(plan.run.candidates, verdict.comparisons, "capacity"),
        )

    def read_result(self, path: Path) -> Result:
        """The rate of each candidate, and the verdict."""
        from dyno.judge.analysis.capacity import judge_capacity
        from dyno.report.capacity import build_capacity_result

        folder = CapacityFolder(path)
        plan, blocks = folder.read_plan(), folder.read_blocks()
        if not blocks:
            raise UsageError(f"{path.name} has no block yet", hint="wait for its first one")
        return build_capacity_result(plan, blocks, judge_capacity(plan, blocks))

    def read_points(self, path: Path) -> MeasuredRun:
        """The rate of each candidate; none where the driver is the limit, or no rate holds it."""
        from dyno.judge.analysis.capacity import judge_capacity

        folder = CapacityFolder(path)
        plan, blocks = folder.read_plan(), folder.read_blocks()
        verdict, run, (workload,) = judge_capacity(plan, blocks), plan.run, plan.run.workloads
        order = "in turn" if plan.together else "one after the other"
        points, losses = [], []
        for side, found in zip(run.candidates, verdict.candidates, strict=True):
            rates = tuple(rate for rate in found.restarts if rate is not None)
            if verdict.overall == "invalid" or not rates or len(rates) < len(found.restarts):
                none = f"{side.name} holds {plan.limit_words} at no rate in some restart"
                losses.append(verdict.sentence if verdict.overall == "invalid" else none)
                continue
            points.append(
                MeasuredPoint(
                    plan.metric,
                    side,
                    rates,
                    workload.options,
                    run.design.controls,
                    {
                        "script": workload.script_sha256[:8],
                        "driver": run.driver_sha256[:8],
                        "steps": f"{plan.step_s:g} s, {order}",
                    },
                    workload.script,
                    ("--slo", plan.limit_words, "--step", f"{plan.step_s:g}s"),
                )
            )
        identity = run.created_utc, run.seed, run.name
        base, rows = run.design.base, verdict.comparisons
        return MeasuredRun(*identity, points, run.host, base, losses, rows, run.series)

    def read_progress(self, path: Path) -> RunProgress:
        """Its blocks, and the intervals of rates from the second one on."""
        from dyno.judge.analysis.capacity import judge_capacity

        folder = CapacityFolder(path)
        plan, blocks = folder.read_plan(), folder.read_blocks()
        found = judge_capacity(plan, blocks).comparisons if len(blocks) > 1 else ()
        return RunProgress(
            f"which rate holds {plan.limit_words}?",
            len(blocks),
            plan.blocks,
            (sum(len(block.restarts) for block in blocks), "restart"),
            rows=[(f"rate that holds {plan.limit_words}", it) for it in found],
        )


INSTRUMENT = Capacity()
