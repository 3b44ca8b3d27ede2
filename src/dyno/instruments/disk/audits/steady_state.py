"""Audit `steady_state`: was the drive preconditioned, so that its writes cost what they will?

An empty SSD writes faster than one that has to clear blocks first. SNIA's test specification (SSS
PTS 2.0.1, steady state) takes five rounds: their rates lie within `RANGE_SHARE` of the mean, and a
line through them rises or falls by at most `SLOPE_SHARE` of it. A round here is a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, linear_regression

from dyno.record.disk import DiskFinding, DiskJob, DiskRun, DiskSide

ROUNDS = 5
RANGE_SHARE, SLOPE_SHARE = 0.2, 0.1


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side, of its jobs that write and wait for nothing."""
    for side in run.sides:
        jobs = [job for job in run.list_jobs(side) if job.is_write and not job.sync]
        if jobs:
            yield _judge_side(run, side, jobs)
        else:
            sentence = f"{side.name}: nothing is written without a wait."
            yield DiskFinding("steady_state", "does not apply", sentence, sides=(side.name,))


def _judge_side(run: DiskRun, side: DiskSide, jobs: Sequence[DiskJob]) -> DiskFinding:
    if run.blocks < ROUNDS:
        sentence = f"{side.name}: {run.blocks} blocks are fewer than the {ROUNDS} rounds of SNIA's."
        return DiskFinding("steady_state", "not checked", sentence, sides=(side.name,))
    unsteady = [job.name for job in jobs if not is_steady(_list_rates(run, side, job))]
    if not unsteady:
        sentence = f"{side.name}: writes are steady by SNIA's rule of {ROUNDS} rounds."
        return DiskFinding("steady_state", "sound", sentence, sides=(side.name,))
    written = sum(play.owed_bytes or 0 for play in run.plays if play.side == side.name)
    whole = side.device.size_bytes
    share = f", {written / 1e9:.1f} GB of its {whole / 1e9:.0f} GB were written" if whole else ""
    sentence = (
        f"{side.name}: '{unsteady[0]}' is not steady by SNIA's rule (5 rounds within 20 %, slope "
        f"within 10 %){share}: not preconditioned, or others use the disk."
    )
    return DiskFinding(
        "steady_state", "doubtful", sentence, sides=(side.name,), jobs=tuple(unsteady)
    )


def _list_rates(run: DiskRun, side: DiskSide, job: DiskJob) -> list[float]:
    return run.compute_rates(side.name, job.name)[-ROUNDS:]


def is_steady(rates: Sequence[float]) -> bool:
    """SNIA's rule for the rates of some rounds."""
    mean = fmean(rates)
    slope = linear_regression(range(len(rates)), rates).slope
    return (
        max(rates) - min(rates) <= RANGE_SHARE * mean
        and abs(slope) * (len(rates) - 1) <= SLOPE_SHARE * mean
    )
