"""How far an engine scales: what an operation needs here, and from it a forecast for more cores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.errors import UsageError
from dyno.record import RunSummary
from dyno.record.scaling import SCALING_RECORD, ScaleRun
from dyno.runs.run_folder import Instrument, RunFolder, RunProgress, read_json
from dyno.runs.run_summary import NOT_JUDGED, add_verdict, take_run

if TYPE_CHECKING:
    from dyno.report.result import Result


class Scale(Instrument):
    """Runs of `dyno scale`."""

    name, noun, said, record = "scale", "a forecast of scaling", "scaling", SCALING_RECORD
    command = "scale"

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """What is forecast."""
        from dyno.judge.analysis.scaling import forecast_scaling
        from dyno.judge.analysis.scaling_verdict import judge_scaling

        run = read_json(ScaleRun, path / SCALING_RECORD)
        made = replace(take_run(plain, run.run), question="What would more cores do?")
        if run.played < run.wanted:
            return replace(made, sentence=NOT_JUDGED, is_playing=RunFolder(path).is_played())
        return add_verdict(made, judge_scaling(run, forecast_scaling(run)), path)

    def read_result(self, path: Path) -> Result:
        """The forecast, and the plays that it is made of."""
        from dyno.judge.analysis.scaling import forecast_scaling
        from dyno.judge.analysis.scaling_verdict import judge_scaling
        from dyno.report.scaling import build_scale_result

        run = read_whole_run(path)
        forecast = forecast_scaling(run)
        return build_scale_result(run, forecast, judge_scaling(run, forecast))

    def read_progress(self, path: Path) -> RunProgress:
        """Its restarts."""
        run = read_json(ScaleRun, path / SCALING_RECORD)
        plays = (len(run.plays), "play")
        return RunProgress("what would more cores do?", run.played, run.wanted, plays)


def read_whole_run(path: Path) -> ScaleRun:
    """The record of a run; `UsageError` where it is not over, and nothing can be forecast."""
    run = read_json(ScaleRun, path / SCALING_RECORD)
    if run.played < run.wanted:
        raise UsageError(f"{path.name} is not over", hint=f"dyno resume {path.name}")
    return run


INSTRUMENT = Scale()
