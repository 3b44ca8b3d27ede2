"""Section: the exact commands that make this run, or this page, again."""

from __future__ import annotations

import shlex

from dyno.report import Book
from dyno.report.html.markup import render

_TEMPLATE = """
<dl class="commands">
<dt>Play it again</dt><dd><pre><code>{{ run.command or "(not recorded)" }}</code></pre></dd>
<dt>Play the same blocks in the same order</dt><dd>seed <code>{{ run.seed }}</code></dd>
<dt>Make this page again</dt><dd><pre><code>dyno report {{ folder }}</code></pre></dd>
<dt>Finish it, where it was interrupted</dt>
<dd><pre><code>dyno resume {{ folder }}</code></pre></dd>
</dl>
<p class="aside">Dyno {{ run.dyno or "of unknown version" }},
driver <code>{{ run.driver_sha256[:16] or "unknown" }}</code>, records of schema {{ run.schema }}.
Every number of every trial is in <code>trials.csv</code>, the raw records in
<code>trials/</code>.</p>
"""


class _Repeat:
    title = "Repeat it"
    place = 90

    def render(self, book: Book) -> str:
        """The user's own command, then those that work on the run's folder."""
        return render(_TEMPLATE, run=book.run, folder=shlex.quote(book.folder.name))


SECTION = _Repeat()
