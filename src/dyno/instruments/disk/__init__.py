"""What a disk does under a database: fio's jobs as data, played on paths and devices, and audited.

Files of ours have no name, and loop devices of ours go with their last user, so that nothing
stays behind however we end.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.record import Candidate, RunSummary
from dyno.record.decode import encode
from dyno.record.disk import DISK_RECORD, DiskJob, DiskRun, DiskSide
from dyno.runs.run_folder import (
    Instrument,
    MeasuredPoint,
    MeasuredRun,
    RunProgress,
    read_json,
)
from dyno.runs.run_summary import add_host, add_verdict, list_outcomes

if TYPE_CHECKING:
    from dyno.report.result import Result


class Disk(Instrument):
    """Runs of `dyno disk`."""

    name, noun, said, record = "disk", "a run of disks", "disks measured", DISK_RECORD
    command, has_history = "disk", True

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """The verdict on its paths."""
        from dyno.instruments.disk.verdict import judge_disks

        run = read_json(DiskRun, path / DISK_RECORD)
        verdict = judge_disks(run)
        sides = [Candidate(it.name, it.path, "disk", True, {}, {}, {}) for it in run.sides]
        made = replace(
            plain,
            created_utc=run.created_utc,
            question=run.question,
            candidates=tuple(side.name for side in run.sides),
            workloads=(run.matrix,),
            outcomes=list_outcomes(sides, verdict.comparisons),
        )
        return add_host(add_verdict(made, verdict, path), run.host)

    def read_result(self, path: Path) -> Result:
        """The verdict, and the rate of each job in each block."""
        from dyno.instruments.disk.verdict import judge_disks
        from dyno.report.disks import build_disk_result

        run = read_json(DiskRun, path / DISK_RECORD)
        return build_disk_result(run, judge_disks(run))

    def read_points(self, path: Path) -> MeasuredRun:
        """The rate and the latency of each job on each path, but for what is invalid."""
        from dyno.instruments.disk.audits import judge_run

        run = read_json(DiskRun, path / DISK_RECORD)
        wrong = [it for it in judge_run(run) if it.soundness == "invalid"]
        points, losses = [], []
        for side in run.sides:
            for job in run.list_jobs(side):
                found = next((it for it in wrong if it.covers(side.name, job.name)), None)
                if found:
                    losses.append(f"'{job.name}' on {side.name} is invalid: {found.sentence}")
                elif run.blocks:
                    points += _measure_job(run, side, job)
        base = run.sides[0].name
        identity = run.created_utc, run.seed, run.name
        return MeasuredRun(*identity, points, run.host, base, losses, series=run.series)

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


def _measure_job(run: DiskRun, side: DiskSide, job: DiskJob) -> list[MeasuredPoint]:
    """Its operations a second, and the 99th percentile of their latency."""
    told = {f"job {name}": str(value) for name, value in encode(job).items() if name != "name"}
    told |= {"fio": run.fio, "played for": f"{run.play_s:g} s, {run.slices} times a block"}
    told |= {name: str(getattr(side, name)) for name in ("size_bytes", "content", "file_system")}
    told |= {"device": side.device.name, "mounted": ",".join(side.mount_options)}
    told |= {"scheduler": side.scheduler or side.device.scheduler}
    plays = run.find_plays(side.name, job.name)
    blocks = {
        play.block: [it.total.p99 for it in plays if it.block == play.block] for play in plays
    }
    metric = run.find_metric(job.name)
    latency = replace(metric, name="latency_ns_p99", unit="ns", better="lower")
    numbers = {
        metric: run.compute_rates(side.name, job.name),
        latency: [sum(own) / len(own) for own in blocks.values()],
    }
    # a path is no build: nothing but time lies between two points of its series
    candidate = Candidate(side.name, side.path, "disk", True, {}, {}, {})
    options = {"path": side.path} | side.changes
    return [
        MeasuredPoint(metric, candidate, tuple(values), options, alike=told)
        for metric, values in numbers.items()
        if min(values) > 0
    ]


INSTRUMENT = Disk()
