"""Section: every trial by its number, where the links to trials lead."""

from __future__ import annotations

from dyno.record import Trial
from dyno.report import Book, facts
from dyno.report.html.markup import render

_TEMPLATE = """
<details><summary>{{ trials | length | plural("trial") }}</summary>
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col" class="n">trial</th><th scope="col">workload</th>
<th scope="col" class="n">block</th><th scope="col" class="n">attempt</th>
<th scope="col" class="n">place</th><th scope="col">candidate</th><th scope="col">began</th>
<th scope="col">counts</th></tr></thead>
<tbody>{% for trial, counts in trials %}
<tr id="trial-{{ trial.number }}"><th scope="row" class="n">{{ trial.number }}</th>
<td>{{ trial.workload }}</td><td class="n">{{ trial.block }}</td>
<td class="n">{{ trial.attempt }}</td><td class="n">{{ trial.order + 1 }}</td>
<td>{{ trial.candidate }}</td><td>{{ trial.started_utc }}</td><td>{{ counts }}</td></tr>
{% endfor %}</tbody></table></div></details>
"""


class _Roster:
    title = "Trials by number"
    place = 72

    def render(self, book: Book) -> str | None:
        """A folded row per trial, the floor's too; a link to a row opens the fold."""
        trials = sorted(book.trials, key=lambda trial: trial.number)
        counted = {t.number for w in book.run.workloads for t in facts.counted(book, w.name)}
        lost, torn = facts.dropped(book), facts.torn(book)

        def counts(trial: Trial) -> str:
            if trial.block < 0:
                return "the driver's floor"
            if trial.number in counted or trial.status != "ok":
                return "yes" if trial.number in counted else f"no: {trial.status}"
            dropped = (trial.workload, trial.block) in lost
            why = ["its block was dropped"] * dropped + ["begun anew"] * (trial.number in torn)
            return ": ".join(["no", *why[:1]])

        return render(_TEMPLATE, trials=[(t, counts(t)) for t in trials]) if trials else None


SECTION = _Roster()
