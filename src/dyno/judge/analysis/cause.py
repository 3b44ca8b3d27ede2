"""What changed on a candidate, in one sentence: plans first, then what the server counted.

It rests on the blocks that count and never alters a verdict. Where nothing is known of a cause, it
says that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno.judge.analysis.plans import ComparedPlans, compare_plans
from dyno.judge.analysis.run_view import RunView
from dyno.record import Cause, Comparison, PlanChange

#: Of plan changes that the sentence tells; the others are counted.
PLANS_NAMED = 1
#: Of a statement, in the sentence.
STATEMENT_LETTERS = 70


def find_causes(view: RunView, rows: Sequence[Comparison]) -> tuple[Cause, ...]:
    """One for each candidate of which plans or counters are on record."""
    found = []
    for candidate in view.candidates[1:]:
        plans = compare_plans(view, candidate)
        if plans.statements or plans.unexplained:
            words = _say_cause(candidate, plans)
            found.append(
                Cause(candidate, words, plans.changes, (), plans.statements, plans.unexplained)
            )
    return tuple(found)


def _say_cause(candidate: str, plans: ComparedPlans) -> str:
    return "; ".join(_say_plans(candidate, plans))


def _say_plans(candidate: str, plans: ComparedPlans) -> Iterator[str]:
    changed = [change for change in plans.changes if change.kind in ("between", "during")]
    if changed:
        named = "; ".join(_say_change(change) for change in changed[:PLANS_NAMED])
        more = len(changed) - PLANS_NAMED
        others = f"; and {_count(more, 'further plan')} changed" if more > 0 else ""
        yield f"{candidate} has another plan: {named}{others}"
    elif plans.statements:
        yield f"no plan changed on {candidate} ({_count(plans.statements, 'statement')} compared)"
    if varied := sum(change.kind == "varies" for change in plans.changes):
        yield f"{_count(varied, 'plan')} varied between restarts"
    if left_out := sum(plans.unexplained.values()):
        yield f"{_count(left_out, 'statement')} could not be explained"


def _say_change(change: PlanChange) -> str:
    """`SELECT c FROM sbtest1 WHERE id=?: Index Scan using sbtest1_pkey → Seq Scan`."""
    steps = f"{change.base_step} → {change.step}"
    when = " while it was measured" if change.kind == "during" else ""
    return f"{shorten_statement(change.statement)}: {steps}{when}"


def shorten_statement(text: str) -> str:
    """A statement in one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= STATEMENT_LETTERS else f"{line[: STATEMENT_LETTERS - 1]}…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
