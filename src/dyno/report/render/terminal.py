"""A document on a terminal; what it says is the same without colour."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from dyno.printable import escape_line, escape_text
from dyno.report import document as doc
from dyno.report.document import Block, Document, TableCell, Tone, Words, join_text, list_spans
from dyno.report.render.markdown import describe_drawing, join_tiles
from dyno.report.render.plotted_table import Paragraph, PlottedTable

STYLES: dict[Tone, str] = {"": "", "bad": "bold red", "doubt": "yellow", "good": "green"}
STYLES |= {"quiet": "dim", "strong": "bold"}
#: Characters of a bar.
BAR = 16


def render_terminal(document: Document) -> Group:
    return Group(*(it for block in document for it in _render_block(block)))


def _render_block(block: Block) -> Iterator[RenderableType]:
    match block:
        case doc.Heading():
            yield from (Text(), Text(escape_line(block.text), "bold"))
        case doc.Prose():
            told = _get_text(block.words)
            yield Paragraph(told, STYLES[block.tone], block.indent) if told else Text()
        case doc.Items() if block.items:
            if block.title:
                yield Text(escape_line(block.title), "bold")
            yield from (Paragraph(f"- {_get_text(it)}", indent=2) for it in block.items)
            yield from [Text()] * bool(block.title)
        case doc.Terms():
            made = _make_grid()
            made.add_column(style="dim", no_wrap=True)
            made.add_column(overflow="fold")
            for name, own in block.rows:
                if own:
                    made.add_row(Text(f"  {escape_line(name)}"), render_terminal(own))
            yield made
        case doc.Tiles():
            yield Paragraph(escape_line(join_tiles(block)))
        case doc.Listing():
            if block.title:
                yield Text(escape_line(block.title), "dim")
            yield Padding(Text(escape_text(block.text)), (0, 0, 0, 2))
        case doc.RowTable() if block.rows:
            if block.title:
                yield Text(escape_line(block.title), "bold")
            yield _render_table(block)
            yield from [Text()] * bool(block.title)
        case doc.Forest() if block.rows:
            yield _Plot(block)
        case doc.Figure() | doc.Flame():
            yield from _render_block(doc.Prose(describe_drawing(block), "quiet"))
        case doc.Bars() if block.rows:
            yield from _render_bars(block)
        case doc.Details() if not block.is_printed:
            yield Paragraph(f"▸ {_get_text(block.summary)}", STYLES["quiet"], indent=0)
        case doc.Details():
            yield Text()
            yield _render_words(block.summary)
            yield Padding(render_terminal(block.blocks), (0, 0, 0, 2))


def _get_text(words: Words) -> str:
    """The words on one line; commands in text of ours keep their backticks."""
    return escape_line(join_text(words))


def _make_grid() -> RichTable:
    return RichTable(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False, header_style="dim"
    )


def _render_table(table: doc.RowTable) -> RichTable:
    made = _make_grid()
    made.show_header = any(it.title for it in table.columns)
    for column in table.columns:
        is_number = column.kind == "number"
        title = Text(escape_line(column.title), justify="right" if is_number else "left")
        made.add_column(title, no_wrap=is_number, overflow="fold", justify=title.justify or "left")
    set_in = False
    for row in table.rows:
        if isinstance(row, doc.Group):
            made.add_row(Text(escape_line(row.text)))
            set_in = True
            continue
        # a cell may have several lines, which its column sets in, but for the first's
        first, *others = (_render_cell(it, at > 0) for at, it in enumerate(row))
        made.add_row(Text("  ").append_text(first) if set_in else first, *others)
    return made


def _render_cell(it: Words | TableCell, keeps_lines: bool) -> Text:
    cell = it if isinstance(it, TableCell) else TableCell(it)
    text = _render_words(cell.words, keeps_lines)
    text.stylize(STYLES[cell.tone])
    return text.append_text(Text(f" {_get_text(cell.beside)}", "dim")) if cell.beside else text


def _render_words(words: Words, keeps_lines: bool = False) -> Text:
    escape = escape_text if keeps_lines else escape_line
    if isinstance(words, str):
        return Text(escape(words))
    return Text.assemble(*(Text(escape(it.text), STYLES[it.tone]) for it in list_spans(words)))


def _render_bars(bars: doc.Bars) -> Iterator[RenderableType]:
    """`ssqqDDDDDDDDrr`: each part by its share, with what it is called."""
    signs = {name: name[0] for name in bars.names}
    made = _make_grid()
    for name, parts in bars.rows:
        whole = sum(size for _, size, _ in parts) or 1.0
        ends = [round(BAR * end / whole) for end in accumulate(size for _, size, _ in parts)]
        runs = zip(parts, pairwise([0, *ends]), strict=True)
        bar = "".join(signs[part] * (last - first) for (part, *_), (first, last) in runs)
        told = ", ".join(f"{part} {said}" for part, size, said in parts if size)
        made.add_row(Text(escape_line(name)), Text(bar), Text(escape_line(told), "dim"))
    yield made


class _Plot:
    """A forest in as many columns as there are."""

    def __init__(self, forest: doc.Forest) -> None:
        self.forest = forest

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        it = self.forest
        table = PlottedTable(it.sides, it.rows, it.level, options.max_width)
        yield from table.build_lines(it.beside)
