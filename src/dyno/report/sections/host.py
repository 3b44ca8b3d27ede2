"""Section: the machine that played it."""

from __future__ import annotations

from dyno.report import Book, Section
from dyno.report.document import Document, RowTable, make_columns


def build(book: Book) -> Document:
    rows = [(name.replace("_", " "), value) for name, value in book.run.host.items()]
    return [RowTable(make_columns("", after=("",)), rows)]


SECTION = Section("Host", 80, build)
