"""Restarts that failed, held against the base's: who crashes more often is not cleared.

What is compared are restarts that ended well, so a candidate that crashes is judged by the
survivors. Where it failed significantly more often than the base it is neither *not slower* nor
*faster*, whatever they say (docs/METHOD.md, The words).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dyno.judge.analysis.effects import Effect
from dyno.judge.stats.verdict import fisher_p
from dyno.record import Trial

#: Workload and candidate.
Side = tuple[str, str]


@dataclass(frozen=True)
class Restarts:
    """How many restarts ended, well or not, and how many of them failed."""

    ended: int
    failed: int

    def __str__(self) -> str:
        return f"{self.failed} of {self.ended}"


def count_restarts(trials: Sequence[Trial]) -> dict[Side, Restarts]:
    """The restarts of each side, in blocks that count or do not; interrupted ones are none."""
    places = [(t.status, (t.workload, t.candidate)) for t in trials if not t.is_floor]
    failed = Counter(side for status, side in places if status == "failed")
    ended = Counter(side for status, side in places if status in ("ok", "failed"))
    return {side: Restarts(ended[side], failed[side]) for side in ended}


def find_excess_failures(
    restarts: Mapping[Side, Restarts], workload: str, effect: Effect, alpha: float
) -> str:
    """That the candidate's cells failed more often than the base's, by a one-sided exact test at
    `alpha`; else empty. Of a mean over all workloads (a name that none has) all restarts count.
    """
    own = _add_up(restarts, workload, (c for c, w in effect.weights.items() if w > 0))
    base = _add_up(restarts, workload, (c for c, w in effect.weights.items() if w < 0))
    p_value = fisher_p(own.failed, own.ended, base.failed, base.ended)
    if p_value > alpha:
        return ""
    return (
        f"{effect.candidate} failed in {own} restarts and {effect.base} in {base} "
        f"(Fisher's exact test, p = {p_value:.2g}), so it is not cleared by those that did not"
    )


def _add_up(restarts: Mapping[Side, Restarts], workload: str, cells: Iterable[str]) -> Restarts:
    known, among = any(name == workload for name, _ in restarts), set(cells)
    found = [
        each
        for (name, cell), each in restarts.items()
        if cell in among and (name == workload or not known)
    ]
    return Restarts(sum(r.ended for r in found), sum(r.failed for r in found))
