"""The search for the step between two points: which is measured next, and when it is found.

A point is measured against the good end. *Inconclusive* is never "good": its estimate counts with
its error, and a point is measured again where nothing else divides what is left. A point that
cannot be built is left out, so that the answer may be a range.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dyno.compare.bisect.points import BisectPoint
from dyno.errors import DynoError
from dyno.judge.stats.change_point import Measurement, choose_next, compute_step_posterior
from dyno.judge.stats.log_ratio import Floats

#: How sure the answer is, and how often a point is measured at most.
CONFIDENCE, TIMES_MAX = 0.95, 3
#: A level that lies so many errors, and such a share of the step, off both of one step's levels is
#: of another step.
MISFIT_ERRORS, MISFIT_SHARE = 4.0, 0.1


@dataclass(frozen=True)
class BisectAnswer:
    """What a measurement of a point against the good end said: the log time ratio with its standard
    error and degrees of freedom, the verdict's word, where its record lies, and the change as it is
    told.
    """

    log_ratio: float
    error: float
    freedom: float
    word: str
    record: str
    percent: float = math.nan

    @property
    def differs(self) -> bool:
        """Is it another level than the base's, as far as the oracle goes?"""
        return self.word not in ("inconclusive", "invalid") and not self.word.startswith("not ")


class Oracle(Protocol):
    """Measures a point against another; `DynoError` where one cannot be built or played."""

    def measure(self, base: BisectPoint, point: BisectPoint, margin: float | None) -> BisectAnswer:
        """The answer; `margin` in percent, None for the oracle's own."""


@dataclass(frozen=True)
class BisectStep:
    """One step of the search: an answer, or why there is none; `left` is the range that holds the
    step with `CONFIDENCE`.
    """

    place: int
    answer: BisectAnswer | None
    skipped: str
    left: tuple[int, int]


@dataclass(frozen=True)
class Found:
    """Where the step is: the first changed point is one of `first` … `last`, with `probability`.

    `first` is 0 where the ends do not differ: there is nothing to find. `misfits` are points whose
    level is neither the old nor the new one, so that there may be several steps.
    """

    first: int
    last: int
    probability: float
    end: BisectAnswer
    misfits: tuple[int, ...] = ()


@dataclass
class Bisection:
    """A search over `points`; `tell` is given each step when it is over."""

    points: Sequence[BisectPoint]
    oracle: Oracle
    tell: Callable[[BisectStep], None]
    answers: list[tuple[int, BisectAnswer]] = field(default_factory=list)
    skipped: set[int] = field(default_factory=set)

    def find_step(self) -> Found:
        """Measures until the step is found; an end that cannot be measured is an error."""
        last = len(self.points) - 1
        end = self.oracle.measure(self.points[0], self.points[last], None)
        self.answers.append((last, end))
        self.tell(BisectStep(last, end, "", (1, last)))
        if not end.differs:
            return Found(0, 0, 0.0, end)
        margin = 50.0 * abs(math.expm1(end.log_ratio))
        while (place := self._choose_place()) is not None:
            self._measure(place, margin)
        first, final = self._find_range()
        posterior = self._compute_posterior()
        return Found(
            first, final, float(posterior[first : final + 1].sum()), end, self._find_misfits()
        )

    def _measure(self, place: int, margin: float) -> None:
        skipped, answer = "", None
        try:
            answer = self.oracle.measure(self.points[0], self.points[place], margin)
            self.answers.append((place, answer))
        except DynoError as failed:
            self.skipped.add(place)
            skipped = failed.sentence
        self.tell(BisectStep(place, answer, skipped, self._find_credible()))

    def _compute_posterior(self) -> Floats:
        measured = [Measurement(at, it.log_ratio, it.error, it.freedom) for at, it in self.answers]
        return compute_step_posterior(len(self.points), measured)

    def _choose_place(self) -> int | None:
        """The next point, None where the step is found or nothing divides what is left."""
        posterior = self._compute_posterior()
        first, last = self._find_range()
        if posterior[first : last + 1].sum() >= CONFIDENCE:
            return None
        times = Counter(place for place, _ in self.answers)
        testable = [
            place
            for place in range(1, len(self.points))
            if place not in self.skipped and times[place] < TIMES_MAX
        ]
        return choose_next(posterior, testable)

    def _find_range(self) -> tuple[int, int]:
        """The likeliest place, with those that no point which can be built tells from it."""
        posterior = self._compute_posterior()
        first = last = int(posterior.argmax())
        while first - 1 in self.skipped:
            first -= 1
        while last in self.skipped:
            last += 1
        return first, last

    def _find_credible(self) -> tuple[int, int]:
        """The shortest run of places between ends that hold the step with `CONFIDENCE`."""
        posterior, rest = self._compute_posterior(), (1 - CONFIDENCE) / 2
        total = posterior.cumsum()
        return int((total < rest).sum()), int((total < 1 - rest).sum())

    def _find_misfits(self) -> tuple[int, ...]:
        new = self.answers[0][1]
        off = []
        for place, answer in self.answers:
            levels = ((0.0, 0.0), (new.log_ratio, new.error))
            far = MISFIT_SHARE * abs(new.log_ratio)
            if all(
                abs(answer.log_ratio - at)
                > max(far, MISFIT_ERRORS * math.hypot(answer.error, error, 1e-6))
                for at, error in levels
            ):
                off.append(place)
        return tuple(sorted(set(off)))
