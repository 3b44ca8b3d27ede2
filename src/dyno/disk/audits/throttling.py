"""Audit `throttling`: does the rate fall after some minutes?

Cloud disks have credits for bursts, SSDs a fast cache in front of slow flash, and both get hot: the
first minutes are not the rest. All jobs count, each beside its own mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log
from statistics import fmean, median

from dyno.record.disk import DiskFinding, DiskRun, DiskSide

#: Fewer blocks have no beginning and end; and what a rate that fell must have lost, in percent.
BLOCKS_LEAST, FALL_PERCENT = 4, 25.0


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side."""
    for side in run.sides:
        if run.blocks < BLOCKS_LEAST:
            sentence = f"{side.name}: {run.blocks} blocks are too few to tell whether rates fall."
            yield DiskFinding("throttling", "not checked", sentence, (side.name,))
            continue
        levels = list_levels(run, side)
        split = find_fall(levels)
        if split is None:
            sentence = f"{side.name}: no rate fell over {run.blocks} blocks."
            yield DiskFinding("throttling", "sound", sentence, (side.name,))
            continue
        lost = 100.0 * (1.0 - fmean(levels[split:]) / fmean(levels[:split]))
        minutes = min(p.at_s for p in run.plays if p.side == side.name and p.block == split) / 60.0
        sentence = (
            f"{side.name}: rates fell by {lost:.0f} % after {minutes:.1f} minutes and stayed "
            "there, as burst credits, a drive's fast cache, or heat end."
        )
        yield DiskFinding("throttling", "doubtful", sentence, (side.name,))


def list_levels(run: DiskRun, side: DiskSide) -> list[float]:
    """How fast each block was: the median over the jobs of its rate beside that job's mean."""
    ratios: dict[int, list[float]] = {}
    for job in run.jobs:
        plays = run.find_plays(side.name, job.name)
        mean = exp(fmean(log(play.rate) for play in plays))
        for play in plays:
            ratios.setdefault(play.block, []).append(play.rate / mean)
    return [median(ratios[block]) for block in sorted(ratios)]


def find_fall(levels: list[float]) -> int | None:
    """The block from which on every block is slower by `FALL_PERCENT` than every block before it,
    which are two on each side at least; None where there is none.
    """
    for at in range(2, len(levels) - 1):
        if max(levels[at:]) <= (1.0 - FALL_PERCENT / 100.0) * min(levels[:at]):
            return at
    return None
