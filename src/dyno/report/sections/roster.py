"""Section: every trial by its number; links to trials lead here."""

from __future__ import annotations

from dyno.record import Trial
from dyno.report import Book
from dyno.report.html.markup import render

_TEMPLATE = """
<details><summary>{{ trials | length | plural("trial") }}</summary>
<div class="scroll" tabindex="0"><table class="searched">
<thead><tr><th scope="col" class="n">trial</th><th scope="col">workload</th>
<th scope="col" class="n">block</th><th scope="col" class="n">attempt</th>
<th scope="col" class="n">place</th><th scope="col">candidate</th><th scope="col">began</th>
<th scope="col">counts</th></tr></thead>
<tbody>{% for trial, counts in trials %}
<tr id="trial-{{ trial.number }}"><th scope="row" class="n">{{ trial.number }}</th>
<td>{{ trial.workload }}</td><td class="n">{{ trial.block + 1 if trial.block >= 0 else "" }}</td>
<td class="n">{{ trial.attempt }}</td><td class="n">{{ trial.order + 1 }}</td>
<td>{{ trial.candidate }}</td><td>{{ trial.started_utc }}</td><td>{{ counts }}</td></tr>
{% endfor %}</tbody></table></div></details>
"""


class _Roster:
    title = "Trials by number"
    place = 72

    def render(self, book: Book) -> str | None:
        """A folded row per trial, the client-only baseline's too; a link to a row opens the
        fold.
        """
        trials = sorted(book.trials, key=lambda trial: trial.number)
        counted = {t.number for t in book.view.counted_trials}
        lost = {(each.workload, each.block) for each in book.view.dropped}

        def describe_count(trial: Trial) -> str:
            if trial.block < 0:
                return "the client-only baseline"
            if trial.number in counted or trial.status != "ok":
                return "yes" if trial.number in counted else f"no: {trial.status}"
            if (trial.workload, trial.block) in lost:
                return "no: its block was dropped"
            begun_anew = trial.number in book.view.torn_numbers
            return "no: begun anew" if begun_anew else "no: its block is not whole"

        return (
            render(_TEMPLATE, trials=[(t, describe_count(t)) for t in trials]) if trials else None
        )


SECTION = _Roster()
