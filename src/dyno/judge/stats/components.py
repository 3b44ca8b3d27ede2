"""Where the spread of a metric comes from: variance components of blocks, loads, restarts, seconds.

The model of the log of a trial's number: candidate (fixed) + block (what the host was like then,
the same for all candidates) + load (where loads come again) + restart + the mean of the seconds in
it. Estimates are by the method of moments, Henderson's method III (Biometrics 9, 1953): with P_k
the projection on everything up to effect k, the square of (P_k − P_{k−1})·y expects
tr(Z'(P_k − P_{k−1})Z)·σ² of every effect Z that was not fitted before, so the components follow
from the last one to the first (`Strata`). Of balanced data that is the analysis of variance, and
REML where no component is 0; where noise has taken trials it stays unbiased. Intervals are
Weerahandi's generalised ones (J. Am. Stat. Assoc. 88, 1993): each sum of squares is divided by
random χ², and the equations are solved for each draw.

The spread of one candidate's restarts by itself: best-to-worst range, coefficient of variation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from dyno.judge.stats.log_ratio import Floats
from dyno.judge.stats.within_restarts import Within, estimate_within_restarts


def compute_range_percent(values: Floats) -> float:
    """Largest ÷ smallest − 1, in percent, of values above 0: the same for a rate and for its time.

    It grows with the number of restarts, so only equal numbers of them may be compared.
    """
    return 100.0 * (float(values.max()) / float(values.min()) - 1.0)


def compute_cov_percent(values: Floats) -> float:
    """The coefficient of variation in percent: standard deviation (n − 1) ÷ mean."""
    return 100.0 * float(values.std(ddof=1)) / float(values.mean())


def compute_cov_interval(values: Floats, alpha: float = 0.05) -> tuple[float, float]:
    """An interval for `compute_cov_percent`: a standard deviation's by χ², divided by the mean.

    It holds for normal errors and a small coefficient, where the mean is known far better than the
    deviation. Six restarts give from 0.62 to 2.45 times the estimate: a hint at a ratio of two.
    """
    n, found = values.size, compute_cov_percent(values)
    low, high = scipy.special.chdtri(n - 1, [alpha / 2.0, 1.0 - alpha / 2.0])
    return found * float(np.sqrt((n - 1) / low)), found * float(np.sqrt((n - 1) / high))


#: An effect with fewer degrees of freedom is not told from the others.
DF_LEAST = 2


@dataclass
class Strata:
    """Mean squares, one per effect in the order fitted, and what each expects of the others."""

    sources: list[str] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    dfs: list[int] = field(default_factory=list)
    coefficients: list[dict[str, float]] = field(default_factory=list)

    def add(self, source: str, square: float, df: int, expected: Mapping[str, float]) -> None:
        """One more mean square; `expected` is its expectation, the source's own part included."""
        self.sources.append(source)
        self.squares.append(square)
        self.dfs.append(df)
        self.coefficients.append(dict(expected))

    def solve(self, squares: Floats) -> Floats:
        """Components, of the shape (sources, draws), from mean squares of that shape."""
        found: dict[str, Floats] = {}
        rows = zip(self.sources, squares, self.coefficients, strict=True)
        for source, square, wanted in reversed(list(rows)):
            known = sum((wanted.get(name, 0.0) * value for name, value in found.items()), 0.0)
            found[source] = (square - known) / wanted[source]
        return np.stack([found[source] for source in self.sources])


def fit_strata(
    values: Floats, fixed: Sequence[object], effects: Mapping[str, Sequence[object]], rest: str
) -> Strata:
    """The strata of `values`: random `effects` in their order, labels each, after the `fixed` one;
    what is left is called `rest`.
    """
    strata, basis = Strata(), _build_basis(_build_dummies(fixed))
    columns = {source: _build_dummies(labels) for source, labels in effects.items()}
    for source, own in columns.items():
        wider = _build_basis(np.hstack([basis, own]))
        df = wider.shape[1] - basis.shape[1]
        if df >= DF_LEAST:
            expected = {
                name: _compute_added_squares(each, basis, wider) / df
                for name, each in columns.items()
            }
            square = _compute_added_squares(values[:, None], basis, wider) / df
            strata.add(source, square, df, expected | {rest: 1.0})
            basis = wider
    left = values - basis @ (basis.T @ values)
    df = values.size - basis.shape[1]
    strata.add(rest, float(left @ left) / max(df, 1), df, {rest: 1.0})
    return strata


