"""A forest plot in characters: intervals over one axis, with lines at zero and the margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dyno import numbers
from dyno.record import Comparison

#: One wild interval must not squeeze all others into a dot.
EDGE_PERCENT = 100.0
DOT, LINE, LEFT, RIGHT = "●", "─", "├", "┤"
CUT_LEFT, CUT_RIGHT, ZERO, MARGIN, CROSSED = "◂", "▸", "│", "┆", "┼"


@dataclass(frozen=True)
class CharacterAxis:
    """From `low` to `high` percent in `width` characters; what lies beyond is cut."""

    low: float
    high: float
    width: int

    def find_column(self, percent: float) -> int:
        """The character in which `percent` lies, the first or the last for what lies beyond."""
        share = (percent - self.low) / (self.high - self.low)
        return min(max(math.floor(share * self.width), 0), self.width - 1)


def make_axis(rows: Sequence[Comparison], width: int) -> CharacterAxis:
    """An axis that holds every interval and margin, zero, and a character's space at both ends."""
    ends = [0.0]
    for row in rows:
        ends += [row.margin_percent, -row.margin_percent, row.low_percent, row.high_percent]
    shown = [min(max(end, -EDGE_PERCENT), EDGE_PERCENT) for end in ends if not math.isnan(end)]
    low, high = min(shown), max(shown)
    space = (high - low or 1.0) / width
    return CharacterAxis(low - space, high + space, width)


def draw_interval(axis: CharacterAxis, row: Comparison) -> str:
    """`  ┆   ├──●──┤     ┆`, exactly as wide as the axis; without a number, its lines alone."""
    cells = [" "] * axis.width
    for end in (-row.margin_percent, row.margin_percent):
        cells[axis.find_column(end)] = MARGIN
    zero = axis.find_column(0.0)
    cells[zero] = ZERO
    if not math.isfinite(row.slowdown_percent):
        return "".join(cells)
    first, last = (
        axis.find_column(end if not math.isnan(end) else row.slowdown_percent)
        for end in (row.low_percent, row.high_percent)
    )
    cells[first : last + 1] = LINE * (last + 1 - first)
    cells[zero] = CROSSED if first < zero < last else cells[zero]
    cells[first] = CUT_LEFT if row.low_percent < axis.low else LEFT
    cells[last] = CUT_RIGHT if row.high_percent > axis.high else RIGHT
    if axis.low <= row.slowdown_percent <= axis.high:
        cells[axis.find_column(row.slowdown_percent)] = DOT
    return "".join(cells)


def draw_labels(axis: CharacterAxis, rows: Sequence[Comparison]) -> str:
    """`−2 %   0   +2 %` above the axis: zero, the margin where all rows have one, and the ends;
    what would touch another label is left out.
    """
    margins = {row.margin_percent for row in rows}
    margin = margins.pop() if len(margins) == 1 else 0.0
    inner = [margin, -margin] if margin else []
    cells, taken = [" "] * axis.width, set[int]()
    for percent in (0.0, *inner, axis.low, axis.high):
        text = "0" if percent == 0 else _format_label(percent)
        if percent == axis.low:
            first = 0
        elif percent == axis.high:
            first = axis.width - len(text)
        else:
            first = axis.find_column(percent) - len(text) // 2
        first = min(max(first, 0), axis.width - len(text))
        around = set(range(first - 1, first + len(text) + 1))
        if not around & taken:
            cells[first : first + len(text)] = text
            taken |= set(range(first, first + len(text)))
    return "".join(cells)


def _format_label(percent: float) -> str:
    digits = 2 if abs(percent) < 100 else 3
    sign = "−" if percent < 0 else "+"
    return f"{sign}{float(numbers.format_digits(abs(percent), digits)):g} %"
