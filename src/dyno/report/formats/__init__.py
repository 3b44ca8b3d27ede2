"""The formats of other programs: one file each, which offers `FORMAT`; its name is the format's.

Most of them have no place for a verdict. It stands then in names, notes or a number of its own, and
each file says where.
"""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from typing import Protocol

from dyno.errors import UsageError, build_unknown_error
from dyno.plugins import load_things
from dyno.report.html.page import write_user_file
from dyno.report.result import Holding, Result


class Format(Protocol):
    """A way of writing a verdict down; `summary` says who reads it."""

    summary: str
    #: It tells one of these; a result that holds none of them is refused. Empty: it tells any.
    reads: tuple[Holding, ...]

    def render(self, result: Result, strict: bool) -> str | bytes:
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


def check_format(name: str, noun: str, holdings: Set[Holding]) -> Format:
    """Return the format; raise `UsageError` if it tells nothing of what such a run holds."""
    found = find_format(name)
    if found.reads and not holdings & {*found.reads}:
        others = (
            it for it, own in load_formats().items() if not own.reads or holdings & {*own.reads}
        )
        raise UsageError(
            f"--format {name} does not apply to {noun}",
            cause=f"it tells {' or '.join(found.reads)}, and there are none",
            hint=f"--format {', '.join(others)}",
        )
    return found


def write_format(name: str, result: Result, strict: bool, file: Path | None) -> str:
    """Writes a format to the user's `file`; without one its text is the answer.

    `UsageError` where a binary format has no file to go to.
    """
    made = check_format(name, result.noun, result.holdings).render(result, strict)
    if file:
        write_user_file(file, made)
        return ""
    if isinstance(made, bytes):
        raise UsageError(f"{name} is no text", hint=f"name a file: --format {name}=FILE")
    return made
