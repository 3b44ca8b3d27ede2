"""How long a run's blocks take: learnt while it is played, for scripts by count only guess it."""

from __future__ import annotations

from collections.abc import Callable

from dyno.runs.forecast.estimate import estimate_cost
from dyno.runs.resolve.draft import Prepared

#: Seconds by which a block has to be late to be told.
TOLD_S = 5.0


class RunLength:
    """How long a run's blocks take, beside what was foretold and what they may take."""

    def __init__(
        self, prepared: Prepared, budget_s: float | None, clock: Callable[[], float]
    ) -> None:
        self._foretold_s = estimate_cost(prepared).block_s
        self._analyses, self._clock = prepared.run.design.analyses, clock
        phases = [phase for workload in prepared.workloads for phase in workload.phases]
        is_open = any(phase.stop.kind != "time" for phase in phases)
        self._budget_s = budget_s if is_open else None
        self._begun_s = self._latest_s = clock()
        self._longest_s = 0.0

    def has_room(self) -> bool:
        """Does another block end within the budget?"""
        self._latest_s = self._clock()
        spent_s = self._latest_s - self._begun_s
        return self._budget_s is None or spent_s + self._longest_s <= self._budget_s

    def learn(self) -> str:
        """A block is over; what the first says of the rest, where it took far longer."""
        block_s, is_first = self._clock() - self._latest_s, not self._longest_s
        self._longest_s = max(self._longest_s, block_s)
        if not is_first or block_s < max(2 * self._foretold_s, self._foretold_s + TOLD_S):
            return ""
        few, most = self._analyses[0], self._analyses[-1]
        return (
            f"a block takes {block_s:,.0f} s, not {self._foretold_s:,.1f} s: {few} blocks take "
            f"about {few * block_s / 60:,.0f} min, {most} at most {most * block_s / 60:,.0f} min"
        )
