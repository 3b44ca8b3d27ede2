"""Two builds of an engine, or two engines, asked the same by chance, and what they answer
otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.numbers import format_count
from dyno.record import RunSummary
from dyno.record.differ import DIFFER_RECORD, DifferRun
from dyno.runs.run_folder import Instrument, RunProgress, read_json
from dyno.runs.run_summary import add_host

if TYPE_CHECKING:
    from dyno.report.result import Result


class Differ(Instrument):
    """Runs of `dyno differ`."""

    name, noun, said, record = "differ", "a search for differences", "differences", DIFFER_RECORD
    command = "differ"

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """What was found."""
        from dyno.report.differ import describe_run

        run = read_json(DifferRun, path / DIFFER_RECORD)
        made = replace(
            plain,
            created_utc=run.created_utc,
            candidates=tuple(side.name for side in run.sides),
            sentence=describe_run(run),
        )
        return add_host(made, run.host)

    def read_result(self, path: Path) -> Result:
        """Each difference, with its script and both answers."""
        from dyno.report.differ import build_differ_result

        return build_differ_result(read_json(DifferRun, path / DIFFER_RECORD))

    def read_progress(self, path: Path) -> RunProgress:
        """Its scripts so far."""
        run = read_json(DifferRun, path / DIFFER_RECORD)
        found = len(run.open_finds)
        told = f"{run.name}: {format_count(found, 'difference')}"
        return RunProgress(told, played=(run.scripts, "script"))


INSTRUMENT = Differ()
