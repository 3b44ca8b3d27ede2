"""Where the spread of a metric comes from: variance components of blocks, loads, restarts, windows.

The model of the log of a trial's number: candidate (fixed) + block (what the host was like then,
the same for all candidates) + load (where loads come again) + restart + the mean of the windows in
it. Estimates are by the method of moments (`strata`), which of balanced data is the analysis of
variance, and REML where no component is 0; where noise has taken trials it stays unbiased.
Intervals are Weerahandi's generalised ones (J. Am. Stat. Assoc. 88, 1993): each sum of squares is
divided by random χ², and the equations are solved for each draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyno.stats.interval import Floats
from dyno.stats.strata import DF_LEAST, Strata, fitted
from dyno.stats.windows import Within, within

BLOCKS, LOADS, RESTARTS, WINDOWS = "blocks", "loads", "restarts", "windows"
DRAWS = 4000


@dataclass(frozen=True)
class Layout:
    """Trials of one metric: the log of each one's number, and what it was played in.

    `candidates` and `blocks` are labels, as are `loads`, which are None where every trial loaded
    its data anew (a load's effect is then part of the restart's). `windows` holds the logs of the
    numbers of each trial's seconds, and is empty where a metric has none.
    """

    values: Floats
    candidates: Sequence[str]
    blocks: Sequence[int]
    loads: Sequence[str] | None = None
    windows: Sequence[Floats] = ()


@dataclass(frozen=True)
class Component:
    """One source of spread: its variance in logs, what of it reaches a trial's number, its df.

    `low` and `high` bound the variance (95 %). `weight` is 1, but of windows what their mean over
    a trial still has of it. An estimate below 0 is 0. `share` is its part of a trial's variance,
    with its own bounds.
    """

    source: str
    df: int
    variance: float
    low: float
    high: float
    weight: float
    share: float
    share_low: float
    share_high: float

    @property
    def in_trial(self) -> float:
        """The variance that it adds to a trial's number."""
        return self.variance * self.weight


@dataclass(frozen=True)
class Components:
    """All sources of one metric's spread; `windows` says what was seen within the restarts."""

    parts: tuple[Component, ...]
    windows: Within | None = None

    def part(self, source: str) -> Component | None:
        """The component of `source`, None where it could not be told from the others."""
        return next((each for each in self.parts if each.source == source), None)

    @property
    def counted(self) -> tuple[Component, ...]:
        """What reaches a block's ratio: all but the blocks, whose effect both sides share."""
        return tuple(each for each in self.parts if each.source != BLOCKS)

    def block_sd(self, windows: float | None = None) -> float:
        """The sd of a block's log ratio, by these components, with so many windows a trial."""
        total = sum(each.in_trial for each in self.counted)
        part = self.part(WINDOWS)
        if windows is not None and part is not None and self.windows is not None:
            total += part.variance * (self.windows.weight(windows) - part.weight)
        return float(np.sqrt(2.0 * total))


def components(layout: Layout) -> Components | None:
    """The components of `layout`; None where too few trials were played to tell any.

    Needs two candidates and three blocks; values must be finite.
    """
    effects: dict[str, Sequence[object]] = {BLOCKS: layout.blocks}
    if layout.loads is not None and len(set(layout.loads)) < len(layout.loads):
        effects[LOADS] = layout.loads
    strata = fitted(layout.values, layout.candidates, effects, RESTARTS)
    if BLOCKS not in strata.sources or strata.dfs[-1] < DF_LEAST:
        return None
    inside = within(layout.windows)
    weights = np.ones(len(strata.sources) + (inside is not None))
    if inside is not None:
        weights[-1] = inside.weight(inside.count)
        for each in strata.coefficients:
            each[WINDOWS] = float(weights[-1])
        strata.add(WINDOWS, inside.variance, inside.df, {WINDOWS: 1.0})
    return Components(_parts(strata, weights), inside)


def _parts(strata: Strata, weights: Floats) -> tuple[Component, ...]:
    dice = np.random.default_rng(sum(strata.dfs))
    squares = np.asarray(strata.squares)[:, None]
    drawn = np.stack([df / dice.chisquare(df, DRAWS) for df in strata.dfs])
    found = np.maximum(strata.solved(squares)[:, 0], 0.0)
    draws = np.maximum(strata.solved(squares * drawn), 0.0)
    low, high = np.quantile(draws, (0.025, 0.975), axis=1)
    shares = _shares(found[:, None] * weights[:, None])[:, 0]
    bounds = np.quantile(_shares(draws * weights[:, None]), (0.025, 0.975), axis=1)
    columns = np.stack([found, low, high, weights, shares, *bounds], axis=1).tolist()
    rows = zip(strata.sources, strata.dfs, columns, strict=True)
    return tuple(Component(source, df, *row) for source, df, row in rows)


def _shares(variances: Floats) -> Floats:
    """Each one's part of their sum, along the first axis."""
    return np.asarray(variances / np.maximum(variances.sum(axis=0), np.finfo(float).tiny))
