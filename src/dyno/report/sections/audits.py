"""Section: what was checked, what was lost, and what the controls did, all of it."""

from __future__ import annotations

from collections import Counter, defaultdict

from dyno.report import Book, basis, facts
from dyno.report.html import markup
from dyno.report.html.markup import render

_TEMPLATE = """
{% if findings %}
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">audit</th><th scope="col">finding</th><th scope="col">why</th>
<th scope="col">trials</th></tr></thead>
<tbody>{% for f in findings %}
<tr><th scope="row">{{ f.audit }}</th>
<td><span class="badge {{ f.soundness | replace(' ', '-') }}">{{ f.soundness }}
</span></td><td>{{ f.sentence }}</td><td>{{ links(f.trials) }}</td></tr>
{% endfor %}</tbody></table></div>
{% else %}<p>No audit has judged this run.</p>{% endif %}
{% if dropped %}
<h3>Blocks dropped</h3>
<ul>{% for each in dropped %}
<li><b>{{ each.workload }}, block {{ each.block + 1 }}</b>: {{ each.reason }}</li>
{% endfor %}</ul>
{% endif %}
{% if lost %}
<h3>Trials that failed or were interrupted</h3>
<ul>{% for t in lost %}
<li><b>trial {{ t.number }}</b>, {{ t.candidate }}, {{ t.workload }}, block {{ t.block + 1 }}:
{{ t.status }}{% if t.failure %}: {{ t.failure }}{% endif %}</li>
{% endfor %}</ul>
{% endif %}
{% if reconnected %}
<h3>Connections that were lost and made anew</h3>
<ul>{% for where, count in reconnected.items() %}
<li><b>{{ where }}</b>: {{ count }}</li>
{% endfor %}</ul>
{% endif %}
<p class="aside">Limits declared before the run:
{{ limits or "none" }}.
{% if torn %}{{ torn | plural("trial") }} of torn blocks (begun anew) did not count.{% endif %}</p>
{% if conditions %}
<details><summary>Conditions: what each control found and set</summary>
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">control</th><th scope="col">state</th><th scope="col">value</th>
</tr></thead>
<tbody>{% for control, state, values in conditions %}
<tr><th scope="row">{{ control }}</th><td>{{ state }}</td><td class="wrap">{{ values }}</td></tr>
{% endfor %}</tbody></table></div></details>
{% endif %}
"""


class _Audits:
    title = "Audits and conditions in full"
    place = 70

    def render(self, book: Book) -> str:
        """The findings, the worst first; the dropped blocks; the lost trials; the conditions."""
        return render(
            _TEMPLATE,
            findings=facts.sort_worst_first(book.verdict.findings),
            links=markup.link_trials,
            dropped=book.verdict.dropped,
            lost=[t for t in book.view.played_trials if t.status != "ok"],
            reconnected=_count_reconnections(book),
            limits=basis.describe_limits(book.run),
            torn=len(book.view.torn_numbers),
            conditions=_list_conditions(book),
        )


def _count_reconnections(book: Book) -> Counter[str]:
    """Connections made anew, by candidate, workload and phase."""
    found: Counter[str] = Counter()
    for trial in book.view.played_trials:
        for record in trial.phases:
            where = f"{trial.candidate}, {trial.workload}, {record.phase}"
            found[where] += sum(tally.reconnected for tally in record.streams)
    return +found


def _list_conditions(book: Book) -> list[tuple[str, str, str]]:
    """(control, state, the values seen with the number of trials where there are several)."""
    seen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for trial in book.view.played_trials:
        for name, facts_of_it in basis.list_condition_facts(trial.conditions).items():
            for fact, value in facts_of_it.items():
                seen[name, fact].append(value)
    return [
        (control, state, basis.format_values(found))
        for (control, state), found in sorted(seen.items())
    ]


SECTION = _Audits()
