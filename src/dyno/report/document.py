"""A document as data: what a section of a report says, for any renderer (`render/`).

A section knows records and no renderer, a renderer knows blocks and no section. Width, alignment,
escaping and colour are the renderer's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dyno.judge.analysis.frames import FrameTree
    from dyno.record import Candidate, Comparison
    from dyno.report.charts import Chart
    from dyno.report.names import NamedRow

#: How a reader is to take it; a renderer has a colour for each, and none where colour is lost.
Tone = Literal["", "bad", "doubt", "good", "quiet", "strong"]


@dataclass(frozen=True)
class TextSpan:
    """Some words; `code` are a statement, an error or a command, as it was or is to be typed.
    `link` is an address or `#anchor`, `why` what a pointer on it is told.
    """

    text: str
    tone: Tone = ""
    code: bool = False
    link: str = ""
    why: str = ""


#: A text of ours may have code between backticks; a `TextSpan` is shown as it is.
Words = str | TextSpan | Sequence[str | TextSpan]


@dataclass(frozen=True)
class Heading:
    """A title. With an `anchor` it begins a part of a page, unless it stands `within` one."""

    text: str
    anchor: str = ""
    within: bool = False


@dataclass(frozen=True)
class Prose:
    """A paragraph; a `boxed` one stands out on a page. Quiet ones are small print, one without
    words is a gap on a terminal.
    """

    words: Words
    tone: Tone = ""
    boxed: bool = False
    indent: int = 0


@dataclass(frozen=True)
class Items:
    """A list; empty, it is not shown, nor is its title."""

    items: Sequence[Words]
    title: str = ""


@dataclass(frozen=True)
class Terms:
    """What each name stands for; a name that stands for nothing is left out."""

    rows: Sequence[tuple[str, Sequence[Block]]]


@dataclass(frozen=True)
class Tiles:
    """Figures with a few words each, and the anchor of the part that has all of it."""

    tiles: Sequence[tuple[TextSpan, str]]


@dataclass(frozen=True)
class Listing:
    """Lines of text as they are, such as a statement to be pasted, or a plan."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class TableColumn:
    """What stands in a table's column; numbers are drawn to the right and never broken."""

    title: str
    kind: Literal["text", "number"] = "text"


def make_columns(
    first: str | Sequence[str], *numbers: str, after: Sequence[str] = ()
) -> tuple[TableColumn, ...]:
    """Columns of names, of numbers, and of text after them."""
    names = (first,) if isinstance(first, str) else first
    middle = (TableColumn(it, "number") for it in numbers)
    return (*map(TableColumn, names), *middle, *map(TableColumn, after))


@dataclass(frozen=True)
class TableCell:
    """What stands in a cell, and smaller `beside` it; `tone` colours its ground on a page. The
    first cell's `anchor` is its row's.
    """

    words: Words
    beside: Words = ""
    tone: Tone = ""
    anchor: str = ""


@dataclass(frozen=True)
class Group:
    """A line of a table that names the rows below it."""

    text: str


TableRow = Sequence[Words | TableCell] | Group


@dataclass(frozen=True)
class RowTable:
    """Rows of as many cells as there are columns; without rows it is not shown."""

    columns: Sequence[TableColumn]
    rows: Sequence[TableRow]
    title: str = ""
    anchor: str = ""
    #: Whether a page offers to search it.
    searched: bool = False


def cut_table(table: RowTable, most: int, what: str) -> list[Block]:
    """The first rows of a table, and how many more there are."""
    more = len(table.rows) - most
    cut = RowTable(table.columns, table.rows[:most], table.title, table.anchor)
    return [cut, *([Prose(f"… and {more:,} more ({what})", "quiet")] if more > 0 else [])]


@dataclass(frozen=True)
class Forest:
    """Comparisons with their intervals drawn; `level` says of what these are. A cost of an
    operation that is `beside` stands with the row that it is of, where there is space.
    """

    sides: Sequence[Candidate]
    rows: Sequence[NamedRow]
    level: str
    beside: Sequence[Comparison] = ()


@dataclass(frozen=True)
class Figure:
    """Charts, of which a page shows one at a time."""

    charts: Sequence[Chart]
    caption: str


@dataclass(frozen=True)
class Flame:
    """A flame graph of one side, or of two and their difference; `anchor` tells it from others of
    the page, `per` says of what its times are. `is_flat`: below each layer stand its functions.
    """

    tree: FrameTree
    sides: Sequence[str]
    title: str
    anchor: str
    caption: str
    scale_ns: float
    per: str = "an operation"
    is_flat: bool = True


@dataclass(frozen=True)
class Bars:
    """Wholes in their parts: a name, and of each part its name, size, and size in words. Parts that
    share a name share a colour, by their place in `names`.
    """

    names: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, float, str]]]]


@dataclass(frozen=True)
class Details:
    """What a reader may skip: its summary, and what it holds. A page shows it if it `is_open`;
    paper and a terminal have what `is_printed`, and of others the summary.
    """

    summary: Words
    blocks: Sequence[Block]
    anchor: str = ""
    is_open: bool = False
    is_printed: bool = False


_Text = Heading | Prose | Items | Terms | Tiles | Listing | RowTable | Details
Block = _Text | Forest | Figure | Flame | Bars
Document = Sequence[Block]


def list_spans(words: Words) -> list[TextSpan]:
    if isinstance(words, TextSpan):
        return [words]
    if isinstance(words, str):
        parts = enumerate(words.split("`"))
        return [TextSpan(part, code=bool(at % 2)) for at, part in parts if part]
    return [span for each in words for span in list_spans(each)]


def join_text(words: Words) -> str:
    """The words without code and colour."""
    if isinstance(words, str):
        return words
    return words.text if isinstance(words, TextSpan) else "".join(map(join_text, words))


def list_prose(sentences: Iterable[str], tone: Tone = "") -> list[Block]:
    """A paragraph for each that is not empty."""
    return [Prose(it, tone) for it in sentences if it]
