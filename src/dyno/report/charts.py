"""A chart as data: axes, and the dots, lines and bands of one or more panels over one x axis.

`render/svg.py` makes SVG of it. A colour is a CSS variable of the page (`var(--candidate-1)`), so
that a chart follows the reader's light or dark scheme and a candidate has one colour everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from dyno import numbers

#: The space between the outermost points and the frame, as a share of the axis.
_PAD = 0.05
_STEPS_MAX = 9
#: How many candidates have a colour of their own before the colours come round again.
COLOURS = 6


def choose_swatch(position: int) -> int:
    """The number of the colour of the candidate at `position`; the base's (0) is its alone."""
    return position if position < COLOURS else 1 + (position - COLOURS) % (COLOURS - 1)


Shape = Literal["full", "hollow", "beyond"]


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`, with ticks as (value, text); `grid` draws a line at each of them.

    Ticks beyond the ends are not shown.
    `zero` draws a stronger line at 0, where that is a limit between better and worse. `details` has
    more of some ticks, by whole value: the words that a pointer on it shows, and where it leads.
    """

    title: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]] = ()
    log: bool = False
    grid: bool = True
    zero: bool = False
    details: Mapping[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def shown(self) -> list[tuple[float, str]]:
        return [tick for tick in self.ticks if self.low <= tick[0] <= self.high]

    def find_share(self, value: float) -> float:
        """Where `value` stands, 0 at the low end and 1 at the high one; beyond them it is cut."""
        if self.log:
            below, above = (math.log(max(end, self.low) / self.low) for end in (value, self.high))
        else:
            below, above = value - self.low, self.high - self.low
        return min(2.0, max(-1.0, below / above))


@dataclass(frozen=True)
class Dot:
    """A point, the words that a pointer on it shows, and its interval `low` to `high` if any.

    One that lies `beyond` the axis is a triangle which points there.
    """

    x: float
    y: float
    tip: str
    low: float | None = None
    high: float | None = None
    shape: Shape = "full"


@dataclass(frozen=True)
class Dots:
    """Points of one colour. `name` is their entry in the legend, empty: none."""

    dots: Sequence[Dot]
    colour: str
    name: str = ""
    radius_px: float = 4.5
    #: Whether intervals lie along the x axis.
    across: bool = False


@dataclass(frozen=True)
class Line:
    """Runs of (x, y), each joined by a line and not joined with the next."""

    runs: Sequence[Sequence[tuple[float, float]]]
    colour: str
    name: str = ""
    width_px: float = 2.5
    faint: bool = False
    dashed: bool = False


@dataclass(frozen=True)
class Band:
    """A shaded ground behind everything; without `y` it reaches from edge to edge."""

    x: tuple[float, float]
    y: tuple[float, float] | None = None


@dataclass(frozen=True)
class Note:
    """Words on the chart: from the left edge at `y`, or above the frame at `x`, in so many rows."""

    text: str
    y: float | None = None
    x: float = 0.0
    row: int = 0
    colour: str = "var(--quiet)"


Mark = Dots | Line | Band | Note


@dataclass(frozen=True)
class ChartPanel:
    """A frame with its own y axis. `columns` are (x, words): a pointer anywhere above x sees them.

    Neighbouring columns are equally far apart.
    """

    y: Axis
    marks: Sequence[Mark]
    height_px: int = 300
    columns: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True)
class Chart:
    """Panels one above the other, the chart's name in the choice, and itself in words."""

    label: str
    described: str
    x: Axis
    panels: Sequence[ChartPanel]


def choose_colour(position: int) -> str:
    """The colour of the candidate at `position` (0 is the base)."""
    return f"var(--candidate-{choose_swatch(position)})"


def join_dots(dots: Sequence[Dot], colour: str, name: str) -> list[Line | Dots]:
    line = Line([[(dot.x, dot.y) for dot in dots]], colour, name)
    return [line, Dots(dots, colour, name, radius_px=3)]


def find_ends(values: Sequence[float], pad: float = _PAD) -> tuple[float, float]:
    """The least and the largest of the finite `values`, with some space; 0 and 1 without any."""
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    space = pad * ((high - low) or abs(high) or 1.0)
    return low - space, high + space


def make_linear_axis(title: str, low: float, high: float, unit: str = "") -> Axis:
    """An axis with its ticks at round numbers of the reader's units (`format_quantity`)."""
    factor, suffix = numbers.choose_scale(max(abs(low), abs(high)), unit.removesuffix("/s"))
    step = _choose_step((high - low) / factor)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    counts = range(math.ceil(low / factor / step - 1e-9), math.floor(high / factor / step) + 1)
    texts = [f"{n * step:.{places}f}{suffix}".replace("-", "−") if n else "0" for n in counts]
    return Axis(
        title, low, high, [(n * step * factor, t) for n, t in zip(counts, texts, strict=True)]
    )


def make_slowdown_axis(values: Sequence[float]) -> Axis:
    """An axis in percent for slowdowns, which always shows the line at 0."""
    return replace(make_linear_axis("slowdown, %", *find_ends([*values, 0.0])), zero=True)


def make_duration_axis(title: str, seconds: Sequence[float]) -> Axis:
    """A logarithmic axis for durations above 0, with its ticks in the reader's units.

    1 of every decade, 1, 2 and 5 where those are few, and equal steps where these are.
    """
    low, high = log_ends(seconds)
    for digits, least in ((1,), 5), ((1, 2, 5), 3):
        steps = [digit * 10.0**power for power in range(-9, 4) for digit in digits]
        shown = [step for step in steps if low <= step <= high]
        if len(shown) >= least:
            return Axis(title, low, high, [(at, _format_tick(at)) for at in shown], log=True)
    return replace(make_linear_axis(title, low, high, "s"), log=True)


def log_ends(values: Sequence[float]) -> tuple[float, float]:
    """`find_ends` for a logarithmic axis, of the values above 0."""
    low, high = find_ends([math.log(value) for value in values if value > 0])
    return math.exp(low), math.exp(high)


def _choose_step(length: float) -> float:
    """1, 2 or 5 times a power of ten, the least that makes at most `_STEPS_MAX` steps."""
    power = 10.0 ** math.floor(math.log10(length / _STEPS_MAX))
    return next(n * power for n in (1, 2, 5, 10) if n * power * _STEPS_MAX >= length)


def _format_tick(seconds: float) -> str:
    number, unit = numbers.format_quantity(seconds, "s").split(" ")
    return f"{float(number):g} {unit}"