def _build_dummies(labels: Sequence[object]) -> Floats:
    places = np.unique(np.asarray(labels), return_inverse=True)[1]
    return np.asarray(np.eye(places.max() + 1)[places])


def _build_basis(columns: Floats) -> Floats:
    """An orthonormal basis of what the columns span."""
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, values > 1e-9 * values[0]])


def _compute_added_squares(columns: Floats, narrow: Floats, wide: Floats) -> float:
    """How much more of the columns' squares the wide basis holds than the narrow one."""
    return float(((wide.T @ columns) ** 2).sum() - ((narrow.T @ columns) ** 2).sum())


BLOCKS, LOADS, RESTARTS, SECONDS = "blocks", "loads", "restarts", "seconds"
DRAWS = 4000


@dataclass(frozen=True)
class Layout:
    """Trials of one metric: the log of each one's number, and what it was played in.

    `candidates` and `blocks` are labels, as are `loads`, which are None where every trial loaded
    its data anew (a load's effect is then part of the restart's). `seconds` holds the logs of the
    numbers of each trial's seconds, and is empty where a metric has none.
    """

    values: Floats
    candidates: Sequence[str]
    blocks: Sequence[int]
    loads: Sequence[str] | None = None
    seconds: Sequence[Floats] = ()


@dataclass(frozen=True)
class Component:
    """One source of spread: its variance in logs, what of it reaches a trial's number, its df.

    `low` and `high` bound the variance (95 %). `weight` is 1, but of seconds what their mean over
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
    """All sources of one metric's spread; `seconds` says what was seen within the restarts."""

    parts: tuple[Component, ...]
    seconds: Within | None = None

    def find_part(self, source: str) -> Component | None:
        """The component of `source`, None where it could not be told from the others."""
        return next((each for each in self.parts if each.source == source), None)

    @property
    def counted(self) -> tuple[Component, ...]:
        """What reaches a block's ratio: all but the blocks, whose effect both sides share."""
        return tuple(each for each in self.parts if each.source != BLOCKS)

    def estimate_block_sd(self, seconds: float | None = None) -> float:
        """The sd of a block's log ratio, by these components, with so many seconds a trial."""
        total = sum(each.in_trial for each in self.counted)
        part = self.find_part(SECONDS)
        if seconds is not None and part is not None and self.seconds is not None:
            total += part.variance * (self.seconds.compute_weight(seconds) - part.weight)
        return float(np.sqrt(2.0 * total))


def estimate_components(layout: Layout) -> Components | None:
    """The components of `layout`; None where too few trials were played to tell any.

    Needs two candidates and three blocks; values must be finite.
    """
    effects: dict[str, Sequence[object]] = {BLOCKS: layout.blocks}
    if layout.loads is not None and len(set(layout.loads)) < len(layout.loads):
        effects[LOADS] = layout.loads
    strata = fit_strata(layout.values, layout.candidates, effects, RESTARTS)
    if BLOCKS not in strata.sources or strata.dfs[-1] < DF_LEAST:
        return None
    inside = estimate_within_restarts(layout.seconds)
    weights = np.ones(len(strata.sources) + (inside is not None))
    if inside is not None:
        weights[-1] = inside.compute_weight(inside.count)
        for each in strata.coefficients:
            each[SECONDS] = float(weights[-1])
        strata.add(SECONDS, inside.variance, inside.df, {SECONDS: 1.0})
    return Components(_build_parts(strata, weights), inside)


def _build_parts(strata: Strata, weights: Floats) -> tuple[Component, ...]:
    rng = np.random.default_rng(sum(strata.dfs))
    squares = np.asarray(strata.squares)[:, None]
    drawn = np.stack([df / rng.chisquare(df, DRAWS) for df in strata.dfs])
    found = np.maximum(strata.solve(squares)[:, 0], 0.0)
    draws = np.maximum(strata.solve(squares * drawn), 0.0)
    low, high = np.quantile(draws, (0.025, 0.975), axis=1)
    shares = _compute_shares(found[:, None] * weights[:, None])[:, 0]
    bounds = np.quantile(_compute_shares(draws * weights[:, None]), (0.025, 0.975), axis=1)
    columns = np.stack([found, low, high, weights, shares, *bounds], axis=1).tolist()
    rows = zip(strata.sources, strata.dfs, columns, strict=True)
    return tuple(Component(source, df, *row) for source, df, row in rows)


def _compute_shares(variances: Floats) -> Floats:
    """Each one's part of their sum, along the first axis."""
    return np.asarray(variances / np.maximum(variances.sum(axis=0), np.finfo(float).tiny))
