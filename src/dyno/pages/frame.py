"""What stands around every page: the bar with the site's places, style, script, and the policy that
forbids a browser to fetch or run anything else.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal
from urllib.parse import quote

from markupsafe import Markup

from dyno.report.html.markup import read_asset, render

#: The places of the bar.
RUNS, MATRIX, BESIDE, HISTORY = "Runs", "Matrix", "Side by side", "History"
LIVE = "Now playing"
PLACES = (
    ("index.html", RUNS),
    ("matrix.html", MATRIX),
    ("beside.html", BESIDE),
    ("history.html", HISTORY),
    ("live.html", LIVE),
)
#: Where a site is: behind a server, or in files. Files play nothing, and ask nobody.
SiteKind = Literal["served", "published"]


@dataclass(frozen=True)
class SitePage:
    """A page: `here` is its place of the bar, `depth` how many folders stand above it.

    `events` is the address of its server-sent events, empty without any. A reader gets the page
    anew every `refresh_s` seconds, 0: not; one with scripts only where it has no events.
    """

    title: str
    heading: str
    body: Markup
    question: str = ""
    here: str = ""
    depth: int = 0
    events: str = ""
    refresh_s: int = 0


@dataclass(frozen=True)
class SiteFrame:
    """What all pages of a site have alike; `footer` says what it exposes."""

    kind: SiteKind = "served"
    footer: str = ""

    @property
    def places(self) -> list[tuple[str, str]]:
        """Addresses and titles of the bar."""
        return [place for place in PLACES if self.kind == "served" or place[1] != LIVE]

    def build(self, page: SitePage) -> str:
        """The page as text."""
        return render(
            read_template("site.html"),
            page=page,
            policy=build_policy(),
            style=Markup(build_style()),
            scripts=[Markup(each) for each in list_scripts()],
            bar=self.build_bar(page.depth, page.here),
            footer=self.footer,
        )

    def build_bar(self, depth: int, here: str = "", run: str = "") -> Markup:
        """The site's places as links from a page so many folders down."""
        root = "../" * depth
        return render(read_template("bar.html"), places=self.places, root=root, here=here, run=run)

    def add_bar(self, report: str, depth: int, run: str) -> str:
        """A report's page, which knows of no site, with the bar above it."""
        bar = f"<style>{read_template('bar.css')}</style>{self.build_bar(depth, run=run)}"
        return str(report).replace("<body>", f"<body>{bar}", 1)


_PROBLEM = """
<p class="reason invalid"><b>{{ sentence }}.</b></p>
{% if hint %}<p>{{ hint | coded }}</p>{% endif %}
<p><a href="{{ root }}index.html">All runs</a></p>
"""


def build_problem_page(sentence: str, hint: str, depth: int) -> SitePage:
    """What is wrong in a sentence, and what to do, where a page cannot be shown."""
    title = "This page cannot be shown"
    body = render(_PROBLEM, sentence=sentence, hint=hint, root="../" * depth)
    return SitePage(title, title, body, depth=depth)


def quote_key(key: str) -> str:
    """A run's key as a part of an address."""
    return quote(key, safe="@+,=")


@cache
def read_template(name: str) -> str:
    """A file that lies beside this one."""
    return files("dyno.pages").joinpath(name).read_text(encoding="utf-8")


@cache
def build_style() -> str:
    """The style of every page: the report's, with what only these pages have."""
    return read_asset("page.css") + read_template("bar.css") + read_template("site.css")


@cache
def list_scripts() -> Sequence[str]:
    """The scripts of every page."""
    return read_asset("page.js"), read_template("site.js")


@cache
def build_policy() -> str:
    """The content security policy: our own style and scripts by their checksums, places of marks in
    `style=`, events of the same site, and nothing else.
    """
    scripts = " ".join(map(_hash_source, list_scripts()))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {_hash_source(build_style())}; "
        "style-src-attr 'unsafe-inline'; img-src data:; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'"
    )


#: That of a report, which another Dyno may have made: it runs its own script, apart from the site,
#: and reaches nothing.
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; form-action 'none'; base-uri 'none'; sandbox allow-scripts "
    "allow-downloads"
)


def _hash_source(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
