"""The way from the outermost caller to the functions whose calls changed, as a tree.

callgrind knows calls and no whole stacks: what a function calls is divided among its callers by
what each of them spent on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dyno.record.count import CallChange, CandidateCount

#: A row has changed by so much of the base's instructions, or the rows below it are left out.
LEAST_SHARE = 0.005
#: Deeper ways are cut.
DEEPEST = 40


def build_call_tree(base: CandidateCount, other: CandidateCount) -> tuple[CallChange, ...]:
    """The calls that changed, callers before callees; none where calls were not kept."""
    if not (base.calls and other.calls):
        return ()
    before, after = _Calls.read(base), _Calls.read(other)
    least = LEAST_SHARE * base.instructions
    roots = sorted(before.find_roots() | after.find_roots())
    starts = [(root, before.sum_inclusive(root), after.sum_inclusive(root)) for root in roots]
    return tuple(
        row
        for start in sorted(starts, key=lambda each: -max(each[1:]))
        for row in _walk((before, after), start, (), least)
    )


@dataclass(frozen=True)
class _Calls:
    """What functions call, and what calls of each took in all."""

    callees: dict[str, dict[str, float]] = field(default_factory=dict)
    inclusive: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def read(count: CandidateCount) -> _Calls:
        calls = _Calls()
        for each in count.calls:
            calls.callees.setdefault(each.caller, {})[each.callee] = each.instructions
            calls.inclusive[each.callee] = calls.inclusive.get(each.callee, 0.0) + each.instructions
        return calls

    def find_roots(self) -> set[str]:
        """Callers that nobody calls."""
        return self.callees.keys() - self.inclusive.keys()

    def sum_inclusive(self, name: str) -> float:
        """What calls of a function took; of one that nobody calls, what it calls."""
        return self.inclusive.get(name) or sum(self.callees.get(name, {}).values())

    def split(self, name: str, spent: float) -> Mapping[str, float]:
        """What a function's callees took, of calls of it that took `spent`."""
        whole = self.sum_inclusive(name)
        share = min(spent / whole, 1.0) if whole else 0.0
        return {callee: share * n for callee, n in self.callees.get(name, {}).items()}


def _walk(
    sides: tuple[_Calls, _Calls],
    here: tuple[str, float, float],
    path: tuple[str, ...],
    least: float,
) -> Iterator[CallChange]:
    name, before, after = here
    if abs(after - before) < least or name in path or len(path) >= DEEPEST:
        return
    yield CallChange(len(path), name, before, after)
    old, new = (side.split(name, spent) for side, spent in zip(sides, (before, after), strict=True))
    found = [(each, old.get(each, 0.0), new.get(each, 0.0)) for each in old.keys() | new.keys()]
    for each in sorted(found, key=lambda it: (-abs(it[2] - it[1]), it[0])):
        yield from _walk(sides, each, (*path, name), least)
