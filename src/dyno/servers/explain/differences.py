"""Two explanations side by side: which stage is the first that differs, by the rounds' intervals.

A datum is a connection: its rounds share what it happened to get. Rounds of two servers that are
both up alternate, so that what the host does meanwhile hits both: pairs are compared. Those of an
earlier file pair with nothing: all differences of one of its connections and one of ours count
(Hodges and Lehmann's estimate, Wilcoxon's interval).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median, quantiles

from dyno.record.explanation import Explanation, PathStage

#: Ten stages are looked at: that one of them differs by chance stays below 2 in 100.
CONFIDENCE = 0.998
#: A stage's difference matters where it is this part of the whole, at least: rounds over a few
#: connections of one start say nothing of what another start would bring.
MATTERS = 0.05


@dataclass(frozen=True)
class StageDifference:
    """A stage of both, its times in µs, and how much the second takes more: an interval, None if
    one of them lacks the stage or too few rounds were played. `matters`: it is not chance, and not
    small beside the whole.
    """

    name: str
    first: PathStage
    second: PathStage
    difference_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    matters: bool = False


def compare_stages(
    first: Explanation, second: Explanation, *, is_paired: bool
) -> list[StageDifference]:
    """Every stage, in the order of the path."""
    whole_us = _choose_whole_us(first, second)
    of_second = {stage.name: stage for stage in second.stages}
    return [
        _compare_stage(
            _Side(stage, first.sessions),
            _Side(of_second[stage.name], second.sessions),
            whole_us,
            is_paired,
        )
        for stage in first.stages
        if stage.name in of_second
    ]


def compare_bare(first: Explanation, second: Explanation, *, is_paired: bool) -> StageDifference:
    """The bare times, as if they were a stage."""
    whole_us = _choose_whole_us(first, second)
    a, b = (_Side(PathStage("execute", it.bare_us), it.sessions) for it in (first, second))
    return _compare_stage(a, b, whole_us, is_paired)


def _choose_whole_us(first: Explanation, second: Explanation) -> float:
    """Return what a stage's difference is compared with: the shorter bare time, or what the longer
    has more, so that a hundredth of a large difference is not called the first.
    """
    short, long = sorted(compute_median(it.bare_us) for it in (first, second))
    return max(short, long - short)


def find_first(rows: Sequence[StageDifference]) -> StageDifference | None:
    """The first stage that differs; what is not attributed is no stage."""
    return next((row for row in rows[:-1] if row.matters), None)


def _compare_stage(
    first: _Side, second: _Side, whole_us: float, is_paired: bool
) -> StageDifference:
    a, b = first.list_data(second), second.list_data(first)
    if not a or not b:
        return StageDifference(first.stage.name, first.stage, second.stage)
    estimate, low, high = _estimate_pairs(a, b) if is_paired else _estimate_all(a, b)
    if low is None or high is None:
        return StageDifference(first.stage.name, first.stage, second.stage, estimate)
    is_chance = low <= 0.0 <= high
    matters = not is_chance and abs(estimate) >= MATTERS * whole_us
    return StageDifference(
        first.stage.name, first.stage, second.stage, estimate, low, high, matters
    )


@dataclass(frozen=True)
class _Side:
    """A stage, and in which connection each of its rounds was played."""

    stage: PathStage
    sessions: tuple[int, ...]

    def list_data(self, other: _Side) -> list[float]:
        """Return a datum for each connection, the median of its rounds: rounds of one connection
        are not independent. Without a lock wait the wait is 0.
        """
        if self.stage.name == "lock wait" and not self.stage.us:
            return [0.0] * len(other.list_data(self)) if other.stage.us else []
        of_session: dict[int, list[float]] = {}
        numbers = self.sessions or range(len(self.stage.us))
        for session, us in zip(numbers, self.stage.us, strict=False):
            of_session.setdefault(session, []).append(us)
        return [median(them) for them in of_session.values()]


Bounds = tuple[float, float | None, float | None]


def _estimate_pairs(a: Sequence[float], b: Sequence[float]) -> Bounds:
    """The median of the pairs' differences, and its interval by their order: no distribution is
    assumed.
    """
    differences = sorted(y - x for x, y in zip(a, b, strict=False))
    depth = _find_depth(len(differences))
    if depth is None:
        return median(differences), None, None
    return median(differences), differences[depth], differences[-1 - depth]


def _find_depth(n: int) -> int | None:
    """How many of n ordered data may be left out at each end of the median's interval."""
    left, depth = 0.0, -1
    while True:
        left += math.comb(n, depth + 1) / 2.0**n
        if left > (1 - CONFIDENCE) / 2 or depth + 1 > n // 2:
            return depth if depth >= 0 else None
        depth += 1


def _estimate_all(a: Sequence[float], b: Sequence[float]) -> Bounds:
    """The median of all differences, and its interval by Wilcoxon's rank sum (normal form)."""
    differences = sorted(y - x for x in a for y in b)
    n, m = len(a), len(b)
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    depth = math.floor(n * m / 2 - z * math.sqrt(n * m * (n + m + 1) / 12))
    if depth < 1:
        return median(differences), None, None
    return median(differences), differences[depth - 1], differences[-depth]


def compute_median(us: Sequence[float]) -> float:
    return median(us) if us else 0.0


def find_middle(us: Sequence[float]) -> tuple[float, float]:
    """Return the quartiles: the times between which the middle half lies."""
    if len(us) < 2:
        return (us[0], us[0]) if us else (0.0, 0.0)
    low, _, high = quantiles(us, n=4, method="inclusive")
    return low, high
