"""What a disk does under a database: fio's jobs as data, played on paths and devices, and audited.

Files of ours have no name, and loop devices of ours go with their last user, so that nothing
stays behind however we end.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.record import RunSummary
from dyno.record.disk import DISK_RECORD, DiskRun
from dyno.runs.run_folder import Instrument, RunFolder, RunProgress, read_json
from dyno.runs.run_summary import add_host

if TYPE_CHECKING:
    from dyno.report.result import Result


class Disk(Instrument):
    """Runs of `dyno disk`."""

    name, noun, said, record = "disk", "a run of disks", "disks measured", DISK_RECORD
    command = "disk"

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """The verdict on its paths."""
        from dyno.instruments.disk.verdict import judge_disks

        run = read_json(DiskRun, path / DISK_RECORD)
        verdict = judge_disks(run)
        made = replace(
            plain,
            created_utc=run.created_utc,
            question=run.question,
            candidates=tuple(side.name for side in run.sides),
            workloads=(run.matrix,),
            overall=verdict.overall,
            sentence=verdict.sentence,
            complete=verdict.complete,
            is_doubtful=bool(verdict.doubts),
        )
        made = replace(made, is_playing=not made.complete and RunFolder(path).is_played())
        return add_host(made, run.host)

    def read_result(self, path: Path) -> Result:
        """The verdict, and the rate of each job in each block."""
        from dyno.instruments.disk.verdict import judge_disks
        from dyno.report.disks import build_disk_result

        run = read_json(DiskRun, path / DISK_RECORD)
        return build_disk_result(run, judge_disks(run))

    def read_progress(self, path: Path) -> RunProgress:
        """Its blocks, and the intervals of jobs from the second one on."""
        from dyno.instruments.disk.verdict import judge_disks

        run = read_json(DiskRun, path / DISK_RECORD)
        rows = judge_disks(run).comparisons if run.blocks > 1 else ()
        return RunProgress(
            f"{len(run.jobs)} jobs on {len(run.sides)} paths",
            run.blocks,
            run.analyses[-1],
            (len(run.plays), "play"),
            rows=[(it.metric.phase, it) for it in rows],
        )


INSTRUMENT = Disk()
