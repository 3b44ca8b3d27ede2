"""A page with all that it needs inside: style, script, data and the charting library.

A content security policy forbids the browser to fetch anything else, should a mistake here ever
try.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from plotly.offline import get_plotlyjs

from dyno.report.markup import asset, render


@dataclass(frozen=True)
class Front:
    """What stands above the parts; `candidates`, where there are any, is the legend of colours."""

    title: str
    eyebrow: str
    heading: str
    question: str
    aside: str
    candidates: Sequence[str] = ()
    quick: bool = False


@dataclass(frozen=True)
class Part:
    """A titled stretch of the page, and the name that links to it."""

    title: str
    anchor: str
    body: Markup


def whole(front: Front, parts: Sequence[Part]) -> str:
    """The page as text."""
    return render(
        asset("page.html"),
        front=front,
        parts=parts,
        style=Markup(asset("page.css")),
        script=Markup(asset("page.js")),
        plotly=_packed(get_plotlyjs()),
    )


def _packed(script: str) -> str:
    """Compressed for the page's `DecompressionStream`: 2 MB in place of 4.8."""
    return base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode()
