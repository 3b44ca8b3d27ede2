"""What a reader sees of a page's markup and of the terminal's lines."""

from __future__ import annotations

import dataclasses
import html
import re
from typing import Any

from msgspec import structs
from rich.console import Console

from dyno.printable import escape_text
from dyno.record import Run, Verdict
from dyno.report import Book, Section
from dyno.report.document import Document
from dyno.report.render.html import render_html
from dyno.report.render.terminal import render_terminal
from dyno.report.sections.trust import SECTION
from dyno.report.sections.verdict import build_whole, list_whole


def words(markup: str) -> str:
    """What a reader sees of it, blanks as one."""
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", markup))
    return re.sub(r" ([.,:;])", r"\1", html.unescape(plain))


def draw(section: Section, book: Book) -> str:
    """A section as HTML; empty where it has nothing to say."""
    return str(render_html(section.build(book)))


def print_document(document: Document, width: int = 100) -> str:
    console = Console(width=width, color_system=None, highlight=False, markup=False)
    with console.capture() as drawn:
        console.print(render_terminal(document))
    return "\n".join(line.rstrip() for line in escape_text(drawn.get()).splitlines()) + "\n"


def format_verdict(run: Run, verdict: Verdict, everything: bool = False, width: int = 100) -> str:
    """The whole verdict on a terminal without colour."""
    return print_document(list(list_whole(run, verdict, everything)), width)


def said(book: Book) -> str:
    return words(draw(SECTION, book))


def terminal(book: Book) -> str:
    return print_document(build_whole(book), 300)


def changed(book: Book, **changes: Any) -> Book:
    return dataclasses.replace(book, run=structs.replace(book.run, **changes))
