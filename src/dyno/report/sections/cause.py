"""Section: what changed, in a sentence per candidate, and the plans and counters it rests on."""

from __future__ import annotations

from dyno.record import PlanChange
from dyno.report import Book
from dyno.report.html.markup import render

_TEMPLATE = """
{% for cause in causes %}<p class="cause">{{ cause.sentence | coded }}</p>
{% for it in cause.plan_changes %}<h3>{{ it.statement }}</h3>
<p>{{ it.workload }}: {{ titles(it)[0] }}, then {{ titles(it)[1] }}
({{ it.restarts }} of {{ it.of }} restarts)</p>
<pre>{{ it.base_plan }}</pre>
<pre>{{ it.plan }}</pre>
{% endfor %}
{% for why, count in (cause.unexplained or {}).items() %}
<p class="aside">{{ count | plural("statement") }} without a plan: {{ why }}.</p>
{% endfor %}{% endfor %}<p class="aside">Plans are what each engine answers to EXPLAIN before the
first and after the last phase, without estimates and values; nothing is executed. A plan has
changed where no restart of the candidate shares one with the base.</p>
"""


class _Cause:
    title = "What changed"
    place = 12

    def render(self, book: Book) -> str | None:
        """The sentences and, of each plan that differs, both; None where nothing was looked at."""
        causes = book.verdict.causes
        if not causes:
            return None
        base = book.view.candidates[0]
        return render(_TEMPLATE, causes=causes, titles=lambda change: _titles(base, change))


def _titles(base: str, change: PlanChange) -> tuple[str, str]:
    """Whose the two plans are."""
    if change.kind in ("during", "both"):
        return f"{change.candidate} at the start", "at the end"
    return base, change.candidate


SECTION = _Cause()
