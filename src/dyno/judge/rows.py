"""Lines judged: intervals, p values, words and notes, a `record.Comparison` for each.

How Holm meets the interval and the looks: a primary's p value is first made sequential (the
smallest α at which this look would have stopped), then Holm adjusts it among all candidates ×
primaries. *Slower* and *faster* need both the interval at level α, as shown, on one side of 0 and
the adjusted p ≤ α. *Not slower* needs the interval alone: all primaries must have it for a pass,
and an intersection-union test of level α asks for no correction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dyno.judge.case import Case, Seen
from dyno.judge.lines import Line
from dyno.judge.words import word
from dyno.record import Comparison
from dyno.stats.interval import Floats, data, t_interval
from dyno.stats.multiplicity import benjamini_hochberg, holm
from dyno.stats.percent import to_percent
from dyno.stats.power import detectable
from dyno.stats.robust import BLOCKS_LEAST, hodges_lehmann, sign_flip_p


def comparisons(case: Case, found: Sequence[Line]) -> list[Comparison]:
    """Primaries first; each of the two families adjusted by itself."""
    primary = [line for line in found if line.primary]
    others = [line for line in found if not line.primary]
    unmeasured = case.primaries - len(primary)
    seen = _seen(case, primary, lambda p: holm(np.append(p, np.ones(unmeasured))))
    return [_row(case, each) for each in (*seen, *_seen(case, others, benjamini_hochberg))]


def _seen(case: Case, found: Sequence[Line], adjust: Callable[[Floats], Floats]) -> Iterator[Seen]:
    """The interval of each line, and its p value after the looks and after `adjust`."""
    looks = case.looks
    intervals = [t_interval(each.data, looks.level(each.logs.size)) for each in found]
    pairs = list(zip(found, intervals, strict=True))
    p_values = [float(looks.adjusted(i.p, line.logs.size)) for line, i in pairs]
    adjusted = adjust(np.array(p_values))
    for (line, interval), p_value in zip(pairs, adjusted, strict=False):
        yield Seen(line, interval, float(p_value))


def _row(case: Case, seen: Seen) -> Comparison:
    line, interval = seen.line, seen.interval
    verdict, notes = word(case, seen)
    estimate, n = float(interval.estimate), line.logs.size
    second = line.data.size >= BLOCKS_LEAST
    return Comparison(
        metric=line.metric,
        primary=line.primary,
        base=line.effect.base,
        candidate=line.effect.candidate,
        base_value=_typical(line, line.base_values),
        candidate_value=_typical(line, line.values),
        change_percent=to_percent(-estimate if line.metric.better == "higher" else estimate),
        slowdown_percent=to_percent(estimate),
        low_percent=to_percent(float(interval.low)),
        high_percent=to_percent(float(interval.high)),
        margin_percent=line.margin_percent,
        blocks=n,
        dropped=case.dropped.get(line.metric.workload, 0),
        sd_percent=to_percent(float(line.logs.std(ddof=1))),
        mde80_percent=_mde80_percent(case, seen),
        p_value=seen.p,
        verdict=verdict,
        notes=notes,
        sign_flip_p=sign_flip_p(line.data) if second else None,
        hodges_lehmann_percent=to_percent(hodges_lehmann(line.data)) if second else None,
        levels=line.effect.levels,
    )


def _typical(line: Line, values: Floats) -> float:
    """The geometric mean, so that the ratio of two of them is the estimate."""
    return float(np.exp(data(np.log(values), line.turns).mean()))


def _mde80_percent(case: Case, seen: Seen) -> float:
    """MDE80 among several primaries: at the level of Holm's first and hardest step."""
    alpha = case.looks.alpha / (max(case.primaries, 1) if seen.line.primary else 1)
    level = replace(case.looks, alpha=alpha).level(seen.line.logs.size)
    return to_percent(detectable(seen.line.data.size, float(seen.interval.sd), level))
