"""Simulated comparisons of known truth, judged by the rule for real ones.

Models of how restarts vary each give an array (comparisons, blocks) of errors around 0; `sd` is the
standard deviation of a block's log ratio that the restarts make, to which drift and loads add their
own. The tests hold the figures of METHOD.md, What it is worth, and `dyno calibrate` counts them
again on a user's machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dyno.judge.stats.interim_analyses import MAX, InterimAnalyses, choose_analyses_up_to
from dyno.judge.stats.log_ratio import Floats, to_log
from dyno.judge.stats.simulate import Outcome, Rule, compute_clopper_pearson, simulate_runs

Rng = np.random.Generator
Shape = tuple[int, int]
Model = Callable[[Rng, Shape, float], Floats]


def draw_normal(rng: Rng, shape: Shape, sd: float) -> Floats:
    """Restarts that vary normally."""
    return rng.normal(0.0, sd, shape)


def draw_heavy_tailed(rng: Rng, shape: Shape, sd: float) -> Floats:
    """Student's t with 3 degrees of freedom: now and then a block far out."""
    return np.asarray(rng.standard_t(3, shape) * sd / np.sqrt(3.0))


def draw_drifting(rng: Rng, shape: Shape, sd: float) -> Floats:
    """A host that slows down by a quarter `sd` a trial and wanders (AR(1), 0.9) as well.

    The order within a block is random and balanced over each two blocks, as it is in a run, so
    the drift has either sign.
    """
    sims, blocks = shape
    trials = 0.25 * sd * np.arange(2 * blocks) + _draw_wandering(rng, (sims, 2 * blocks), 0.5 * sd)
    first, second = trials[:, 0::2], trials[:, 1::2]
    return np.asarray(draw_normal(rng, shape, sd) + _draw_orders(rng, shape) * (second - first))


def draw_bimodal(rng: Rng, shape: Shape, sd: float) -> Floats:
    """Three restarts of ten come up in a mode that is 2 `sd` slower."""
    slow = rng.random((2, *shape)) < 0.3
    gap = 2.0 * sd * (slow[0].astype(float) - slow[1].astype(float))
    return np.asarray(draw_normal(rng, shape, sd) + gap)


def make_skewed(arm: float) -> Model:
    """Restarts of one arm alone vary, by an exponential tail: now and then one is much slower.

    `arm` is 1 for the candidate, -1 for the base. The mean is as it was, and most restarts look
    better than that.
    """

    def draw_skewed(rng: Rng, shape: Shape, sd: float) -> Floats:
        return np.asarray(arm * (rng.exponential(sd, shape) - sd))

    return draw_skewed


#: One restart in ten of the candidate takes so much more time: 2 % on average, the margin.
RARE_SHARE, RARE_PERCENT = 0.1, 22.0


def draw_rare_slow_mode(rng: Rng, shape: Shape, sd: float) -> Floats:
    """One restart in ten of the candidate comes up in a mode that is 22 % slower."""
    slow = (rng.random(shape) < RARE_SHARE).astype(float) - RARE_SHARE
    return np.asarray(draw_normal(rng, shape, sd) + slow * to_log(RARE_PERCENT))


def make_loaded(loads: int, effect: float) -> Model:
    """Every load of the data has its own effect (sd `effect`), and each arm loads for itself.

    The effect belongs to the arm and comes again with its load: each candidate rotates `loads`
    of them over the blocks, so one load for each is a bias of the whole run that no number of
    blocks averages out. `loads` 0 loads anew in every trial.
    """

    def draw_loaded(rng: Rng, shape: Shape, sd: float) -> Floats:
        sims, blocks = shape
        effects = rng.normal(0.0, effect, (2, sims, loads or blocks))
        turn = np.arange(blocks) % (loads or blocks)
        return np.asarray(draw_normal(rng, shape, sd) + (effects[0] - effects[1])[:, turn])

    return draw_loaded


