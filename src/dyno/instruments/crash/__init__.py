"""Crashes: at a drawn moment the engine is killed and loses what it had not synced, and a ledger of
acknowledged commits is held against what it has after its restart.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.record import RunSummary
from dyno.record.crash import CRASH_RECORD, CrashRun
from dyno.runs.run_folder import Instrument, MeasuredPoint, MeasuredRun, RunProgress, read_json
from dyno.runs.run_summary import add_host, add_verdict

if TYPE_CHECKING:
    from dyno.report.result import Result


class Crash(Instrument):
    """Runs of `dyno crash`."""

    name, noun, said, record = "crash", "a run of crashes", "crashes", CRASH_RECORD
    command, has_history = "crash", True

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """The verdict on its engine."""
        from dyno.instruments.crash.verdict import judge_crashes

        run = read_json(CrashRun, path / CRASH_RECORD)
        made = replace(
            plain,
            created_utc=run.created_utc,
            candidates=(run.candidate.label,),
            workloads=(run.workload,),
            engines=(run.candidate.engine,),
        )
        return add_host(add_verdict(made, judge_crashes(run), path), run.host)

    def read_result(self, path: Path) -> Result:
        """The verdict, and each kill."""
        from dyno.instruments.crash.verdict import find_recoveries, judge_crashes, tell_first
        from dyno.report.crashes import build_crash_result

        run = read_json(CrashRun, path / CRASH_RECORD)
        firsts = [tell_first(play) for play in run.plays]
        return build_crash_result(run, judge_crashes(run), firsts, find_recoveries(run))

    def read_points(self, path: Path) -> MeasuredRun:
        """The times to recover; whether anything is lost is the verdict's alone."""
        from dyno.instruments.crash.verdict import find_recoveries

        run, points = read_json(CrashRun, path / CRASH_RECORD), []
        names = ("clients", "within_s", "torn", "silent")
        alike = {name: str(getattr(run, name)) for name in names}
        if found := find_recoveries(run):
            points.append(MeasuredPoint(run.metric, run.candidate, tuple(found), alike=alike))
        return MeasuredRun(run.created_utc, run.seed, run.name, points, run.host)

    def read_progress(self, path: Path) -> RunProgress:
        """Its kills."""
        run = read_json(CrashRun, path / CRASH_RECORD)
        told = f"{run.candidate.name} is killed {run.times} times"
        return RunProgress(told, len(run.plays), run.times, (len(run.plays), "kill"))


INSTRUMENT = Crash()
