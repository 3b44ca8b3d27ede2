"""Section: the verdict, in words first and then in numbers."""

from __future__ import annotations

from itertools import groupby

from dyno.judge.analysis.sentence import choose_leading_doubt
from dyno.record import Comparison, Doubt, Verdict, compute_host_score
from dyno.report import Book, facts, words
from dyno.report.basis import summarize_calibration, summarize_restarts
from dyno.report.html.markup import render

_TEMPLATE = """
<p class="verdict {{ 'doubtful' if verdict.doubts else verdict.overall | replace(' ', '-') }}">
{{- verdict.sentence | coded }}</p>
<ul class="chips">
<li><a href="#audits">audits</a>{% for word, number in counts.items() %}
<span class="badge {{ word | replace(' ', '-') }}">{{ count_words(word, number) }}</span>
{%- endfor %}</li>
{% for chip in chips %}<li><a href="#trust">{{ chip }}</a></li>{% endfor %}
</ul>
{% if run.design.quick %}<p class="mark">{{ quick }}</p>{% endif %}
{% if not verdict.complete %}
<p class="mark">The run is not complete: this is what has been measured so far.</p>
{% endif %}
{% for f in invalid %}
<p><b class="invalid">invalid</b> {{ f.sentence | coded }}</p>
{% endfor %}
{% for doubt in doubts %}
<p><b class="doubtful">doubtful, too</b> {{ doubt.sentence | coded }}</p>
{% endfor %}
{% if means %}
<p>{{ gate | capitalize }}.</p>
<ul>{% for line in means %}<li>{{ line }}</li>{% endfor %}</ul>
{% endif %}
{% for name, rows in tables %}
<div class="scroll" tabindex="0"><table class="main">
<caption>{{ name }} against {{ run.design.base }}</caption>
<thead><tr><th scope="col">metric</th>
<th scope="col" class="n">{{ run.design.base }}</th><th scope="col" class="n">{{ name }}</th>
<th scope="col" class="n">slowdown</th>
<th scope="col" class="n">{{ level }}&#8239;% interval</th><th scope="col">verdict</th>
<th scope="col" class="n">margin</th>
<th scope="col" class="n">blocks</th><th scope="col" class="n">MDE80</th></tr></thead>
<tbody>
{% for workload, own in rows %}
<tr class="group"><th scope="rowgroup" colspan="9">{{ workload }}</th></tr>
{% for c in own %}
<tr><th scope="row">{{ c.metric.phase }} {{ c.metric | metric }}</th>
<td class="n">{{ c.base_value | quantity(c.metric.unit) }}</td>
<td class="n">{{ c.candidate_value | quantity(c.metric.unit) }}</td>
<td class="n">{{ c.slowdown_percent | signed }}&#8239;%</td>
<td class="n">{{ interval(c.low_percent, c.high_percent) }}</td>
<td>{% if c.primary %}
<span class="badge {{ c | standing }}">
{{- c | verdict(False) }}</span>{% else %}<span class="quiet">{{ c | verdict(False) }},
explored</span>{% endif %}</td>
<td class="n">{{ "%g" | format(c.margin_percent) }}&#8239;%</td>
<td class="n">{{ c | of_played }}</td>
<td class="n">{{ c.mde80_percent | percent }}</td></tr>
{% for note in c.notes %}
<tr class="note"><td colspan="9">{{ note | coded }}</td></tr>
{% endfor %}{% endfor %}{% endfor %}
</tbody></table></div>
{% endfor %}
<p class="aside">{{ slowdown | capitalize }}.
{% if tables %}Each interval counts the analyses, and holds by itself. Block: every candidate once,
each newly started, next to each other in time; valid of played. Not slower, ≤: the end of its
interval, below the margin. MDE80: the smallest slowdown that this many blocks would have found in
four runs of five. Server CPU/op is explored: it never sets the exit code. {% endif %}
{% if exploratory %}
{{ exploratory | plural("exploratory comparison") }} beside
{{ "these" if tables else "the main effects" }}
{{ "is" if exploratory == 1 else "are" }} in the forest below and never
{{ "sets" if exploratory == 1 else "set" }} the exit code.
{% endif %}
<a href="#trust">What the verdict rests on</a> stands below.</p>
"""


class _Verdict:
    title = "Verdict"
    place = 10

    def render(self, book: Book) -> str:
        """The sentence, what casts doubt on it, and a table of the primaries per candidate."""
        verdict = book.verdict
        main = words.list_main_comparisons(verdict.comparisons)
        names = [] if book.run.factors else book.view.candidates[1:]
        tables = [
            (name, _group_by_workload([c for c in main if c.candidate == name])) for name in names
        ]
        shown = main if names else [c for c in verdict.comparisons if c.primary]
        return render(
            _TEMPLATE,
            verdict=verdict,
            run=book.run,
            quick=words.QUICK,
            slowdown=words.SLOWDOWN,
            gate=words.GATE_MEAN,
            means=words.format_mean_outcomes(verdict),
            level=f"{100 * (1 - book.run.design.alpha):g}",
            doubts=_list_further_doubts(verdict),
            counts=facts.count_findings(verdict.findings),
            count_words=facts.format_count,
            chips=_list_chips(book),
            invalid=[f for f in verdict.findings if f.soundness == "invalid"],
            tables=[(name, rows) for name, rows in tables if rows],
            exploratory=len(verdict.comparisons) - len(shown),
        )


def _list_further_doubts(verdict: Verdict) -> list[Doubt]:
    """Those that the sentence does not tell."""
    doubts = verdict.doubts
    return [doubt for doubt in doubts if doubt != choose_leading_doubt(doubts)]


def _list_chips(book: Book) -> list[str]:
    """What else a reader asks at first glance: losses, the host, how often the method errs."""
    lost, survey = summarize_restarts(book).losses, book.run.survey
    return [
        "some restarts lost" if lost else "nothing lost",
        "host not surveyed" if survey is None else f"host {compute_host_score(survey)} of 100",
        "calibrated" if summarize_calibration(book.run).when else "not calibrated",
    ]


def _group_by_workload(rows: list[Comparison]) -> list[tuple[str, list[Comparison]]]:
    return [(name, list(own)) for name, own in groupby(rows, key=lambda c: c.metric.workload)]


SECTION = _Verdict()
