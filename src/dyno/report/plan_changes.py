"""Plans that differ between candidates: of each statement that a workload names, by engine."""

from __future__ import annotations

from dataclasses import dataclass

from dyno.record import Trial
from dyno.report import Book


@dataclass(frozen=True)
class PlanChange:
    """A statement that a candidate executes in another way than the base."""

    workload: str
    statement: str
    candidate: str
    base_plan: str
    plan: str


def plan_changes(book: Book) -> list[PlanChange]:
    """Of candidates of the base's engine; a plan is that of the most trials of a candidate."""
    base, *others = book.view.candidates
    engines = {side.name: side.engine for side in book.run.candidates}
    found = []
    for workload in book.run.workloads:
        trials = book.view.counted_of(workload.name)
        usual = _usual(trials, base)
        for name in (it for it in others if engines[it] == engines[base]):
            own = _usual(trials, name)
            for statement in sorted(usual.keys() & own.keys()):
                if own[statement] != usual[statement]:
                    texts = (usual[statement], own[statement])
                    found.append(PlanChange(workload.name, statement, name, *texts))
    return found


def _usual(trials: list[Trial] | tuple[Trial, ...], candidate: str) -> dict[str, str]:
    """Each statement's plan in most of a candidate's trials."""
    seen: dict[str, list[str]] = {}
    for trial in trials:
        if trial.candidate == candidate:
            for statement, plan in trial.plans.items():
                seen.setdefault(statement, []).append(plan)
    return {name: max(plans, key=plans.count) for name, plans in seen.items()}


def plan_words(book: Book) -> str:
    """How many statements have another plan, and the first of them; empty where all are alike."""
    changes = plan_changes(book)
    if not changes:
        return ""
    first, count = changes[0], len(changes)
    what = "statement is" if count == 1 else "statements are"
    more = ", …" if count > 1 else ""
    return f"{count} {what} executed in another way: {first.statement} by {first.candidate}{more}"
