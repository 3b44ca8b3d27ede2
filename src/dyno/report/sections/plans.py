"""Section: statements that a candidate executes by another plan than the base."""

from __future__ import annotations

from dyno.report import Book
from dyno.report.html.markup import render
from dyno.report.plan_changes import plan_changes

_TEMPLATE = """
{% for it in changes %}<h3>{{ it.statement }}</h3>
<p>{{ it.workload }}: {{ base }}, then {{ it.candidate }}</p>
<pre>{{ it.base_plan }}</pre>
<pre>{{ it.plan }}</pre>
{% endfor %}<p class="aside">As each engine told it after the last phase (EXPLAIN), without
estimates; of a candidate the plan of most of its restarts.</p>
"""


class _Plans:
    title = "Plans that differ"
    place = 64

    def render(self, book: Book) -> str | None:
        """Both plans of each statement; None where all are alike."""
        changes = plan_changes(book)
        return render(_TEMPLATE, changes=changes, base=book.view.candidates[0]) if changes else None


SECTION = _Plans()
