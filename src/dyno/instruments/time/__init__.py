"""Plays a run: blocks of trials, each an engine started anew, until the analyses decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.record import RunSummary, Verdict
from dyno.runs.run_folder import Instrument, RunFolder, RunProgress
from dyno.runs.run_summary import NOT_JUDGED, is_judged, list_outcomes, take_run

if TYPE_CHECKING:
    from dyno.report import Book
    from dyno.report.result import Result


class Time(Instrument):
    """Runs of `dyno compare` and of what plays comparisons."""

    name, noun, said, record = "comparison", "a comparison", "", "run.json"
    command = "compare"
    has_trials = has_history = True
    measured = (record, "trials")
    changing = (*measured, "verdict.json")

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """The verdict that lies there, if it is newer than the trials."""
        folder = RunFolder(path)
        verdict = folder.read_verdict() if is_judged(path) else None
        run = folder.read_run()
        made = take_run(plain, run)
        if verdict is None:
            return replace(made, sentence=NOT_JUDGED, is_playing=folder.is_played())
        return replace(
            made,
            overall=_name_word(verdict),
            sentence=verdict.sentence,
            complete=verdict.complete,
            is_doubtful=bool(verdict.doubts),
            is_playing=not verdict.complete and folder.is_played(),
            outcomes=list_outcomes(run.candidates, verdict.comparisons),
        )

    def render_page(self, path: Path) -> str:
        """The whole report, judged now."""
        from dyno.report.html.page import build_run_page

        return build_run_page(read_book(path))

    def read_result(self, path: Path) -> Result:
        """The verdict, its rows, every number."""
        from dyno.report.export import build_result

        return build_result(read_book(path))

    def read_progress(self, path: Path) -> RunProgress:
        """Its blocks, and the intervals so far without what the audits say, which need time."""
        from dyno.judge.analysis.analysis import Analysis
        from dyno.judge.analysis.judge import analyse_now
        from dyno.judge.analysis.run_view import RunView
        from dyno.report.names import name_measurements

        folder = RunFolder(path)
        run, trials = folder.read_run(), folder.read_trials()
        now = analyse_now(run, trials, audits={})
        found = Analysis(RunView(run, trials), {}).judge_comparisons()
        named = name_measurements(run, [row for row in found if row.primary])
        return RunProgress(
            now.sentence,
            min(now.valid.values(), default=0),
            now.blocks,
            (len(trials), "trial"),
            trials[-1].started_utc if trials else "",
            [(it.title, it.row) for it in named],
        )


def _name_word(verdict: Verdict) -> str:
    """`slower`; of one by CPU time `dearer`."""
    from dyno.judge.analysis.effect_words import describe_word
    from dyno.judge.analysis.measures import CPU_PER_OP

    primaries = [row for row in verdict.comparisons if row.primary]
    is_cpu = bool(primaries) and primaries[0].metric.name == CPU_PER_OP
    return describe_word(primaries[0].metric, verdict.overall) if is_cpu else verdict.overall


def read_book(path: Path) -> Book:
    """A comparison judged now; `UsageError` where it cannot be read."""
    from dyno.judge.analysis.judge import judge
    from dyno.report import Book

    folder = RunFolder(path)
    run, trials = folder.read_run(), folder.read_trials()
    verdict = judge(run, trials, counts=folder.read_counts())
    return Book(path, run, trials, verdict, folder.read_profiles())


INSTRUMENT = Time()
