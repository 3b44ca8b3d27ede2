"""`report.html`: the whole run on one page that opens anywhere and asks nobody for anything."""

from __future__ import annotations

import re
from pathlib import Path

from markupsafe import Markup

from dyno.report import Book, facts, sections
from dyno.report.files import replace
from dyno.report.whole import Front, Part, whole


def write(book: Book) -> Path:
    """Writes `report.html` into the run's folder, whole or not at all, and answers its path."""
    return replace(book.folder / "report.html", html(book))


def html(book: Book) -> str:
    """The page as text, about 2 MB, nearly all of it the charting library."""
    run = book.run
    front = Front(
        title=f"{run.name}: {book.verdict.overall}",
        eyebrow="Dyno report",
        heading=run.name,
        question=run.question,
        aside=run.created_utc,
        candidates=facts.candidates(book),
        quick=run.design.quick,
    )
    return whole(front, _parts(book))


def _parts(book: Book) -> list[Part]:
    """The sections that have something to say, each with its anchor."""
    found = []
    for section in sections():
        body = section.render(book)
        if body is not None:
            anchor = re.sub(r"\W+", "-", section.title.lower()).strip("-")
            name = type(section).__module__.rpartition(".")[2]
            found.append(Part(section.title, name or anchor, Markup(body)))
    return found
