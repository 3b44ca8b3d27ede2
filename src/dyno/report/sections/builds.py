"""Section: what each candidate is: its program, where it came from, and its checksum."""

from __future__ import annotations

from dyno.report import Book, Section
from dyno.report.document import Document, RowTable, TableRow, TextSpan, make_columns


def build(book: Book) -> Document:
    """A column per candidate; a row per fact, those that differ marked."""
    order = book.view.candidates
    sides = sorted(book.run.candidates, key=lambda c: order.index(c.name))
    names = list(dict.fromkeys(name for side in sides for name in side.build))
    found = [("spec", [s.spec for s in sides]), ("engine", [s.engine for s in sides])]
    found += [(name, [side.build.get(name, "") for side in sides]) for name in names]
    rows: list[TableRow] = [
        (
            f"{'≠ ' if len(set(values)) > 1 else ''}{name.replace('_', ' ')}",
            *(TextSpan(value, code=True) for value in values),
        )
        for name, values in found
    ]
    first, *others = order
    return [RowTable(make_columns("", after=(f"{first} (base)", *others)), rows)]


SECTION = Section("Builds", 82, build)
