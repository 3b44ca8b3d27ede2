"""Section: what changed, in a sentence per candidate, and the plans and counters it rests on."""

from __future__ import annotations

from functools import partial

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
{% if cause.counters %}<div class="scroll" tabindex="0"><table>
<caption>What {{ cause.candidate }}'s server counted for an operation, against {{ base }}</caption>
<thead><tr><th scope="col">counter</th><th scope="col" class="n">{{ base }}</th>
<th scope="col" class="n">{{ cause.candidate }}</th><th scope="col" class="n">difference</th>
<th scope="col" class="n">{{ level }}&#8239;% interval</th><th scope="col">differs</th></tr></thead>
<tbody>{% for it in cause.counters %}
<tr><th scope="row">{{ it.workload }}, {{ it.phase }}: {{ it.counter.replace("_", " ") }}</th>
<td class="n">{{ it.base_value | quantity(it.unit) }}</td>
<td class="n">{{ it.candidate_value | quantity(it.unit) }}</td>
<td class="n">{{ it.difference | quantity(it.unit) }}</td>
<td class="n">[{{ it.low | quantity(it.unit) }}, {{ it.high | quantity(it.unit) }}]</td>
<td>{{ "yes" if it.differs else "" }}</td></tr>{% endfor %}
</tbody></table></div>{% endif %}
{% for why, count in (cause.unexplained or {}).items() %}
<p class="aside">{{ count | plural("statement") }} without a plan: {{ why }}.</p>
{% endfor %}{% endfor %}<p class="aside">Plans are what each engine answers to EXPLAIN before the
first and after the last phase, without estimates and values; nothing is executed. A plan has
changed where no restart of the candidate shares one with the base. Counters are the whole server's,
its work in the background and a question of ours included; their intervals are over blocks, and
Holm's method counts all rows of a table.</p>
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
        level = f"{100 * (1 - book.run.design.alpha):g}"
        titles = partial(_choose_titles, base)
        return render(_TEMPLATE, causes=causes, base=base, level=level, titles=titles)


def _choose_titles(base: str, change: PlanChange) -> tuple[str, str]:
    """Whose the two plans are."""
    if change.kind in ("during", "both"):
        return f"{change.candidate} at the start", "at the end"
    return base, change.candidate


SECTION = _Cause()
