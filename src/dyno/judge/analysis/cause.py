"""What changed on a candidate, in one sentence: plans that changed, waits for others, CPU time by
layer, what the engine counted, other waits.

It rests on what was measured and never alters a verdict. Where nothing is known of a cause, it says
that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dyno import numbers
from dyno.judge.analysis.counters import (
    compare_counters,
    compute_nominal_ns,
    list_uncounted,
)
from dyno.judge.analysis.instructions import compare_instructions, say_instructions
from dyno.judge.analysis.layer_words import CHANGED, describe_cpu
from dyno.judge.analysis.layers import compare_layers
from dyno.judge.analysis.plans import ComparedPlans, compare_plans
from dyno.judge.analysis.run_view import RunView
from dyno.judge.analysis.waits import (
    compare_waits,
    list_other_waits,
    list_waits_for_others,
    say_other_waits,
    say_waits_for_others,
)
from dyno.numbers import format_count
from dyno.record import Cause, Comparison, CounterDifference, PlanChange, WaitDifference
from dyno.record.cause import CauseClause, CpuDifference, ExplainedShare
from dyno.record.count import Count

#: Of plan changes and of counters that the sentence tells; the others are counted.
PLANS_NAMED, COUNTERS_NAMED = 1, 3
#: Of the difference in time, that CPU time explains at least where nothing is said of the rest.
EXPLAINED_LEAST = 0.5
#: Of what makes up most of the difference in time, that a counter's guessed cost is at least where
#: it is told of first.
COUNTED_LEAST = 0.05
#: Of a statement, in the sentence.
STATEMENT_LETTERS = 70
#: How a counter is called in a sentence; others by their own names.
SPOKEN = {
    "pages_read": "pages read from files",
    "page_requests": "page requests",
    "rows_read": "rows read",
    "pages_written": "pages written",
    "pages_spilled": "pages written before the commit",
    "full_scans": "full scans",
    "scanned_rows": "rows of full scans",
    "automatic_index_rows": "rows of automatic indexes",
    "machine_steps": "steps of the virtual machine",
    "reprepares": "statements compiled anew",
    "sorted_rows": "rows sorted",
    "temporary_tables": "temporary tables",
    "temporary_disk_tables": "temporary tables on disk",
    "temporary_bytes": "temporary bytes",
    "log_bytes": "bytes of log",
    "page_splits": "page splits",
    "lock_waits": "lock waits",
    "index_lock_waits": "waits for the locks of indexes",
    "page_lock_waits": "waits for the locks of pages",
}


def find_causes(
    view: RunView, rows: Sequence[Comparison], counts: Sequence[Count] = ()
) -> tuple[Cause, ...]:
    """One for each candidate of which plans, counters, samples of its CPU time or `counts` of its
    instructions are on record.
    """
    found = []
    for candidate in view.candidates[1:]:
        plans, counters = compare_plans(view, candidate), compare_counters(view, candidate)
        cpu, waits = compare_layers(view, candidate, rows), compare_waits(view, candidate)
        counted = compare_instructions(candidate, rows, counts)
        if plans.statements or plans.unexplained or counters or cpu or counted or waits:
            clauses = [*_sort_clauses(candidate, plans, counters, cpu, waits)]
            clauses += (CauseClause(text, "instructions") for text in say_instructions(counted))
            is_told = any(each.explained_percent is not None for each in counted)
            differing = _has_differing(plans, (*counters, *waits))
            if not is_told and _is_unexplained(candidate, differing, cpu, rows):
                text = "nothing that was looked at is shown to explain the difference"
                clauses.append(CauseClause(text, ""))
            elif not differing and cpu and cpu[0].explained and _is_little(cpu[0].explained):
                clauses.append(
                    CauseClause("nothing that was looked at is shown to explain the rest", "")
                )
            words = "; ".join(clause.text for clause in clauses)
            tables = plans.changes, counters, plans.statements, plans.unexplained
            times = cpu, tuple(clauses), counted, waits
            found.append(Cause(candidate, words, *tables, *times, list_uncounted(view, candidate)))
    return tuple(found)


def _sort_clauses(
    candidate: str,
    plans: ComparedPlans,
    counters: Sequence[CounterDifference],
    cpu: Sequence[CpuDifference],
    waits: Sequence[WaitDifference],
) -> Iterator[CauseClause]:
    """Plans first where one changed; then what makes up more of an operation's time than CPU time
    does: waits for others, which no counter explains, work that an engine counted, other waits.
    """
    sizes = _compute_sizes(counters, waits, cpu)
    of_plans = [CauseClause(text, "plans") for text in _say_plans(candidate, plans)]
    of_cpu = [CauseClause(text, "layers") for text in describe_cpu(cpu)]
    of_others = [CauseClause(text, "waits") for text in say_waits_for_others(waits)]
    of_counters = [CauseClause(text, "counters") for text in say_counters(counters)]
    of_waits = [CauseClause(text, "waits") for text in say_other_waits(waits)]
    is_counted = sizes.counted_ns > COUNTED_LEAST * sizes.largest_ns
    of_work = [*of_counters, *of_waits] if is_counted else [*of_waits, *of_counters]
    before = of_others if sizes.others_ns > sizes.cpu_ns else []
    work_ns = sizes.waits_ns
    if is_counted:
        work_ns = max(work_ns, sizes.counted_ns, sizes.rest_ns)
    if work_ns > sizes.cpu_ns:
        before = [*before, *(of_work if is_counted else of_waits)]
    of_time = (*before, *of_cpu)
    yield from (*of_plans, *of_time) if _list_changed(plans) else (*of_time, *of_plans)
    yield from (each for each in (*of_others, *of_work) if each not in before)


@dataclass(frozen=True)
class _CauseSizes:
    """What causes make up of an operation's time, without signs and in ns; of counters a guess.

    `rest_ns` is what CPU time leaves of the difference in time; where that is known, no waits are
    more: a session whose state tells of a wait may run all the same.
    """

    time_ns: float
    cpu_ns: float
    rest_ns: float
    others_ns: float
    waits_ns: float
    counted_ns: float

    @property
    def largest_ns(self) -> float:
        """Of the difference in time, where that is known, or else of what makes it up."""
        return max(self.time_ns, self.cpu_ns, self.others_ns, self.waits_ns)


def _compute_sizes(
    counters: Sequence[CounterDifference],
    waits: Sequence[WaitDifference],
    cpu: Sequence[CpuDifference],
) -> _CauseSizes:
    """The largest of each kind, of those that surely differ."""

    def find_largest(differences: Iterable[float]) -> float:
        return max(map(abs, differences), default=0.0)

    time_ns = find_largest(each.time_difference_ns or 0.0 for each in cpu[:1])
    cpu_ns = find_largest(it.total.difference_ns for it in cpu[:1] if it.total.word in CHANGED)
    rest_ns = max(0.0, time_ns - cpu_ns)
    others_ns, own_ns = (
        min(
            find_largest(1e3 * each.difference_us for each in kind if each.differs),
            rest_ns if time_ns else math.inf,
        )
        for kind in (list_waits_for_others(waits), list_other_waits(waits))
    )
    counted_ns = find_largest(compute_nominal_ns(each) for each in counters if each.differs)
    return _CauseSizes(time_ns, cpu_ns, rest_ns, others_ns, own_ns, counted_ns)


def _list_changed(plans: ComparedPlans) -> list[PlanChange]:
    return [change for change in plans.changes if change.kind in ("between", "during")]


def _has_differing(
    plans: ComparedPlans, counted: Sequence[CounterDifference | WaitDifference]
) -> bool:
    """Has a plan changed, or does a counter or a wait differ? That a session runs is none."""
    waiting = (it for it in counted if not isinstance(it, WaitDifference) or it.kind != "running")
    return bool(_list_changed(plans)) or any(each.differs for each in waiting)


def _is_unexplained(
    candidate: str, differing: bool, cpu: Sequence[CpuDifference], rows: Sequence[Comparison]
) -> bool:
    """Is the candidate slower or faster, and nothing that changed was found?"""
    words = {row.verdict for row in rows if row.primary and row.candidate == candidate}
    differing |= any(each.total.word in CHANGED for each in cpu)
    return bool(words & {"slower", "faster"}) and not differing


def _is_little(share: ExplainedShare) -> bool:
    """Is it surely less than half?"""
    return share.high_percent < 100 * EXPLAINED_LEAST


def _say_plans(candidate: str, plans: ComparedPlans) -> Iterator[str]:
    if changed := _list_changed(plans):
        named = "; ".join(_say_change(change) for change in changed[:PLANS_NAMED])
        more = len(changed) - PLANS_NAMED
        others = f"; and {format_count(more, 'further plan')} changed" if more > 0 else ""
        yield f"{candidate} has another plan: {named}{others}"
    elif plans.statements and not plans.changes:
        compared = format_count(plans.statements, "statement")
        yield f"no plan changed on {candidate} ({compared} compared)"
    if varied := sum(change.kind == "varies" for change in plans.changes):
        yield f"{format_count(varied, 'plan')} varied between restarts"
    if both := sum(change.kind == "both" for change in plans.changes):
        yield f"{format_count(both, 'plan')} changed on both sides while they were measured"
    if left_out := sum(plans.unexplained.values()):
        yield f"{format_count(left_out, 'statement')} had no plan to compare"


def _say_change(change: PlanChange) -> str:
    """`SELECT c FROM sbtest1 WHERE id=?: Index Scan using sbtest1_pkey → Seq Scan`."""
    steps = f"{change.base_step} → {change.step}"
    when = " while it was measured" if change.kind == "during" else ""
    return f"{shorten_statement(change.statement)}: {steps}{when}"


def say_counters(counters: Sequence[CounterDifference]) -> Iterator[str]:
    """`an operation costs 0.99 fewer fsyncs [0.98, 1.00] (1.00 → 0.01)`, the dearest first."""
    differing = [each for each in counters if each.differs]
    if not differing:
        if counters:
            yield "no server counter is shown to differ"
        return
    workloads = {each.workload for each in counters}
    several = len(workloads) > 1 or len({each.phase for each in counters}) > 1
    named = (
        _say_counter(each, _name_place(each, len(workloads)) if several else "")
        for each in differing[:COUNTERS_NAMED]
    )
    more = len(differing) - COUNTERS_NAMED
    verb = "differs" if more == 1 else "differ"
    others = f", and {format_count(more, 'further counter')} {verb}" if more > 0 else ""
    yield f"an operation takes {', '.join(named)}{others}"


def _name_place(each: CounterDifference, workloads: int) -> str:
    """The phase, or `insert l.i1` where there are several workloads."""
    return f"{each.workload} {each.phase}" if workloads > 1 else each.phase


def _say_counter(each: CounterDifference, place: str) -> str:
    word = "more" if each.difference > 0 else "fewer"
    low, high = sorted((abs(each.low), abs(each.high)))
    size = numbers.format_digits(abs(each.difference))
    interval = numbers.format_interval(low, high, numbers.format_digits)
    sides = (
        f"{numbers.format_digits(each.base_value)} → {numbers.format_digits(each.candidate_value)}"
    )
    where = f" in {place}" if place else ""
    what = SPOKEN.get(each.counter, each.counter.replace("_", " "))
    return f"{size} {word} {what} {interval} ({sides}){where}"


def shorten_statement(text: str) -> str:
    """A statement in one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= STATEMENT_LETTERS else f"{line[: STATEMENT_LETTERS - 1]}…"
