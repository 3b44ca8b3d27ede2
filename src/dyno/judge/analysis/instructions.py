"""How much of a change of time the instructions explain, where a run has counts of them.

A count is of one user, in user mode, and not of time: the share of the time's change that it
explains is what as many more instructions take at the base's pace, were all of the time the
engine's. It never alters a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, log

from dyno.judge.analysis.counts import compare_counts
from dyno.numbers import format_interval
from dyno.record import Comparison, InstructionChange
from dyno.record.count import Count, CountComparison

#: Layers that the sentence names.
LAYERS_NAMED = 2
#: A share of the instructions below which a layer is not named, in percent.
LAYER_PERCENT_LEAST = 0.1


def compare_instructions(
    candidate: str, rows: Sequence[Comparison], counts: Sequence[Count]
) -> tuple[InstructionChange, ...]:
    """A candidate's instructions against the base's, one for each workload that was counted."""
    found = []
    for count in counts:
        primaries = [
            row
            for row in rows
            if row.primary and row.candidate == candidate and not row.levels
            if (row.metric.workload, row.metric.phase) == (count.workload, count.phase)
        ]
        for counted in compare_counts(count):
            if counted.candidate == candidate:
                found.append(_explain_time(count, counted, primaries[0] if primaries else None))
    return tuple(found)


def _explain_time(
    count: Count, counted: CountComparison, time: Comparison | None
) -> InstructionChange:
    shares = _find_shares(counted, time) if time else (None, None, None)
    return InstructionChange(
        workload=count.workload,
        phase=count.phase,
        unit=count.unit,
        base_value=counted.base_value,
        candidate_value=counted.candidate_value,
        change_percent=counted.change_percent,
        low_percent=counted.low_percent,
        high_percent=counted.high_percent,
        explained_percent=shares[0],
        explained_low_percent=shares[1],
        explained_high_percent=shares[2],
        is_timed=time is not None,
        layers={each.layer: each.change for each in counted.layers if each.change},
    )


def _find_shares(
    counted: CountComparison, time: Comparison
) -> tuple[float | None, float | None, float | None]:
    """The share explained, with the ends that both intervals allow, in percent; None where either
    interval holds 0, or one rises and the other falls.
    """
    more = (counted.change_percent, counted.low_percent, counted.high_percent)
    longer = (time.slowdown_percent, time.low_percent, time.high_percent)
    if not (_is_change(more) and _is_change(longer)) or more[0] * longer[0] < 0.0:
        return None, None, None
    logs = [[abs(log(1.0 + each / 100.0)) for each in ends] for ends in (more, longer)]
    (size, *ends), (time_size, *time_ends) = logs
    return (
        100.0 * size / time_size,
        100.0 * min(ends) / max(time_ends),
        100.0 * max(ends) / min(time_ends),
    )


def _is_change(ends: Sequence[float]) -> bool:
    """Are all of them on one side of 0, and possible?"""
    return all(map(isfinite, ends)) and (min(ends) > 0.0 or -100.0 < min(ends) <= max(ends) < 0.0)


def say_instructions(changes: Sequence[InstructionChange]) -> Iterator[str]:
    """A clause for each: the change with its interval, the layers that changed most, and how much
    of the time's change that explains at most.
    """
    several = len(changes) > 1
    for each in changes:
        where = f" in {each.workload}, {each.phase}" if several else ""
        article = "an" if each.unit[:1] in "aeiou" else "a"
        yield (
            f"instructions {format_change(each)} {article} {each.unit}{where} "
            f"({each.base_value:,.0f} → {each.candidate_value:,.0f})"
            f"{_say_layers(each)}{_say_share(each)}"
        )


def format_change(each: InstructionChange) -> str:
    """`+10.5 % [10.1, 10.9]`, the interval left out where it rounds to one number."""
    ends = (each.low_percent, each.high_percent)
    is_one = len({f"{end:.1f}" for end in ends}) == 1
    interval = "" if is_one else f" {format_interval(*ends, '{:.1f}'.format)}"
    return f"{each.change_percent:+.1f} %{interval}"


def format_share(each: InstructionChange) -> str:
    """`50 % [47, 53]` of the time's change, or `100 % or more`; empty where it is not known."""
    if each.explained_percent is None:
        return ""
    if each.explained_percent >= 100.0:
        return "100 % or more"
    high = min(each.explained_high_percent or 0.0, 100.0)
    return f"{each.explained_percent:.0f} % [{each.explained_low_percent:.0f}, {high:.0f}]"


def _say_layers(each: InstructionChange) -> str:
    least = LAYER_PERCENT_LEAST / 100.0 * each.base_value
    large = [(layer, change) for layer, change in each.layers.items() if abs(change) >= least]
    named = ", ".join(f"{layer} {change:+,.0f}" for layer, change in large[:LAYERS_NAMED])
    return f", most in {named}" if named else ""


def _say_share(each: InstructionChange) -> str:
    if not each.is_timed:
        return ": no time stands beside them"
    if each.explained_percent is None:
        if each.low_percent > 0.0:
            return ": the time is not shown to follow, and heavier is not slower"
        if each.high_percent < 0.0:
            return ": the time is not shown to follow, and lighter is not faster"
        return ""
    if each.explained_percent >= 100.0:
        return ": as much as the time's whole change, or more"
    return f": they explain at most {format_share(each)} of the time's change"
