"""The search of one restart: brackets the rate at the limit, halves the bracket, and asks both ends
again, since one step that a hiccup broke would else lead it astray.

It knows no engine: `choose_rate` says what to play, `take` hears what came of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dyno.record.capacity import CapacityStep

#: A bracket is narrow where its ends differ by this at most.
NARROW = 1.04
#: The first widening of a bracket; each further one is twice as far.
WIDEN_FIRST, WIDEN_LATER = 1.2, 1.04
#: The farthest that a step lies from all others.
REACH_MOST = 4.0
#: Steps of a restart at most: a host that answers differently each time has no bracket.
STEPS_MOST = 16
#: Steps at each end of the bracket before it counts.
ASKED = 2


@dataclass
class RateSearch:
    """A search from `start_per_s`, never below `lowest_per_s`; `widen` is how far the second step
    lies from the first.
    """

    start_per_s: float
    lowest_per_s: float
    widen: float
    steps: list[CapacityStep] = field(default_factory=list)
    exhausted: bool = False

    @property
    def bracket(self) -> tuple[float | None, float | None]:
        """The highest rate that held, and the lowest above it that broke, as the last word at each
        rate has it: the most frequent one, the later one where there are as many.
        """
        held = [rate for rate, word in self._judged.items() if word]
        broke = [rate for rate, word in self._judged.items() if not word]
        low, high = max(held, default=None), min(broke, default=None)
        if low is not None and high is not None and low >= high:
            # they contradict each other: what most of the steps around say is asked again
            high = min((rate for rate in broke if rate > low), default=None)
        return low, high

    @property
    def _judged(self) -> dict[float, bool]:
        words: dict[float, list[bool]] = {}
        for step in self.steps:
            words.setdefault(step.rate_per_s, []).append(step.holds)
        return {
            rate: sum(each) * 2 > len(each) or (sum(each) * 2 == len(each) and each[-1])
            for rate, each in words.items()
        }

    def choose_rate(self) -> float | None:
        """The rate of the next step; None where the search is over."""
        if not self.steps:
            return max(self.start_per_s, self.lowest_per_s)
        if len(self.steps) >= STEPS_MOST:
            return None
        low, high = self.bracket
        if high is None:
            return max(step.rate_per_s for step in self.steps) * self._choose_factor()
        if low is None:
            least = min(step.rate_per_s for step in self.steps)
            if least <= self.lowest_per_s:
                self.exhausted = self._count(least) >= ASKED
                return None if self.exhausted else least
            return max(self.lowest_per_s, least / self._choose_factor())
        if high / low > NARROW:
            return math.sqrt(low * high)
        for rate in (low, high):
            if self._count(rate) < ASKED:
                return rate
        return None

    def _choose_factor(self) -> float:
        """How far the next step lies beyond all others: twice as far as the last, in logs, where
        that led nowhere.
        """
        last, run = self.steps[-1], set[float]()
        for step in reversed(self.steps):
            if step.holds != last.holds:
                break
            run.add(step.rate_per_s)
        widened = math.ldexp(math.log(self.widen), len(run) - 1)
        return math.exp(min(widened, math.log(REACH_MOST)))

    def _count(self, rate: float) -> int:
        return sum(step.rate_per_s == rate for step in self.steps)

    def take(self, step: CapacityStep) -> None:
        """Notes a step."""
        self.steps.append(step)
