"""`report.html`: the whole run on one page that opens anywhere and asks nobody for anything.

Style, script, data and the charting library lie inside the file; a content security policy forbids
the browser to fetch anything else, should a mistake here ever try.
"""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path
from typing import Any

from markupsafe import Markup
from plotly.offline import get_plotlyjs

from dyno.report import Book, facts, sections, words
from dyno.report.files import replace
from dyno.report.markup import asset, render


def write(book: Book) -> Path:
    """Writes `report.html` into the run's folder, whole or not at all, and answers its path."""
    return replace(book.folder / "report.html", html(book))


def html(book: Book) -> str:
    """The page as text, about 2 MB, nearly all of it the charting library."""
    return render(
        asset("page.html"),
        run=book.run,
        verdict=book.verdict,
        candidates=facts.candidates(book),
        quick=words.QUICK if book.run.design.quick else "",
        parts=_parts(book),
        style=Markup(asset("page.css")),
        script=Markup(asset("page.js")),
        plotly=_packed(get_plotlyjs()),
    )


def _parts(book: Book) -> list[dict[str, Any]]:
    """The sections that have something to say, each with its anchor."""
    found = []
    for section in sections():
        body = section.render(book)
        if body is not None:
            anchor = re.sub(r"\W+", "-", section.title.lower()).strip("-")
            name = type(section).__module__.rpartition(".")[2]
            found.append({"title": section.title, "anchor": name or anchor, "body": Markup(body)})
    return found


def _packed(script: str) -> str:
    """Compressed for the page's `DecompressionStream`: 2 MB in place of 4.8."""
    return base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode()
