"""A table of comparisons with their intervals drawn, for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from dyno import numbers
from dyno.judge.analysis.effect_words import describe_axis, describe_ratio
from dyno.record import Candidate, Comparison
from dyno.report import words
from dyno.report.names import NamedRow, name_pair

#: How a row's word and interval stand out.
STYLES = {"slower": "bold red", "invalid": "bold magenta", "inconclusive": "yellow"}
STYLES |= {"faster": "green", "not slower": "green", "doubtful": "bold yellow"}
#: So many rows have a second line of their own.
ROOMY = 6
#: The widest title and the widest plot, and the fewest characters of each that say something.
TITLE_MAX, TITLE_MIN, PLOT_MAX, PLOT_MIN = 40, 16, 40, 14


class Paragraph:
    """Prose in lines of at most the console's width, `indent` columns set in; none begins with the
    sign of percent that belongs to the number before.
    """

    def __init__(self, text: str, style: str = "", indent: int = 2) -> None:
        self.text, self.style, self.indent = text, style, " " * indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        kept = self.text.replace(" %", "\u00a0%")
        for line in textwrap.wrap(
            *(kept, options.max_width),
            initial_indent=self.indent,
            subsequent_indent=self.indent,
            break_long_words=True,
            break_on_hyphens=False,
        ):
            yield Text(line.replace("\u00a0", " "), style=self.style)


class PlottedTable:
    """The rows with their intervals drawn; each cell is exactly as wide as its column."""

    def __init__(
        self, sides: Sequence[Candidate], rows: Sequence[NamedRow], level: str, width: int
    ) -> None:
        self.sides, self.rows, self.level = sides, rows, level
        self.is_roomy = len(rows) <= ROOMY
        self.words = [it.verdict for it in rows]
        self.sizes = [words.format_size(it.row) for it in rows]
        self.word = max(map(cell_len, (*self.words, "verdict")))
        self.size = max(map(cell_len, (*self.sizes, self.head)))
        left = width - (2 + 2 + self.word + 2 + self.size + 2)
        longest = min(TITLE_MAX, max(cell_len(it.title) for it in rows))
        self.title = min(longest, max(TITLE_MIN, left - PLOT_MIN))
        self.axis: CharacterAxis | None = None
        if left - self.title >= PLOT_MIN:
            self.axis = make_axis([it.row for it in rows], min(left - self.title, PLOT_MAX))

    @property
    def head(self) -> str:
        """What the numbers are: time where every row is told as time."""
        return f"{describe_axis([it.row for it in self.rows])} [{self.level}]"

    @property
    def groups(self) -> list[tuple[str, str]]:
        """The pairs that are compared; a heading each where there are several."""
        return list(dict.fromkeys((it.row.candidate, it.row.base) for it in self.rows))

    def build_lines(self, beside: Sequence[Comparison] = ()) -> Iterator[RenderableType]:
        """A heading, the rows, and under each, where there is space, its own name and values, and
        the cost of an operation where that is `beside`.
        """
        several = len(self.groups) > 1
        yield self._format_line(("", "verdict", self.head, self._draw_head()), "dim")
        for pair in self.groups:
            if several:
                who, whom = name_pair(self.sides, *pair)
                yield Text(f"  {who} against {whom}", style="bold")
            for it, word, size in zip(self.rows, self.words, self.sizes, strict=True):
                if (it.row.candidate, it.row.base) != pair:
                    continue
                plot = draw_interval(self.axis, it.row) if self.axis else ""
                style = STYLES[words.choose_standing(it.row)]
                yield self._format_line((it.title, word, size, plot), "", style)
                if self.is_roomy:
                    yield Paragraph(self._describe_values(it, beside), "dim", indent=4)

    def _draw_head(self) -> str:
        return draw_labels(self.axis, [it.row for it in self.rows]) if self.axis else ""

    def _format_line(self, cells: tuple[str, str, str, str], style: str, mark: str = "") -> Text:
        """Title, word, size and plot, in `style`; word and plot in `mark`, where that is given."""
        title, word, size, plot = cells
        is_long = cell_len(title) > self.title
        cut = f"{set_cell_size(title, self.title - 1).rstrip()}…" if is_long else title
        line = Text(f"  {set_cell_size(cut, self.title)}  ", style=style)
        line.append(set_cell_size(word, self.word), style=mark or style)
        line.append(f"  {' ' * (self.size - cell_len(size))}{size}", style=style)
        line.append(f"  {plot}", style=mark or style)
        line.rstrip()
        return line

    def _describe_values(self, it: NamedRow, beside: Sequence[Comparison]) -> str:
        """`insert / l.i0 · 541 to 901 k/s · CPU/op −45.6 % [−51.4, −39.1]`."""
        row = it.row
        parts = [it.name] if it.name not in ("", it.title) else []
        parts.append(" → ".join(words.format_values(row)))
        if ratio := describe_ratio(row):
            parts.append(ratio)
        cost = next((c for c in beside if _is_cost_of(c, row)), None)
        if cost:
            parts.append(f"CPU/op {words.format_size(cost)}")
        return " · ".join(part.replace(" ", "\u00a0") for part in parts)


def _is_cost_of(cost: Comparison, row: Comparison) -> bool:
    same = (cost.candidate, cost.base, cost.metric.workload, cost.metric.phase) == (
        *(row.candidate, row.base, row.metric.workload, row.metric.phase),
    )
    return same and cost.metric.name == words.SERVER_CPU and not cost.primary


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
