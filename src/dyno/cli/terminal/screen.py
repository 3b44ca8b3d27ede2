"""What stdout and stderr get: lines, paragraphs, tables, sizes; the same on a terminal and a pipe.

All that Dyno prints passes through here, and what is foreign in it (SQL, errors, names, logs) loses
its control characters (`escape_text`). Only `print_verbatim` hands text on as it is, and to no
terminal.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from dyno import numbers
from dyno.printable import escape_line, escape_text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from dyno.report.document import Document

PIPE_COLUMNS = 100
#: A first screen on a pipe, and the widest on a terminal: longer lines are hard to read.
SCREEN_COLUMNS, SCREEN_COLUMNS_MAX = 80, 110
LONG = (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1))


def make_console(*, stderr: bool = False) -> Console:
    """A rich console; on a pipe it is `PIPE_COLUMNS` wide and without colour."""
    from rich.console import Console
    from rich.segment import Segment

    class OurConsole(Console):
        """Leaves a reader who went away to `exits`, where rich would end the program with 1; and
        obeys nobody's control characters but rich's own.
        """

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for it in super().render(renderable, options):
                yield it if it.control else Segment(escape_text(it.text), it.style)

    made = OurConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = PIPE_COLUMNS
    return made


@dataclass(frozen=True)
class Styled:
    """Words that stand out on a terminal."""

    words: str
    colour: str | None = None

    def __str__(self) -> str:
        return click.style(escape_line(self.words), fg=self.colour, bold=True)


def style_bold(words: str) -> Styled:
    return Styled(words)


def print_line(*parts: str | Styled, err: bool = False) -> None:
    click.echo(
        "".join(escape_line(it) if isinstance(it, str) else str(it) for it in parts), err=err
    )


def print_gap(*, err: bool = False) -> None:
    click.echo(err=err)


def indent(text: str) -> str:
    """Several lines of somebody else's, those after the first set in: none passes for ours."""
    return text.replace("\n", "\n  ")


def print_lines(*parts: str | Styled, err: bool = False) -> None:
    click.echo(
        "".join(escape_text(it) if isinstance(it, str) else str(it) for it in parts), err=err
    )


def print_verbatim(text: str, *, err: bool = False, newline: bool = True) -> None:
    """Text as it is where a file or a program reads it: a script's own output, or what stands for
    another program's, byte for byte. A terminal gets it without control characters.
    """
    stream = sys.stderr if err else sys.stdout
    text = escape_text(text) if stream.isatty() else text
    click.echo(text, err=err, nl=newline, color=True)  # else it would leave out escape sequences


def print_paragraph(text: str, columns: int | None = None) -> None:
    columns = columns or min(make_console().width, PIPE_COLUMNS)
    filled = textwrap.fill(
        escape_text(text), columns, break_on_hyphens=False, break_long_words=False
    )
    click.echo(filled)


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()
) -> None:
    """Columns under `heads`; those whose index is in `right` hold numbers."""
    from dyno.report.document import RowTable, TableColumn

    cells = [[str(it) for it in row] for row in rows]
    titles = heads or [""] * max(map(len, cells), default=0)
    columns = [TableColumn(it, "number" if at in right else "text") for at, it in enumerate(titles)]
    draw_document([RowTable(columns, cells)], is_apart=False)


def choose_screen_columns() -> int:
    """How wide a first screen is: as the terminal, within reason."""
    console = make_console()
    return min(console.width, SCREEN_COLUMNS_MAX) if console.is_terminal else SCREEN_COLUMNS


def draw(thing: RenderableType, columns: int | None = None) -> None:
    """Prints what rich draws, without the blanks that it fills lines with; `columns` wide, else as
    wide as stdout.
    """
    out = make_console()
    out.width = columns or out.width
    with out.capture() as drawn:
        out.print(thing)
    click.echo("\n".join(line.rstrip() for line in drawn.get().splitlines()))


def draw_document(document: Document, columns: int | None = None, is_apart: bool = True) -> None:
    """Prints a document, between empty lines unless it goes on from what was printed."""
    from dyno.report.render.terminal import render_terminal

    if is_apart:
        print_gap()
    draw(render_terminal(document), columns)
    if is_apart:
        print_gap()


def format_bytes(size: float) -> str:
    """`1.4 GB`, in powers of 1000, as disks are sold."""
    return numbers.format_quantity(size, "bytes", significant=2)


def format_duration(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    whole = round(seconds)
    for big, size, small, part in LONG:
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {big}" + (f" {rest} {small}" if rest else "")
    return f"{seconds:.2g} s" if seconds < 9.95 else f"{whole} s"


def format_latency(ns: float) -> str:
    """`850 ns`, `12.3 µs`, `4.56 ms`, `1.20 s`: three digits."""
    return numbers.format_quantity(ns, "ns")


def format_rate(per_s: float) -> str:
    """`12,345` or, below a thousand, three digits."""
    return f"{per_s:,.0f}" if per_s >= 1000 else numbers.format_digits(per_s)


def form_plural(noun: str) -> str:
    """`rows`, `queries`, `keys`."""
    vowelled = noun[-2:-1] in "aeiou"
    return f"{noun[:-1]}ies" if noun.endswith("y") and not vowelled else f"{noun}s"
