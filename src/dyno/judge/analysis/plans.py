"""Plans that differ between candidates, or from a trial's start to its end, statement by statement.

A plan is that of a restart. It counts as changed only where no restart of the candidate has a plan
that one of the base's has: a plan that flickers from restart to restart, as fresh statistics make
it, is told apart. Blocks that were dropped for noise count too: a plan is a fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from dyno.judge.analysis.run_view import RunView
from dyno.record import PlanChange, Trial
from dyno.record.cause import PlanChangeKind

#: Behind a statement whose generic plan is told.
GENERIC = "(generic plan)"
#: Less is no step: the arrows of a tree.
_ARROW = "->"


@dataclass(frozen=True)
class ComparedPlans:
    """What came of a candidate's plans beside the base's: the `changes`, those of the statements
    sent most often first within their kind, how many `statements` were compared, and how many were
    not, by reason; `names` are those of the plans that were compared.
    """

    changes: tuple[PlanChange, ...] = ()
    statements: int = 0
    unexplained: dict[str, int] = field(default_factory=dict)
    names: frozenset[str] = frozenset()


#: Those that say most come first.
_ORDER: tuple[PlanChangeKind, ...] = ("between", "during", "varies", "both")


def compare_plans(view: RunView, candidate: str) -> ComparedPlans:
    """A candidate's plans against the base's; nothing is compared across engines."""
    engines = {side.name: side.engine for side in view.run.candidates}
    base = view.run.design.base
    if engines[candidate] != engines[base]:
        return ComparedPlans()
    changes: list[PlanChange] = []
    statements, unexplained, names = 0, Counter[str](), set[str]()
    good = [trial for trial in view.played_trials if trial.status == "ok"]
    for workload in view.run.workloads:
        trials = [trial for trial in good if trial.workload == workload.name]
        ours = [trial for trial in trials if trial.candidate == candidate]
        bases = [trial for trial in trials if trial.candidate == base]
        own, theirs = _Plans.from_trials(ours), _Plans.from_trials(bases)
        shared = [
            name for name in _sort_by_frequency(ours) if name in own.ends and name in theirs.ends
        ]
        generic = [{n for it in each for n in it.generic_plans} for each in (ours, bases)]
        compared = {*shared} | set.intersection(*generic)
        statements, names = statements + len(compared), names | compared
        found = [*_find_changes(workload.name, candidate, shared, theirs, own)]
        changes += found
        changes += _find_generic_changes(workload.name, candidate, (ours, bases), found)
        reasons = {name: why for trial in ours for name, why in trial.unexplained.items()}
        unexplained.update(why for name, why in reasons.items() if name not in own.ends)
    in_order = sorted(changes, key=lambda change: _ORDER.index(change.kind))
    return ComparedPlans(tuple(in_order), statements, dict(unexplained), frozenset(names))


def _find_generic_changes(
    workload: str,
    candidate: str,
    sides: tuple[Sequence[Trial], Sequence[Trial]],
    known: Sequence[PlanChange],
) -> Iterator[PlanChange]:
    """Generic plans that differ between the sides, of statements whose own plans do not."""
    ours, bases = sides
    own, theirs = (_Plans.from_generic(trials) for trials in (ours, bases))
    told = {change.statement for change in known}
    names = [name for name in _sort_by_frequency(ours) if name in own.ends.keys() & theirs.ends]
    fresh = [name for name in names if name not in told]
    for change in _find_changes(workload, candidate, fresh, theirs, own):
        yield replace(change, statement=f"{change.statement} {GENERIC}")


@dataclass(frozen=True)
class _Plans:
    """The plans of a candidate's restarts, by statement: at their ends, and where both are known at
    start and end.
    """

    ends: dict[str, list[str]]
    both: dict[str, list[tuple[str, str]]]

    @classmethod
    def from_trials(cls, trials: Sequence[Trial]) -> _Plans:
        ends: dict[str, list[str]] = {}
        both: dict[str, list[tuple[str, str]]] = {}
        for trial in trials:
            for name, plan in trial.plans.items():
                ends.setdefault(name, []).append(plan)
                if first := trial.plans_before.get(name):
                    both.setdefault(name, []).append((first, plan))
        return cls(ends, both)

    @classmethod
    def from_generic(cls, trials: Sequence[Trial]) -> _Plans:
        """Those for all values at the trials' ends."""
        ends: dict[str, list[str]] = {}
        for trial in trials:
            for name, plan in trial.generic_plans.items():
                ends.setdefault(name, []).append(plan)
        return cls(ends, {})

    def list_moved(self, name: str) -> list[tuple[str, str]]:
        """Start and end of the restarts in which the plan did not stay."""
        return [pair for pair in self.both.get(name, ()) if pair[0] != pair[1]]


