"""What stdout gets: paragraphs, tables and sizes, the same on a terminal and on a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import click

from dyno import numbers

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PIPE_COLUMNS = 100
LONG = (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1))


def console(*, stderr: bool = False) -> Console:
    """A rich console; on a pipe it is `PIPE_COLUMNS` wide and without colour."""
    from rich.console import Console

    class OurConsole(Console):
        """Leaves a reader who went away to `exits`; rich would end the program with 1."""

        def on_broken_pipe(self) -> None:
            """As print does."""
            raise BrokenPipeError

    made = OurConsole(stderr=stderr, highlight=False)
    if not made.is_terminal:
        made.width = PIPE_COLUMNS
    return made


def paragraph(text: str) -> None:
    """Prose, wrapped for the reader."""
    columns = min(console().width, PIPE_COLUMNS)
    click.echo(textwrap.fill(text, columns, break_on_hyphens=False, break_long_words=False))


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()
) -> None:
    """Columns under `heads`; those whose index is in `right` hold numbers."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(heads))
    for index, head in enumerate(heads):
        numeric = index in right
        side: Literal["left", "right"] = "right" if numeric else "left"
        made.add_column(head, justify=side, no_wrap=numeric, overflow="fold")
    for row in rows:
        made.add_row(*(Text(str(cell)) for cell in row))
    draw(made)


def draw(thing: RenderableType) -> None:
    """Prints what rich draws, without the blanks that it fills lines with."""
    out = console()
    with out.capture() as drawn:
        out.print(thing)
    click.echo("\n".join(line.rstrip() for line in drawn.get().splitlines()))


def format_bytes(size: float) -> str:
    """`1.4 GB`, in powers of 1000, as disks are sold."""
    return numbers.quantity(size, "bytes", significant=2)


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
    return numbers.quantity(ns, "ns")


def format_rate(per_s: float) -> str:
    """`12,345` or, below a thousand, three digits."""
    return f"{per_s:,.0f}" if per_s >= 1000 else numbers.digits(per_s)


def plural(noun: str) -> str:
    """`rows`, `queries`, `keys`."""
    vowelled = noun[-2:-1] in "aeiou"
    return f"{noun[:-1]}ies" if noun.endswith("y") and not vowelled else f"{noun}s"
