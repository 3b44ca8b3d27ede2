"""METHOD 12, synthetic: made-up comparisons of known truth, judged by the rule for real ones.

The tests hold the figures, and `dyno calibrate` counts them again on a user's machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyno.stats import noise
from dyno.stats.interval import Floats, data, t_interval
from dyno.stats.looks import Looks
from dyno.stats.percent import to_log
from dyno.stats.simulate import Outcome, Rule, clopper_pearson, play

#: METHOD 4's and 5's defaults: looks and α, and the margin δ.
LOOKS = Looks((6, 10, 14, 18, 24), 0.05)
MARGIN_PERCENT = 2.0
SEED = 11


@dataclass(frozen=True)
class Scenario:
    """How blocks err (a model of `noise`, `sd_percent` a block) around `truth_percent`."""

    model: str
    sd_percent: float = 2.0
    truth_percent: float = 0.0

    def turns(self, blocks: int) -> list[int] | None:
        """The load of each block; None where no load comes again."""
        loads = noise.LOADS.get(self.model)
        return [block % loads for block in range(blocks)] if loads else None

    def logs(self, runs: int, blocks: int, seed: int = SEED) -> Floats:
        """Block log ratios, of the shape (runs, blocks); the same for the same seed."""
        dice = np.random.default_rng(seed)
        errors = noise.MODELS[self.model](dice, (runs, blocks), self.sd_percent / 100.0)
        return errors + to_log(self.truth_percent)


@dataclass(frozen=True)
class Share:
    """`hits` of `trials`, with the exact 95 % interval of Clopper and Pearson."""

    hits: int
    trials: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.hits / self.trials

    @property
    def low(self) -> float:
        """The interval's lower end."""
        return clopper_pearson(self.hits, self.trials)[0]

    @property
    def high(self) -> float:
        """The interval's upper end."""
        return clopper_pearson(self.hits, self.trials)[1]


@dataclass(frozen=True)
class Figures:
    """What came of a scenario: the shares of the words, and of intervals that hold the truth.

    `cleared` is *not slower* or *faster*; `blocks` the mean number at which a run ended.
    """

    scenario: Scenario
    slower: Share
    cleared: Share
    inconclusive: Share
    covered: Share
    blocks: float


def figures(
    scenario: Scenario, runs: int, looks: Looks = LOOKS, margin_percent: float = MARGIN_PERCENT
) -> Figures:
    """Plays `runs` comparisons of one primary under `scenario`."""
    logs = scenario.logs(runs, looks.maximum)
    rule = Rule(looks, to_log(margin_percent), scenario.turns(looks.maximum))
    found = play(logs[:, None, :], rule)
    return Figures(
        scenario=scenario,
        slower=_said(found, "slower"),
        cleared=_said(found, "not slower", "faster"),
        inconclusive=_said(found, "inconclusive"),
        covered=_of(found.covered(to_log(scenario.truth_percent)), runs),
        blocks=float(found.blocks.mean()),
    )


def fixed_coverage(scenario: Scenario, runs: int, blocks: int, alpha: float = 0.05) -> Share:
    """How often the interval of a fixed number of `blocks` holds the truth."""
    truth = to_log(scenario.truth_percent)
    logs = scenario.logs(runs, LOOKS.maximum)[:, :blocks]
    interval = t_interval(data(logs, scenario.turns(blocks)), alpha)
    return _of(float(((interval.low <= truth) & (truth <= interval.high)).mean()), runs)


def _said(found: Outcome, *words: str) -> Share:
    return _of(sum(found.share(word) for word in words), found.words.size)


def _of(share: float, trials: int) -> Share:
    return Share(round(share * trials), trials)
