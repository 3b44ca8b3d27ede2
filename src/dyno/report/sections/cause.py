"""Section: what changed, in a sentence, and the layers, plans and counters that it rests on."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from dyno.judge.analysis.cpu_samples import list_sampled_phases
from dyno.judge.analysis.frames import build_flat_frames, build_stack_frames
from dyno.judge.analysis.layer_words import describe_cpu_sampling
from dyno.record import Cause, PlanChange
from dyno.record.cause import CauseClause
from dyno.report import Book
from dyno.report.html.flame import draw_flame, read_flame_assets
from dyno.report.html.layers import build_layer_table
from dyno.report.html.markup import render
from dyno.report.html.waits import build_wait_table

#: Phases of a candidate that have a flame graph: those that changed most.
FLAMES_MOST = 4

_CALLERS_OF = '<p class="aside">Its callers were sampled on {{ host }}.</p>'
_TEMPLATE = """
{{ assets }}{% for cause in causes %}<p class="cause">{% for clause, anchor in clauses(cause) %}
{% if anchor %}<a href="#{{ anchor }}">{% endif %}{{ clause.text | coded }}
{%- if anchor %}</a>{% endif %}{{ "; " if not loop.last }}{% endfor %}</p>
{{ layers(cause) }}
{% for it in cause.plan_changes %}
<h3{% if loop.first %} id="{{ anchor(cause, "plans") }}"{% endif %}>{{ it.statement }}</h3>
<p>{{ it.workload }}: {{ titles(it)[0] }}, then {{ titles(it)[1] }}
({{ it.restarts }} of {{ it.of }} restarts)</p>
<pre>{{ it.base_plan }}</pre>
<pre>{{ it.plan }}</pre>
{% endfor %}
{% if cause.counters %}<div class="scroll" tabindex="0">
<table id="{{ anchor(cause, "counters") }}">
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
{{ waits(cause) }}
{% for why, count in (cause.unexplained or {}).items() %}
<p class="aside">{{ count | plural("statement") }} without a plan: {{ why }}.</p>
{% endfor %}{% endfor %}{% if sampling %}<p class="aside">{{ sampling | coded }}</p>
{% endif %}<p class="aside">Plans are what each engine answers to EXPLAIN before the
first and after the last phase, without estimates and values; nothing is executed. A plan has
changed where no restart of the candidate shares one with the base. CPU time is sampled beside the
phases; a layer's time is its share of the samples of the CPU time that the kernel charged, and its
datum the difference as a share of the base's whole, block by block. In a virtual machine the first
microseconds after each wake-up are sampled too seldom. Counters
are the whole server's, its work in the background and a question of ours included; their intervals
are over blocks, and Holm's method counts all rows of a table.</p>
"""


class _Cause:
    title = "What changed"
    place = 12

    def render(self, book: Book) -> str | None:
        """The sentences and, of each plan that differs, both; None where nothing was looked at."""
        causes, sampling = book.verdict.causes, describe_cpu_sampling(book.run)
        if not causes:
            return None
        base = book.view.candidates[0]
        level = f"{100 * (1 - book.run.design.alpha):g}"
        return render(
            _TEMPLATE,
            causes=causes,
            sampling=sampling,
            base=base,
            level=level,
            titles=partial(_choose_titles, base),
            anchor=partial(_name_anchor, book),
            clauses=partial(_link_clauses, book),
            layers=partial(_draw_layers, book, level),
            waits=partial(_draw_waits, book, level),
            assets=Markup("").join(read_flame_assets() if any(it.cpu for it in causes) else ()),
        )


def _name_anchor(book: Book, cause: Cause, table: str, phase: int = 0) -> str:
    """`layers-1`, of the second candidate; of its further phases `layers-1-2`."""
    name = f"{table}-{book.view.candidates.index(cause.candidate)}"
    return f"{name}-{phase}" if phase else name


def _link_clauses(book: Book, cause: Cause) -> list[tuple[CauseClause, str]]:
    """The sentence's parts, each with the anchor of its table; empty where it has none."""
    shown = {
        "plans": cause.plan_changes,
        "counters": cause.counters,
        "layers": cause.cpu,
        "waits": cause.waits,
        "instructions": cause.instructions,
    }
    clauses = cause.clauses or (CauseClause(cause.sentence, ""),)
    return [
        (each, _name_anchor(book, cause, each.table) if shown.get(each.table) else "")
        for each in clauses
    ]


def _draw_layers(book: Book, level: str, cause: Cause) -> Markup:
    """A table and, of those that changed most, a flame graph for each phase that was sampled."""
    design, analyses = book.run.design, book.view.analyses
    sampled = {
        (each.workload, each.phase): each
        for each in list_sampled_phases(book.view, cause.candidate)
    }
    parts = []
    for at, cpu in enumerate(cause.cpu):
        anchor = _name_anchor(book, cause, "layers", at)
        parts.append(build_layer_table(cpu, design.base, level, anchor))
        if (phase := sampled.get((cpu.workload, cpu.phase))) and at < FLAMES_MOST:
            sides = design.base, cause.candidate
            stacks = [book.find_stacks(side, cpu.workload, cpu.phase) for side in sides]
            base, own = stacks
            tree = (
                build_stack_frames(phase, analyses, base, own)
                if base and own
                else build_flat_frames(phase, analyses)
            )
            is_flat = not (base and own)
            parts.append(draw_flame(tree, phase, sides, f"flame-{anchor}", is_flat=is_flat))
            if not is_flat and (host := book.find_stacks_host(cpu.workload)):
                parts.append(render(_CALLERS_OF, host=host))
    return Markup("").join(parts)


def _draw_waits(book: Book, level: str, cause: Cause) -> Markup:
    """A row for each kind of waits, and what the samples are; nothing where there are none."""
    sides = book.run.design.base, cause.candidate
    trials = [trial for trial in book.view.trials if trial.candidate in sides]
    records = [record for trial in trials for record in trial.phases]
    anchor = _name_anchor(book, cause, "waits")
    return build_wait_table(cause, book.run.design.base, level, anchor, records)


def _choose_titles(base: str, change: PlanChange) -> tuple[str, str]:
    """Whose the two plans are."""
    if change.kind in ("during", "both"):
        return f"{change.candidate} at the start", "at the end"
    return base, change.candidate


SECTION = _Cause()