MODELS: dict[str, Model] = {
    "normal": draw_normal,
    "heavy-tailed": draw_heavy_tailed,
    "drifting": draw_drifting,
    "bimodal restarts": draw_bimodal,
    "loaded anew in every trial": make_loaded(0, 0.01),
    "eight loads rotated": make_loaded(8, 0.01),
    "three loads rotated": make_loaded(3, 0.01),
    "one load for each": make_loaded(1, 0.01),
    "long tail in the base": make_skewed(-1.0),
    "long tail in the candidate": make_skewed(1.0),
    "rare slow mode": draw_rare_slow_mode,
}
#: Loads of each candidate in the models that rotate them.
LOADS = {"eight loads rotated": 8, "three loads rotated": 3, "one load for each": 1}
#: Models of one arm with a tail: so few restarts do not show it, and the interval errs to one side.
ONE_SIDED = ("long tail in the base", "long tail in the candidate", "rare slow mode")
#: Models under which the method keeps its word; one load for each is no sample of loads.
SOUND = tuple(name for name in MODELS if LOADS.get(name) != 1 and name not in ONE_SIDED)


def _draw_wandering(rng: Rng, shape: Shape, sd: float) -> Floats:
    steps = rng.normal(0.0, sd, shape)
    for trial in range(1, shape[1]):
        steps[:, trial] += 0.9 * steps[:, trial - 1]
    return steps


def _draw_orders(rng: Rng, shape: Shape) -> Floats:
    """+1 where the base goes first, -1 where it goes second; each pair of blocks has both."""
    first = rng.choice([-1.0, 1.0], size=(shape[0], (shape[1] + 1) // 2))
    pairs = np.stack([first, -first], axis=-1).reshape(shape[0], -1)
    return pairs[:, : shape[1]]


#: The defaults of METHOD.md, The interval and the interim analyses: analyses and α; and the margin
#: δ.
ANALYSES = InterimAnalyses(choose_analyses_up_to(MAX), 0.05)
MARGIN_PERCENT = 2.0
SEED = 11


@dataclass(frozen=True)
class Scenario:
    """How blocks err (a model of `noise`, `sd_percent` a block) around `truth_percent`."""

    model: str
    sd_percent: float = 2.0
    truth_percent: float = 0.0

    def group_blocks(self, blocks: int) -> list[int] | None:
        """The load of each block; None where no load comes again."""
        loads = LOADS.get(self.model)
        return [block % loads for block in range(blocks)] if loads else None

    def draw_logs(self, runs: int, blocks: int, seed: int = SEED) -> Floats:
        """Block log ratios, of the shape (runs, blocks); the same for the same seed."""
        rng = np.random.default_rng(seed)
        errors = MODELS[self.model](rng, (runs, blocks), self.sd_percent / 100.0)
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
        return compute_clopper_pearson(self.hits, self.trials)[0]

    @property
    def high(self) -> float:
        """The interval's upper end."""
        return compute_clopper_pearson(self.hits, self.trials)[1]


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


def compute_figures(
    scenario: Scenario,
    runs: int,
    analyses: InterimAnalyses = ANALYSES,
    margin_percent: float = MARGIN_PERCENT,
) -> Figures:
    """Plays `runs` comparisons of one primary under `scenario`."""
    logs = scenario.draw_logs(runs, analyses.maximum)
    rule = Rule(analyses, to_log(margin_percent), scenario.group_blocks(analyses.maximum))
    found = simulate_runs(logs[:, None, :], rule)
    return Figures(
        scenario=scenario,
        slower=_count_words(found, "slower"),
        cleared=_count_words(found, "not slower", "faster"),
        inconclusive=_count_words(found, "inconclusive"),
        covered=_make_figure(found.compute_coverage(to_log(scenario.truth_percent)), runs),
        blocks=float(found.blocks.mean()),
    )


def _count_words(found: Outcome, *words: str) -> Share:
    return _make_figure(sum(found.compute_share(word) for word in words), found.words.size)


def _make_figure(share: float, trials: int) -> Share:
    return Share(round(share * trials), trials)
