"""A document on a terminal; what it says is the same without colour."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from dyno.printable import escape_line, escape_text
from dyno.report.document import (
    Block,
    Details,
    Document,
    Heading,
    Listing,
    Prose,
    RowTable,
    TextSpan,
    Tone,
)
from dyno.report.text.plotted_table import Paragraph

STYLES: dict[Tone, str] = {"": "", "bad": "bold red", "doubt": "yellow", "good": "green"}
STYLES |= {"quiet": "dim"}


def render_terminal(document: Document) -> Group:
    """What rich draws, in as many columns as it is given."""
    return Group(*(it for block in document for it in _render_block(block)))


def _render_block(block: Block) -> Iterator[RenderableType]:
    match block:
        case Heading():
            yield from (Text(), Text(escape_line(block.text), "bold"))
        case Prose():
            tone = block.spans[0].tone if len(block.spans) == 1 else ""
            words = "".join(it.text for it in block.spans)
            yield Paragraph(escape_line(words), STYLES[tone], indent=0)
        case Listing():
            if block.title:
                yield Text(escape_line(block.title), "dim")
            yield Padding(Text(escape_text(block.text)), (0, 0, 0, 2))
        case RowTable():
            yield _render_table(block)
        case Details():
            yield Text()
            yield Text.assemble(*map(_render_span, block.summary))
            yield Padding(render_terminal(block.blocks), (0, 0, 0, 2))


def _render_table(block: RowTable) -> RichTable:
    made = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in block.columns:
        is_number = column.kind == "number"
        title = Text(column.title, justify="right" if is_number else "left")
        made.add_column(title, no_wrap=is_number, overflow="fold", justify=title.justify or "left")
    for row in block.rows:
        made.add_row(*map(_render_span, row))
    return made


def _render_span(span: TextSpan) -> Text:
    return Text(escape_line(span.text), STYLES[span.tone])
