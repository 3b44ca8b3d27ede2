"""Ratios of ours to a peer's with their intervals, held against the limits set for them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from paired import table
from spent import Spent

from dyno.judge.stats.interval import compute_t_interval

LEVEL = 0.05
#: Stands for nothing measured (no tick fell there), so that its logarithm exists.
LEAST = 1e-6
#: An interval that reaches so far says nothing (very few pairs).
WILD = 100.0

HEAD = ("case", "peer", "what", "ours", "peer's", "ratio", "95 % interval", "limit", "")
UNITS = {"user_us": "user µs", "kernel_us": "kernel µs", "cpu_us": "CPU µs", "rate_per_s": "rate/s"}


@dataclass(frozen=True)
class Ratio:
    """How many times the peer's figure ours is, and between which bounds (95 %)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Limit:
    """Where a ratio should lie."""

    least: float = 0.0
    most: float = math.inf

    def judge(self, ratio: Ratio) -> str:
        """`short` only where the whole interval lies outside; `open` where it holds a bound.

        `beyond` is the far side of a limit with two: faster than the peer, which wants a reason.
        """
        if ratio.high < self.least or (ratio.low > self.most and not self.least):
            return "short"
        if ratio.low > self.most:
            return "beyond"
        return "ok" if self.least <= ratio.value <= self.most else "open"

    def __str__(self) -> str:
        least = f"≥ {self.least:g}" if self.least else ""
        most = f"≤ {self.most:g}" if self.most < math.inf else ""
        return " ".join(filter(None, (least, most)))


#: Peer -> figure -> its limit.
Limits = dict[str, dict[str, Limit]]


@dataclass(frozen=True)
class Row:
    """One figure of ours beside a peer's."""

    case: str
    peer: str
    what: str
    ours: float
    theirs: float
    ratio: Ratio
    limit: Limit | None

    @property
    def verdict(self) -> str:
        """`ok`, `short`, `open`, or nothing where there is no limit."""
        return self.limit.judge(self.ratio) if self.limit else ""

    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        ratio = self.ratio
        bounds = f"{ratio.low:.3f} … {ratio.high:.3f}" if ratio.high < WILD else "wild"
        figures = (shown(self.ours), shown(self.theirs), f"{ratio.value:.3f}", bounds)
        limit = str(self.limit) if self.limit else ""
        return (self.case, self.peer, UNITS[self.what], *figures, limit, self.verdict)

    def plain(self) -> dict[str, object]:
        """The row as data."""
        limit = {k: v for k, v in asdict(self.limit or Limit()).items() if v not in (0.0, math.inf)}
        figures = {"ours": self.ours, "peers": self.theirs, **asdict(self.ratio)}
        named = {"case": self.case, "peer": self.peer, "what": self.what}
        rounded = {name: float(f"{figure:.4g}") for name, figure in figures.items()}
        return {**named, **rounded, "limit": limit, "verdict": self.verdict}


def shown(figure: float) -> str:
    """A figure as text, with three digits at least."""
    return f"{figure:.2f}" if figure < 1000 else f"{figure:.0f}"


def ratio_of(ours: Sequence[float], peers: Sequence[float]) -> Ratio:
    """The ratio of the sums over the pairs, with a jackknife's interval of its logarithm.

    Leaving out one pair at a time takes a figure of zero in a pair (user CPU between two ticks),
    which the logarithm of that pair's own ratio would not.
    """
    a, b = np.maximum(np.asarray([ours, peers], dtype=np.float64), LEAST)
    n, whole = len(a), math.log(a.sum() / b.sum())
    if n < 2:
        return Ratio(math.exp(whole), 0.0, math.inf)
    without = np.log((a.sum() - a) / (b.sum() - b))
    found = compute_t_interval(n * whole - (n - 1) * without, LEVEL)
    low, high = (math.exp(min(float(end), 700.0)) for end in (found.low, found.high))
    return Ratio(math.exp(whole), low, high)


def compare(case: str, taken: dict[str, list[Spent]], limits: Limits) -> list[Row]:
    """Ours beside every peer in every figure."""
    rows = []
    for peer, theirs in taken.items():
        for what in UNITS if peer != "ours" else ():
            ours, others = (
                [getattr(spent, what) for spent in side] for side in (taken["ours"], theirs)
            )
            means = (float(np.mean(ours)), float(np.mean(others)))
            limit = limits.get(peer, {}).get(what)
            rows.append(Row(case, peer, what, *means, ratio_of(ours, others), limit))
    return rows


def print_rows(rows: Iterable[Row]) -> None:
    """Prints rows as a table."""
    table([HEAD, *(row.cells() for row in rows)])


def conclude(name: str, rows: Sequence[Row], **more: float) -> None:
    """The last line: how many figures have a limit, which fall short, and every row as data."""
    short = [f"{row.case} {row.peer} {row.what}" for row in rows if row.verdict == "short"]
    judged = sum(row.limit is not None for row in rows)
    figures = {"bench": name, "judged": judged, "short": short, **more}
    print(json.dumps({**figures, "rows": [row.plain() for row in rows]}))
