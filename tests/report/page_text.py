"""What a reader sees of a page's markup and of the terminal's lines."""

from __future__ import annotations

import dataclasses
import html
import re
from typing import Any

from rich.console import Console

from dyno.report import Book
from dyno.report.sections.trust import SECTION
from dyno.report.text import brief


def words(markup: str) -> str:
    """What a reader sees of it, blanks as one."""
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", markup))
    return re.sub(r" ([.,:;])", r"\1", html.unescape(plain))


def said(book: Book) -> str:
    return words(SECTION.render(book))


def terminal(book: Book) -> str:
    console = Console(width=300, color_system=None)
    with console.capture() as drawn:
        console.print(brief.build_brief_table(book))
    return drawn.get()


def changed(book: Book, **changes: Any) -> Book:
    return dataclasses.replace(book, run=dataclasses.replace(book.run, **changes))