def _sort_by_frequency(trials: Sequence[Trial]) -> list[str]:
    """The statements that have plans, those sent most often first; named ones have no count."""
    sent = Counter[str]()
    for trial in trials:
        sent.update(dict.fromkeys((*trial.plans, *trial.generic_plans), 0))
        for phase in trial.phases:
            for tally in (it for stream in phase.streams for it in stream.statements):
                if tally.text in trial.plans:
                    sent[tally.text] += tally.sent
    return sorted(sent, key=lambda name: (-sent[name], name))


def _find_changes(
    workload: str, candidate: str, names: Iterable[str], base: _Plans, own: _Plans
) -> Iterator[PlanChange]:
    for name in names:
        change = _compare_ends(name, base, own) or _compare_start_and_end(name, base, own)
        if change:
            kind, plans, counts = change
            steps = find_first_difference(*plans)
            yield PlanChange(workload, name, candidate, kind, *steps, *plans, *counts)


#: Its kind; the base's plan and the other; how many restarts had that, of how many.
_Change = tuple[PlanChangeKind, tuple[str, str], tuple[int, int]]


def _compare_ends(name: str, base: _Plans, own: _Plans) -> _Change | None:
    """Plans at the ends that no restart of the base has."""
    known, ends = set(base.ends[name]), own.ends[name]
    other = [plan for plan in ends if plan not in known]
    if not other:
        return None
    kind: PlanChangeKind = "between" if len(other) == len(ends) else "varies"
    return kind, (_find_usual(base.ends[name]), _find_usual(other)), (len(other), len(ends))


def _compare_start_and_end(name: str, base: _Plans, own: _Plans) -> _Change | None:
    """A plan that did not stay while the candidate was measured."""
    moved, of = own.list_moved(name), len(own.both.get(name, ()))
    if not moved:
        return None
    kind: PlanChangeKind = "during" if 2 * len(moved) > of else "varies"
    return "both" if base.list_moved(name) else kind, _find_usual_pair(moved), (len(moved), of)


def _find_usual(plans: Sequence[str]) -> str:
    return max(plans, key=plans.count)


def _find_usual_pair(pairs: Sequence[tuple[str, str]]) -> tuple[str, str]:
    return max(pairs, key=pairs.count)


def find_first_difference(base_plan: str, plan: str) -> tuple[str, str]:
    """The first step of each plan that the other has not, or has in another place."""
    own, theirs = _split_steps(plan), _split_steps(base_plan)
    only_theirs = _find_missing(theirs, Counter(own))
    only_own = _find_missing(own, Counter(theirs))
    if only_theirs or only_own:
        return only_theirs[0] if only_theirs else "no such step", (
            only_own[0] if only_own else "no such step"
        )
    places = zip(theirs, own, strict=True)
    return next(((one, two) for one, two in places if one != two), (theirs[0], "in another order"))


def _split_steps(plan: str) -> list[str]:
    return [line.strip().removeprefix(_ARROW).strip() for line in plan.splitlines()] or [""]


def _find_missing(steps: Sequence[str], known: Mapping[str, int]) -> list[str]:
    left = Counter(known)
    found = []
    for step in steps:
        left[step] -= 1
        if left[step] < 0:
            found.append(step)
    return found
