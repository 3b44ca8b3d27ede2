"""Instruction counts compared: heavier, not heavier, lighter, or inconclusive.

Repetitions are restarts of one seed. Where they agree exactly the difference is exact for this
input; else they are data like any other, with an interval by Student's t. Each side has a variance
of its own, and t the degrees of freedom of the side that varies with the fewest repetitions: then
the interval holds the truth in 95 % of counts at the least, whichever side varies (P. L. Hsu, 1938;
Mickey, Brown, *Bounds on the distribution functions of the Behrens-Fisher statistic*, Ann. Math.
Stat. 37, 1966). Of several inputs each is one datum, candidate − base. A lone count claims nothing,
for an engine that varies would be called heavier by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt
from statistics import mean, variance

import scipy
from msgspec.structs import replace

from dyno.judge.analysis.call_tree import build_call_tree
from dyno.judge.analysis.sentence import build_result_clause
from dyno.record import Verdict, VerdictName
from dyno.record.count import (
    CandidateCount,
    Count,
    CountComparison,
    CountedFunction,
    FunctionChange,
    split_by_input,
)
from dyno.record.verdict import find_overall

ALPHA = 0.05
#: Degrees of freedom where repetitions agree to the last instruction.
EXACT_FREEDOM = 30
#: A function whose change is below this share of the base is not told.
TOLD_SHARE = 1e-5
MORE_TELL = "more repetitions (--repeat) or inputs (--inputs) narrow the interval"


def compare_counts(count: Count) -> tuple[CountComparison, ...]:
    """Each candidate against the first."""
    base, *others = count.counts
    return tuple(_compare(count, base, other) for other in others)


def judge_counts(count: Count) -> Verdict:
    """The verdict of a count."""
    return judge_rows(compare_counts(count))


def judge_rows(rows: Sequence[CountComparison]) -> Verdict:
    """The verdict that its comparisons make."""
    return Verdict(
        overall=find_overall(rows),
        sentence=f"{build_result_clause(find_overall(rows), rows)}.",
        complete=True,
        comparisons=tuple(rows),
        findings=(),
        dropped=(),
    )


@dataclass(frozen=True)
class CountChange:
    """How far a count lies from another, in percent of that, with its interval and its word; the
    standard error is 0 where repetitions agree exactly.
    """

    percent: float
    low: float
    high: float
    error: float
    freedom: int
    word: VerdictName


def judge_change(
    base: CandidateCount, other: CandidateCount, margin: float, alpha: float = ALPHA
) -> CountChange:
    """What the repetitions of both say, with an interval of level 1 − `alpha`; the comparison's
    rule, and the history's.
    """
    change = 100.0 * (other.instructions / base.instructions - 1.0)
    error, freedom = _compute_error(base.repeats, other.repeats, _count_inputs(base, other))
    error *= 100.0 / base.instructions
    half = _find_t(freedom, alpha) * error
    low, high = change - half, change + half
    word = _choose_word(change, low, high, margin) if _is_known(base, other) else "inconclusive"
    return CountChange(change, low, high, error, freedom, word)


def _compare(count: Count, base: CandidateCount, other: CandidateCount) -> CountComparison:
    change = judge_change(base, other, count.margin_percent)
    is_known, inputs = _is_known(base, other), _count_inputs(base, other)
    least = TOLD_SHARE * base.instructions
    return CountComparison(
        metric=count.metric,
        primary=True,
        base=base.candidate,
        candidate=other.candidate,
        base_value=base.instructions,
        candidate_value=other.instructions,
        change_percent=change.percent,
        slowdown_percent=change.percent,
        low_percent=change.low if is_known else nan,
        high_percent=change.high if is_known else nan,
        margin_percent=count.margin_percent,
        blocks=inputs if inputs > 1 else min(len(base.repeats), len(other.repeats)),
        dropped=0,
        sd_percent=nan,
        mde80_percent=nan,
        p_value=_compute_p(change) if is_known else nan,
        verdict=change.word,
        error_percent=change.error,
        freedom=change.freedom,
        notes=(MORE_TELL,) if change.word == "inconclusive" else (),
        changes=tuple(it for it in _find_changes(base, other) if abs(it.change) >= least),
        layers=tuple(_find_layer_changes(base, other)),
        tree=build_call_tree(base, other),
    )


def _compute_p(change: CountChange) -> float:
    """Of a two-sided t test; where repetitions agree exactly, a change is no chance."""
    if not change.error:
        return 0.0 if change.percent else 1.0
    return float(2 * scipy.special.stdtr(change.freedom, -abs(change.percent) / change.error))


def _is_known(base: CandidateCount, other: CandidateCount) -> bool:
    """Does anything say how far the counts vary: several inputs, or repetitions of both?"""
    of_inputs = base.inputs > 1 and base.inputs == other.inputs
    return of_inputs or min(len(base.repeats), len(other.repeats)) > 1


def _choose_word(change: float, low: float, high: float, margin: float) -> VerdictName:
    if low > 0.0 and change >= margin:
        return "slower"
    if high < 0.0 and change <= -margin:
        return "faster"
    return "not slower" if high < margin else "inconclusive"


def _count_inputs(base: CandidateCount, other: CandidateCount) -> int:
    return base.inputs if base.inputs == other.inputs else 1


def _compute_error(one: Sequence[float], two: Sequence[float], inputs: int) -> tuple[float, int]:
    """The standard error of the difference of two means, and its degrees of freedom: over inputs,
    which both sides share, where there are several, else over restarts.
    """
    varying = [list(one), list(two)]
    if inputs > 1:
        pairs = zip(split_by_input(one, inputs), split_by_input(two, inputs), strict=True)
        varying = [[mean(theirs) - mean(ours) for ours, theirs in pairs]]
    varying = [each for each in varying if len(set(each)) > 1]
    if not varying:
        return 0.0, EXACT_FREEDOM
    error = sqrt(sum(variance(each) / len(each) for each in varying))
    return error, min(map(len, varying)) - 1


def _find_t(freedom: int, alpha: float = ALPHA) -> float:
    return float(scipy.special.stdtrit(freedom, 1 - alpha / 2))


def _find_changes(base: CandidateCount, other: CandidateCount) -> list[FunctionChange]:
    before, after = (_group_by_name(each.functions) for each in (base, other))
    found = []
    for key in before.keys() | after.keys():
        layer = (after.get(key) or before[key]).layer
        was, now = (side[key].instructions if key in side else 0.0 for side in (before, after))
        found.append(FunctionChange(*key, layer, was, now))
    return sorted(found, key=lambda each: (-abs(each.change), each.name))


def _group_by_name(functions: Sequence[CountedFunction]) -> dict[tuple[str, str], CountedFunction]:
    """Each function whole: its parts may be of several layers (a cold part without a source file),
    and it is told with that of the largest.
    """
    whole: dict[tuple[str, str], CountedFunction] = {}
    for each in functions:
        known = whole.get((each.name, each.object))
        if known:
            largest = max(known, each, key=lambda part: part.instructions)
            both = known.instructions + each.instructions
            each = replace(largest, instructions=both)
        whole[each.name, each.object] = each
    return whole


def _find_layer_changes(base: CandidateCount, other: CandidateCount) -> list[FunctionChange]:
    before, after = base.layers, other.layers
    found = [
        FunctionChange(
            *("", "", layer, before.get(layer, 0.0), after.get(layer, 0.0)),
            *_find_layer_interval(base, other, layer),
        )
        for layer in before.keys() | after.keys()
    ]
    told = (each for each in found if abs(each.before) + abs(each.after) >= 0.05)
    return sorted(told, key=lambda each: (-abs(each.change), each.layer))


def _find_layer_interval(
    base: CandidateCount, other: CandidateCount, layer: str
) -> tuple[float | None, float | None]:
    """The ends of a layer's change; None where its repetitions are not on record."""
    if not (base.layer_repeats and other.layer_repeats):
        return None, None
    one, two = (side.layer_repeats.get(layer, (0.0,) * len(side.repeats)) for side in (base, other))
    error, freedom = _compute_error(one, two, _count_inputs(base, other))
    half = _find_t(freedom) * error
    change = mean(two) - mean(one)
    return change - half, change + half
