"""Comparisons of known truth: of restarts with known variance components, or of a real log's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rules import Floats, Log

from dyno.judge.stats.log_ratio import to_log
from dyno.judge.stats.scenarios import ANALYSES, MARGIN_PERCENT
from dyno.judge.stats.simulate import Outcome, Rule, simulate_runs

#: Slices of a restart that the rules which pool are shown: as many as `go test -count=10` gives.
SLICES = 10
#: Pairs of restarts of a real log that are drawn together.
FOLLOWING = 6


@dataclass(frozen=True)
class Comparisons:
    """Comparisons of one truth as times per operation: (comparisons, restarts up to MAX, slices).

    `seconds` is how long a restart was measured; all are made of so many `pairs` of restarts.
    """

    base: Floats
    candidate: Floats
    seconds: float
    pairs: int

    def injected(self, percent: float) -> Comparisons:
        """The same with candidates that much slower."""
        slower = self.candidate * (1 + percent / 100)
        return Comparisons(self.base, slower, self.seconds, self.pairs)

    def judged(self) -> Outcome:
        """Dyno's rule, as it goes from analysis to analysis."""
        logs = np.log((1 / self.base).mean(axis=-1)) - np.log((1 / self.candidate).mean(axis=-1))
        return simulate_runs(logs[:, None, :], Rule(ANALYSES, to_log(MARGIN_PERCENT)))

    def logs(self, restarts: int) -> list[Log]:
        """What a rule sees that is given so many restarts of each side."""
        sides = zip(self.base[:, :restarts], self.candidate[:, :restarts], strict=True)
        return [Log(base, candidate, self.seconds) for base, candidate in sides]


def of_log(base: Floats, candidate: Floats, seconds: float, runs: int) -> Comparisons:
    """Comparisons drawn from the pairs of a log of one build, of the shape (restarts, slices).

    The moving block bootstrap (Künsch 1989): pairs are drawn with replacement, `FOLLOWING` that
    follow one another at a time, so that what the host did meanwhile stays in them; which restart
    of a pair is the base's is tossed for each, so that the truth is 0.
    """
    rng, pairs = np.random.default_rng(19), len(base)
    begins = rng.integers(0, pairs, (runs, ANALYSES.maximum // FOLLOWING, 1))
    drawn = ((begins + np.arange(FOLLOWING)) % pairs).reshape(runs, ANALYSES.maximum)
    turned = rng.random((runs, ANALYSES.maximum, 1)) < 0.5
    one, other = base[drawn], candidate[drawn]
    sides = np.where(turned, other, one), np.where(turned, one, other)
    return Comparisons(*sides, seconds, pairs)


@dataclass(frozen=True)
class Components:
    """How logs of times vary, as standard deviations in percent: what a block has in common (the
    host's hour), what a restart has to itself, and what a slice inside it has.
    """

    name: str
    block_percent: float
    restart_percent: float
    slice_percent: float


#: A calm host; restarts that differ, as they do here; a host that drifts beside them.
KINDS = (
    Components("restarts alike", 0.0, 0.0, 1.5),
    Components("restarts differ 1.4 %", 0.0, 1.4, 1.5),
    Components("and the host drifts 3 %", 3.0, 1.4, 1.5),
)


def made_up(kind: Components, runs: int) -> Comparisons:
    """Comparisons of one build, of a second a restart, each of restarts of its own."""
    rng = np.random.default_rng(17)
    shape = (runs, 2, ANALYSES.maximum)
    block, restart, slice = (
        size / 100 for size in (kind.block_percent, kind.restart_percent, kind.slice_percent)
    )
    means = rng.normal(0, restart, shape) + rng.normal(0, block, (runs, 1, ANALYSES.maximum))
    slices = np.exp(means[..., None] + rng.normal(0, slice, (*shape, SLICES)))
    return Comparisons(slices[:, 0], slices[:, 1], 1.0, runs * ANALYSES.maximum)
