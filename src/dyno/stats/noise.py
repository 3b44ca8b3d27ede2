"""How restarts vary: models of the errors of block log ratios, for calibration with known truth.

Each model gives an array (comparisons, blocks) of errors around 0; `sd` is the standard deviation
of a block's log ratio that the restarts make, to which drift and loads add their own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dyno.stats.interval import Floats

Dice = np.random.Generator
Shape = tuple[int, int]
Model = Callable[[Dice, Shape, float], Floats]


def normal(dice: Dice, shape: Shape, sd: float) -> Floats:
    """Restarts that vary normally."""
    return dice.normal(0.0, sd, shape)


def heavy_tailed(dice: Dice, shape: Shape, sd: float) -> Floats:
    """Student's t with 3 degrees of freedom: now and then a block far out."""
    return np.asarray(dice.standard_t(3, shape) * sd / np.sqrt(3.0))


def drifting(dice: Dice, shape: Shape, sd: float) -> Floats:
    """A host that slows down by a quarter `sd` a trial and wanders (AR(1), 0.9) as well.

    The order within a block is random and balanced over each two blocks, as it is in a run, so
    the drift has either sign.
    """
    sims, blocks = shape
    trials = 0.25 * sd * np.arange(2 * blocks) + _wandering(dice, (sims, 2 * blocks), 0.5 * sd)
    first, second = trials[:, 0::2], trials[:, 1::2]
    return np.asarray(normal(dice, shape, sd) + _orders(dice, shape) * (second - first))


def bimodal(dice: Dice, shape: Shape, sd: float) -> Floats:
    """Three restarts of ten come up in a mode that is 2 `sd` slower."""
    slow = dice.random((2, *shape)) < 0.3
    gap = 2.0 * sd * (slow[0].astype(float) - slow[1].astype(float))
    return np.asarray(normal(dice, shape, sd) + gap)


def loaded(loads: int, effect: float) -> Model:
    """Every load of the data has its own effect (sd `effect`), and each arm loads for itself.

    The effect belongs to the arm and comes again with its load: each candidate rotates `loads`
    of them over the blocks, so one load for each is a bias of the whole run that no number of
    blocks averages out. `loads` 0 loads anew in every trial.
    """

    def model(dice: Dice, shape: Shape, sd: float) -> Floats:
        sims, blocks = shape
        effects = dice.normal(0.0, effect, (2, sims, loads or blocks))
        turn = np.arange(blocks) % (loads or blocks)
        return np.asarray(normal(dice, shape, sd) + (effects[0] - effects[1])[:, turn])

    return model


MODELS: dict[str, Model] = {
    "normal": normal,
    "heavy-tailed": heavy_tailed,
    "drifting": drifting,
    "bimodal restarts": bimodal,
    "loaded anew in every trial": loaded(0, 0.01),
    "eight loads rotated": loaded(8, 0.01),
    "three loads rotated": loaded(3, 0.01),
    "one load for each": loaded(1, 0.01),
}
#: Loads of each candidate in the models that rotate them.
LOADS = {"eight loads rotated": 8, "three loads rotated": 3, "one load for each": 1}
#: Models under which the method keeps its word; one load for each is no sample of loads.
SOUND = tuple(name for name in MODELS if LOADS.get(name) != 1)


def _wandering(dice: Dice, shape: Shape, sd: float) -> Floats:
    steps = dice.normal(0.0, sd, shape)
    for trial in range(1, shape[1]):
        steps[:, trial] += 0.9 * steps[:, trial - 1]
    return steps


def _orders(dice: Dice, shape: Shape) -> Floats:
    """+1 where the base goes first, -1 where it goes second; each pair of blocks has both."""
    first = dice.choice([-1.0, 1.0], size=(shape[0], (shape[1] + 1) // 2))
    pairs = np.stack([first, -first], axis=-1).reshape(shape[0], -1)
    return pairs[:, : shape[1]]
