"""A count on the terminal, and its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen
from dyno.report import counts

if TYPE_CHECKING:
    from dyno.record.count import Count, CountComparison


def derive_count_page(folder: Path, count: Count, rows: Sequence[CountComparison]) -> Path:
    """Makes the page of a count, in its folder."""
    from dyno.report.html.page import replace_file

    return replace_file(folder / "report.html", counts.render_count(count, rows))


def print_count(count: Count, rows: Sequence[CountComparison], verbose: bool = False) -> None:
    """A count's first screen, or with `verbose` all of it."""
    build = counts.build_count if verbose else counts.build_first_screen
    screen.draw_document(build(count, rows), None if verbose else screen.choose_screen_columns())


def print_count_places(folder: Path, page: Path, count: Count) -> None:
    """Where to go on: the page, the rest of the words, and the command that counts again."""
    screen.print_line(f"report  {page}")
    screen.print_line(f"more    dyno show {folder.name}")
    screen.print_line(f"again   {count.command}")


def print_functions(count: Count) -> None:
    """Each candidate's functions by layer, the heaviest first."""
    screen.draw_document(counts.build_functions(count))
