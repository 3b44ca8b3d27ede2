"""Crashes: at a drawn moment the engine is killed and loses what it had not synced, and a ledger of
acknowledged commits is held against what it has after its restart. Several engines are compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.record import RunSummary
from dyno.record.crash import CRASH_RECORD, CrashRun
from dyno.runs.run_folder import Instrument, MeasuredPoint, MeasuredRun, RunProgress, read_json
from dyno.runs.run_summary import add_host, add_verdict, list_outcomes

if TYPE_CHECKING:
    from dyno.report.result import Result


class Crash(Instrument):
    """Runs of `dyno crash`."""

    name, noun, said, record = "crash", "a run of crashes", "crashes", CRASH_RECORD
    command, has_history = "crash", True

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """The verdict on its engines."""
        from dyno.instruments.crash.verdict import judge_crashes

        run = read_json(CrashRun, path / CRASH_RECORD)
        verdict = judge_crashes(run)
        made = replace(
            plain,
            created_utc=run.created_utc,
            candidates=tuple(it.candidate.label for it in run.sides),
            workloads=(run.workload,),
            engines=tuple(it.candidate.engine for it in run.sides),
            outcomes=list_outcomes(
                [it.candidate for it in run.sides], verdict.comparisons, "crashes"
            ),
        )
        return add_host(add_verdict(made, verdict, path), run.host)

    def read_result(self, path: Path) -> Result:
        """The verdict, and each kill."""
        from dyno.instruments.crash.verdict import describe_losses, judge_crashes
        from dyno.report.crashes import build_crash_result

        run = read_json(CrashRun, path / CRASH_RECORD)
        losses = [describe_losses(side, run.silent) for side in run.sides if side.plays]
        return build_crash_result(run, judge_crashes(run), losses)

    def read_points(self, path: Path) -> MeasuredRun:
        """The times to recover; whether anything is lost is the verdict's alone."""
        run, points = read_json(CrashRun, path / CRASH_RECORD), []
        for side in run.sides:
            alike = {name: str(getattr(run, name)) for name in ("within_s", "torn", "silent")}
            alike = {"clients": str(side.clients), **alike}
            if found := tuple(side.recoveries_s):
                points.append(MeasuredPoint(run.metric, side.candidate, found, alike=alike))
        base = run.candidate.name if run.others else ""
        return MeasuredRun(run.created_utc, run.seed, run.name, points, run.host, base)

    def read_progress(self, path: Path) -> RunProgress:
        """Its kills."""
        run = read_json(CrashRun, path / CRASH_RECORD)
        told = f"{run.name} {'are' if run.others else 'is'} killed {run.times} times"
        played = [len(side.plays) for side in run.sides]
        return RunProgress(told, min(played), run.times, (sum(played), "kill"))


INSTRUMENT = Crash()
