"""The formats of other programs: one file each, which offers `FORMAT`; its name is the format's.

Most of them have no place for a verdict. It stands then in names, notes or a number of its own, and
each file says where.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from dyno.errors import UsageError, build_unknown_error
from dyno.plugins import load_things
from dyno.report import Book
from dyno.report.html.page import write_user_file


class Format(Protocol):
    """A way of writing a verdict down; `summary` says who reads it."""

    summary: str

    def render(self, book: Book, strict: bool) -> str | bytes:
        """The file's text, or its bytes where it is binary.

        `strict`: a doubtful comparison is a failure, where the format knows failures.
        """


def load_formats() -> dict[str, Format]:
    """Every format by its name, `go-benchmark` for the file `go_benchmark.py`."""
    found: dict[str, Format] = load_things("dyno.report.formats", "FORMAT")
    return {name.replace("_", "-"): each for name, each in found.items()}


def find_format(name: str) -> Format:
    """The format of that name; `UsageError` with the nearest ones where there is none."""
    formats = load_formats()
    if name not in formats:
        raise build_unknown_error("format", name, formats)
    return formats[name]


def write_format(name: str, book: Book, strict: bool, file: Path | None) -> str:
    """Writes a format to the user's `file`; without one its text is the answer.

    `UsageError` where a binary format has no file to go to.
    """
    made = find_format(name).render(book, strict)
    if file:
        write_user_file(file, made)
        return ""
    if isinstance(made, bytes):
        raise UsageError(f"{name} is no text", hint=f"name a file: --format {name}=FILE")
    return made
