"""Audit `throttling`: does the rate fall after some minutes?

Cloud disks have credits for bursts, SSDs a fast cache in front of slow flash, and both get hot: the
first minutes are not the rest. Between blocks all jobs count, each beside its own mean; within a
play the rates that fio logs do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, exp, log
from statistics import fmean, median

from dyno.instruments.disk.fio import PARTS
from dyno.record.disk import DiskFinding, DiskRun, DiskSide

#: Fewer blocks have no beginning and end; and what a rate that fell must have lost, in percent.
BLOCKS_LEAST, FALL_PERCENT = 4, 25.0
#: Of the parts of a play, so many on each side of a fall at least, of which one may be otherwise.
PARTS_LEAST = PARTS // 5
#: A job falls where so many of its plays do, and two of them unless there is only one: a single
#: fall may be somebody else's doing.
PLAYS_SHARE, PLAYS_LEAST = 0.2, 2
WHY = "as burst credits, a drive's fast cache, or heat end"


@dataclass(frozen=True)
class _Fall:
    """A fall within the plays of a job: how much of the rate was lost, after how long, and in how
    many plays.
    """

    job: str
    lost_percent: float
    after_s: float
    plays: int
    of: int


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side."""
    for side in run.sides:
        sentence, jobs = _describe_fall(run, side)
        if sentence:
            yield DiskFinding("throttling", "doubtful", sentence, sides=(side.name,), jobs=jobs)
        elif run.blocks < BLOCKS_LEAST:
            sentence = f"{side.name}: {run.blocks} blocks are too few to tell whether rates fall."
            yield DiskFinding("throttling", "not checked", sentence, sides=(side.name,))
        else:
            sentence = f"{side.name}: no rate fell, within a play or over {run.blocks} blocks."
            yield DiskFinding("throttling", "sound", sentence, sides=(side.name,))


def _describe_fall(run: DiskRun, side: DiskSide) -> tuple[str, tuple[str, ...]]:
    """Where the rates of a side fell, between blocks or within plays, and of which jobs; empty
    where they did not.
    """
    levels = list_levels(run, side) if run.blocks >= BLOCKS_LEAST else []
    if (split := find_fall(levels)) is not None:
        lost = 100.0 * (1.0 - fmean(levels[split:]) / fmean(levels[:split]))
        minutes = min(p.at_s for p in run.plays if p.side == side.name and p.block == split) / 60.0
        when = f"rates fell by {lost:.0f} % after {minutes:.1f} minutes"
        return f"{side.name}: {when} and stayed there, {WHY}.", ()
    falls = [fall for job in run.jobs if (fall := _find_fall_in_job(run, side, job.name))]
    if not falls:
        return "", ()
    worst = max(falls, key=lambda fall: fall.lost_percent)
    sentence = (
        f"{side.name}: within '{worst.job}' the rate fell by {worst.lost_percent:.0f} % after "
        f"{worst.after_s:.1f} s and stayed there, in {worst.plays} of {worst.of} plays, {WHY}."
    )
    return sentence, tuple(fall.job for fall in falls)


def list_levels(run: DiskRun, side: DiskSide) -> list[float]:
    """How fast each block was: the median over the jobs of its rate beside that job's mean."""
    ratios: dict[int, list[float]] = {}
    for job in run.jobs:
        rates = run.compute_rates(side.name, job.name)
        mean = exp(fmean(log(rate) for rate in rates))
        for block, rate in enumerate(rates):
            ratios.setdefault(block, []).append(rate / mean)
    return [median(ratios[block]) for block in sorted(ratios)]


def find_fall(levels: Sequence[float]) -> int | None:
    """The block from which on every block is slower by `FALL_PERCENT` than every block before it,
    which are two on each side at least; None where there is none.
    """
    for at in range(2, len(levels) - 1):
        if max(levels[at:]) <= (1.0 - FALL_PERCENT / 100.0) * min(levels[:at]):
            return at
    return None


def _find_fall_in_job(run: DiskRun, side: DiskSide, job: str) -> _Fall | None:
    plays = run.find_plays(side.name, job)
    found = [(play, at) for play in plays if (at := find_fall_within(play.rates)) is not None]
    least = max(min(PLAYS_LEAST, len(plays)), ceil(PLAYS_SHARE * len(plays)))
    if not found or len(found) < least:
        return None
    lost = [100.0 * (1.0 - fmean(p.rates[at:]) / fmean(p.rates[:at])) for p, at in found]
    after = [play.duration_s * at / len(play.rates) for play, at in found]
    return _Fall(job, median(lost), median(after), len(found), len(plays))


def find_fall_within(rates: Sequence[float]) -> int | None:
    """The part of a play from which on its parts are slower by `FALL_PERCENT` than those before,
    but for one on each side; of several the one with the largest fall, None where there is none.
    """
    falls = {}
    for at in range(PARTS_LEAST, len(rates) - PARTS_LEAST + 1):
        before, after = sorted(rates[:at]), sorted(rates[at:])
        if after[-2] <= (1.0 - FALL_PERCENT / 100.0) * before[1]:
            falls[at] = fmean(before) - fmean(after)
    return max(falls, key=lambda at: falls[at], default=None)
