"""Section: the verdict, in words first and then in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from dyno.judge.analysis.sentence import choose_leading_doubt
from dyno.record import Comparison, Doubt, Verdict, compute_host_score
from dyno.report import Book, facts, words
from dyno.report.basis import summarize_calibration, summarize_restarts
from dyno.report.headline import choose_rows, list_decisive, list_reasons, shorten_cause
from dyno.report.html.forest_table import build_forest
from dyno.report.html.markup import render
from dyno.report.names import name_measurements

#: Rows of the forest plot; more stand in the table of all numbers.
_ROWS = 24
#: Candidates of which it says what changed.
_CAUSES = 2

_TEMPLATE = """
{% for reason in reasons %}<p class="reason {{ standing }}">{{ reason | coded }}</p>{% endfor %}
{{ forest }}
{% if left %}<p class="aside">{{ left | plural("more measurement") }}, none of them worse, in
<a href="#numbers">all numbers</a>.</p>{% endif %}
{% for name, cause in causes %}<p class="answer"><b>What changed
{%- if causes | length > 1 %} on {{ name }}{% endif %}</b>
{{ cause | coded }}. <a href="#cause">All that changed</a></p>{% endfor %}
<ul class="tiles">{% for tile in tiles %}
<li><a href="{{ tile.link }}">
<b{% if tile.standing %} class="{{ tile.standing }}"{% endif %}>{{ tile.figure }}</b>
{{ tile.words }}</a></li>{% endfor %}</ul>
<details id="numbers"><summary>All numbers</summary>
<p class="verdict {{ standing }}">{{ verdict.sentence | coded }}</p>
{% if run.design.quick %}<p class="mark">{{ quick }}</p>{% endif %}
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
{{ "is" if exploratory == 1 else "are" }} in the table below and never
{{ "sets" if exploratory == 1 else "set" }} the exit code.
{% endif %}
</p></details>
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
        named = name_measurements(book.run, list_decisive(verdict))
        seen = choose_rows(named, _ROWS)
        level = f"{100 * (1 - book.run.design.alpha):g}"
        return render(
            _TEMPLATE,
            verdict=verdict,
            run=book.run,
            standing="doubtful" if verdict.doubts else verdict.overall.replace(" ", "-"),
            reasons=list_reasons(book.run, verdict),
            forest=build_forest(book.run.candidates, seen, f"{level} %") if seen else "",
            left=len(named) - len(seen),
            causes=[(it.candidate, shorten_cause(it, "below")) for it in verdict.causes[:_CAUSES]],
            tiles=_list_tiles(book),
            quick=words.QUICK,
            slowdown=words.SLOWDOWN,
            gate=words.GATE_MEAN,
            means=words.format_mean_outcomes(verdict),
            level=level,
            doubts=_list_further_doubts(verdict),
            invalid=[f for f in verdict.findings if f.soundness == "invalid"],
            tables=[(name, rows) for name, rows in tables if rows],
            exploratory=len(verdict.comparisons) - len(shown),
        )


def _list_further_doubts(verdict: Verdict) -> list[Doubt]:
    """Those that the sentence does not tell."""
    doubts = verdict.doubts
    return [doubt for doubt in doubts if doubt != choose_leading_doubt(doubts)]


@dataclass(frozen=True)
class _Tile:
    """What the verdict rests on, in a figure and a few words; where all of it stands."""

    figure: str
    words: str
    link: str
    standing: str = ""


def _list_tiles(book: Book) -> list[_Tile]:
    """What a reader asks at first glance: audits, losses, the host, how often the method errs."""
    survey, run = book.run.survey, book.run
    known = summarize_calibration(run)
    poor = [o.name for o in survey or () if o.mark == "poor"]
    host = f"host; poor: {', '.join(poor)}" if poor else "host"
    score = "not surveyed" if survey is None else f"{compute_host_score(survey)} of 100"
    return [
        _describe_audits(book.verdict),
        _describe_blocks(book),
        _Tile(score, host, "#host"),
        _Tile(f"{'' if known.when else 'not '}calibrated", known.when or "on this host", "#trust"),
        *([_Tile("QUICK", "shortened: one analysis", "#trust")] if run.design.quick else []),
    ]


def _describe_audits(verdict: Verdict) -> _Tile:
    """How many are of the worst word, with their names where that is no praise, and the rest."""
    applying = [it for it in verdict.findings if it.soundness != "does not apply"]
    if not applying:
        return _Tile("none", "audits", "#audits")
    (worst, number), *others = facts.count_findings(applying).items()
    named = ""
    if is_bad := worst in ("invalid", "doubtful"):
        names = dict.fromkeys(it.audit for it in applying if it.soundness == worst)
        named = f" ({', '.join(names)})"
    parts = [f"audits{named}", ", ".join(facts.format_count(*each) for each in others)]
    told = "; ".join(filter(None, parts))
    figure = facts.format_count(worst, number)
    return _Tile(figure, told, "#audits", worst if is_bad else "")


def _describe_blocks(book: Book) -> _Tile:
    """How many blocks count, and what was lost."""
    counted = list(book.view.counted_trials)
    blocks = len({(trial.workload, trial.block) for trial in counted})
    lost = len(summarize_restarts(book).losses)
    told = f"{lost} lost" if lost else "none lost"
    restarts = words.format_count(len(counted), "restart")
    return _Tile(words.format_count(blocks, "block"), f"{restarts}; {told}", "#trust")


def _group_by_workload(rows: list[Comparison]) -> list[tuple[str, list[Comparison]]]:
    return [(name, list(own)) for name, own in groupby(rows, key=lambda c: c.metric.workload)]


SECTION = _Verdict()
