"""Sums of squares of effects fitted one after the other, and what each is expected to hold.

Henderson's method III (Biometrics 9, 1953): with P_k the projection on everything up to effect k,
the square of (P_k − P_{k−1})·y expects tr(Z'(P_k − P_{k−1})Z)·σ² of every effect Z that was not
fitted before, so the components follow from the last one to the first. Of balanced data that is
the analysis of variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dyno.stats.interval import Floats

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

    def solved(self, squares: Floats) -> Floats:
        """Components, of the shape (sources, draws), from mean squares of that shape."""
        found: dict[str, Floats] = {}
        rows = zip(self.sources, squares, self.coefficients, strict=True)
        for source, square, wanted in reversed(list(rows)):
            known = sum((wanted.get(name, 0.0) * value for name, value in found.items()), 0.0)
            found[source] = (square - known) / wanted[source]
        return np.stack([found[source] for source in self.sources])


def fitted(
    values: Floats, fixed: Sequence[object], effects: Mapping[str, Sequence[object]], rest: str
) -> Strata:
    """The strata of `values`: random `effects` in their order, labels each, after the `fixed` one;
    what is left is called `rest`.
    """
    strata, basis = Strata(), _basis(_dummies(fixed))
    columns = {source: _dummies(labels) for source, labels in effects.items()}
    for source, own in columns.items():
        wider = _basis(np.hstack([basis, own]))
        df = wider.shape[1] - basis.shape[1]
        if df >= DF_LEAST:
            expected = {name: _added(each, basis, wider) / df for name, each in columns.items()}
            square = _added(values[:, None], basis, wider) / df
            strata.add(source, square, df, expected | {rest: 1.0})
            basis = wider
    left = values - basis @ (basis.T @ values)
    df = values.size - basis.shape[1]
    strata.add(rest, float(left @ left) / max(df, 1), df, {rest: 1.0})
    return strata


def _dummies(labels: Sequence[object]) -> Floats:
    places = np.unique(np.asarray(labels), return_inverse=True)[1]
    return np.asarray(np.eye(places.max() + 1)[places])


def _basis(columns: Floats) -> Floats:
    """An orthonormal basis of what the columns span."""
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, values > 1e-9 * values[0]])


def _added(columns: Floats, narrow: Floats, wide: Floats) -> float:
    """How much more of the columns' squares the wide basis holds than the narrow one."""
    return float(((wide.T @ columns) ** 2).sum() - ((narrow.T @ columns) ** 2).sum())
