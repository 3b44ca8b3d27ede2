"""What the judge states and how often it holds: counts, the gate on counts, bisections, plans.

Each line is a claim, the share of simulated cases in which it held by the judge's own functions,
and the share by what stood there before: pooled variances of counts, every step of a count a
change, and blocks taken as independent where loads of the data rotate.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from paired import quick, table
from scipy.special import stdtrit

from dyno.compare.bisect.points import BisectPoint
from dyno.compare.bisect.search import CONFIDENCE, BisectAnswer, Bisection
from dyno.compare.history.exact import find_steps
from dyno.compare.history.points import ExactRepeats
from dyno.judge.analysis.counts import judge_change
from dyno.judge.stats.interval import compute_error, extract_independent_data
from dyno.judge.stats.log_ratio import Floats, to_log
from dyno.judge.stats.power import compute_sd_bound
from dyno.judge.stats.scenarios import make_loaded
from dyno.record.count import CandidateCount

CASES, QUICK_CASES = 20_000, 400
#: Points of a bisection, blocks of a comparison, the step, and the sd of a load and of a block.
POINTS, BLOCKS, STEP_PERCENT, SD = 12, 24, 3.0, 0.01
MARGIN_PERCENT = 0.5

Row = tuple[str, str, str, str]


def main() -> None:
    """The table, and a line of JSON."""
    cases = QUICK_CASES if quick("judge-claims") else CASES
    rng = np.random.default_rng(53)
    rows = [
        ("claim", "stated", "held", "held before"),
        *judge_intervals(rng, cases),
        *judge_nights(rng, cases // 20),
        *judge_plans(rng, cases),
        *judge_bisections(rng, cases // 20),
    ]
    table(rows)
    print(json.dumps({"bench": "judge-claims", "cases": cases, "held_ratio": float(rows[1][2])}))


def _count(repeats: Floats) -> CandidateCount:
    return CandidateCount("it", tuple(repeats.tolist()), (), ())


def judge_intervals(rng: np.random.Generator, cases: int) -> Iterator[Row]:
    """Two counts of one build, of which one varies by 1 % and the other by a part of that."""
    for repeats, spread in ((2, 0.0), (2, 0.1), (2, 1.0), (4, 0.0), (4, 1.0)):
        sides = [rng.normal(1000.0, sd, (cases, repeats)) for sd in (10.0, 10.0 * spread)]
        held = before = 0
        for one, two in zip(*sides, strict=True):
            found = judge_change(_count(one), _count(two), MARGIN_PERCENT)
            held += found.low <= 0.0 <= found.high
            error = math.sqrt((one.var(ddof=1) + two.var(ddof=1)) / repeats)
            reach = -float(stdtrit(2 * repeats - 2, 0.025)) * error
            before += abs(two.mean() - one.mean()) <= reach
        claim = f"count, {repeats} repetitions, sd 1 % and {spread:g} %: interval"
        yield claim, "0.950", f"{held / cases:.3f}", f"{before / cases:.3f}"


def judge_nights(rng: np.random.Generator, cases: int) -> Iterator[Row]:
    """Thirty nights of one build, its counts varying by 3 %: is it never heavier than itself?"""
    for repeats in (2, 4):
        nights = rng.normal(1000.0, 30.0, (cases, 30, repeats))
        one = ever = before = 0
        for series in nights:
            counted = [ExactRepeats(tuple(own), 1, MARGIN_PERCENT) for own in series.tolist()]
            one += not _is_heavier(counted[:2])
            ever += not _is_heavier(counted)
            means = series.mean(axis=1)
            before += bool(abs(means[1] / means[0] - 1.0) * 100.0 < MARGIN_PERCENT)
        claim = f"gate on counts, {repeats} repetitions, sd 3 %: not heavier than itself"
        yield f"{claim}, of two nights", "0.975", f"{one / cases:.3f}", f"{before / cases:.3f}"
        yield f"{claim}, in any of 30 nights", "0.950", f"{ever / cases:.3f}", "0.000"


def _is_heavier(counted: list[ExactRepeats]) -> bool:
    found = find_steps(counted)
    return any(each.word == "slower" for each in found.values())


def judge_plans(rng: np.random.Generator, cases: int) -> Iterator[Row]:
    """Does the bound of a block's sd, known from 24 blocks, hold where loads make most of it?"""
    for loads in (8, 3):
        logs = make_loaded(loads, 3 * SD)(rng, (cases, BLOCKS), SD)
        sd, truth = logs.std(axis=1), math.sqrt(2 * (3 * SD) ** 2 + SD**2)
        freedom = compute_error(extract_independent_data(logs, _rotate(loads)))[1]
        held, before = (
            float((compute_sd_bound(1.0, n) * sd * math.sqrt((n + 1) / n) >= truth).mean())
            for n in (freedom, BLOCKS - 1)
        )
        claim = f"plan, {loads} loads rotated: upper bound of the spread"
        yield claim, "0.800", f"{held:.3f}", f"{before:.3f}"


def _rotate(loads: int) -> list[int]:
    return [block % loads for block in range(BLOCKS)]


@dataclass(frozen=True)
class _Oracle:
    """Comparisons over which loads rotate; `is_former` takes every block for a datum."""

    place: int
    loads: int
    rng: np.random.Generator
    is_former: bool

    def measure(self, base: BisectPoint, point: BisectPoint, margin: float | None) -> BisectAnswer:
        """As `Oracle`."""
        logs = make_loaded(self.loads, SD)(self.rng, (1, BLOCKS), SD)[0]
        logs = logs + to_log(STEP_PERCENT) * (int(point.name) >= self.place)
        data = extract_independent_data(logs, _rotate(self.loads))
        error, freedom = compute_error(data)
        reach = -float(stdtrit(freedom, 0.025)) * float(error)
        word = "slower" if data.mean() > reach else "inconclusive"
        if self.is_former:
            error, freedom = compute_error(logs)
        return BisectAnswer(float(data.mean()), float(error), freedom, word, "")


def judge_bisections(rng: np.random.Generator, cases: int) -> Iterator[Row]:
    """The probability that a bisection tells, and how often the step is in its answer."""
    points = [BisectPoint("", str(at)) for at in range(POINTS)]
    for loads in (8, 3):
        shares = []
        for is_former in (False, True):
            claims, held = [], []
            for place in rng.integers(1, POINTS, cases).tolist():
                oracle = _Oracle(place, loads, rng, is_former)
                found = Bisection(points, oracle, lambda _: None).find_step()
                if found.first and found.probability >= CONFIDENCE:
                    claims.append(found.probability)
                    held.append(found.first <= place <= found.last)
            shares.append((np.mean(claims), np.mean(held)))
        (stated, held_now), (claimed, held_before) = shares
        before = f"{held_before:.3f} (stated {claimed:.3f})"
        yield f"bisect, {loads} loads rotated", f"{stated:.3f}", f"{held_now:.3f}", before


if __name__ == "__main__":
    main()
