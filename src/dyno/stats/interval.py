"""The t interval on the log ratios of blocks: a block is one datum, whatever was inside it.

Where a load of the data comes again, the blocks that share it are one datum together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """Estimates in logs, all of one shape; `p` is two-sided and knows nothing of other looks."""

    estimate: Floats
    low: Floats
    high: Floats
    sd: Floats
    p: Floats


def data(logs: Floats, turns: Sequence[int] | None) -> Floats:
    """The independent data in `logs` (…, blocks): the means of the blocks of each turn.

    `turns` says which load each block was played on. All blocks of a turn share what its load is
    like, so their mean is one datum, as a restart is one however many seconds it had. Means of
    unequally many blocks vary unequally; their plain mean and its standard error are unbiased all
    the same. None, or a single turn (which has no spread): every block is a datum.
    """
    if turns is None or len(set(turns)) in (1, len(turns)):
        return logs
    places = np.unique(np.asarray(turns), return_inverse=True)[1]
    shares = np.eye(places.max() + 1)[places]
    return np.asarray(logs @ (shares / shares.sum(axis=0)))


def t_interval(logs: Floats, level: float) -> Interval:
    """The interval of level 1 − `level` for the mean of `logs` along the last axis (n ≥ 2).

    Blocks that agree to the last bit give an interval of no width, and p 0 or 1.
    """
    n = logs.shape[-1]
    estimate, sd = logs.mean(axis=-1), logs.std(axis=-1, ddof=1)
    error = sd / np.sqrt(n)
    half = -stdtrit(n - 1, level / 2.0) * error
    distance = np.where(estimate == 0.0, 0.0, np.inf)
    np.divide(np.abs(estimate), error, out=distance, where=error > 0.0)
    p = 2.0 * stdtr(n - 1, -distance)
    return Interval(estimate, estimate - half, estimate + half, sd, np.asarray(p))
