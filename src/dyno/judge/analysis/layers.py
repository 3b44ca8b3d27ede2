"""Which layer of an engine costs more CPU time than the base's: the whole first, then its parts.

The whole is tested at α. Only where it differs surely are its layers, by Holm over those that hold
some of it; so the error of all words together is α, and a cost that merely moved from one layer to
another is none. Which layers hold some is told by both sides' mean, which knows nothing of their
difference and so costs no error (Bourgon, Gentleman and Huber, *Independent filtering*, PNAS 107,
2010). Phases share α evenly. Interim analyses, sequential p values and the bounds that count
skewness are those of every other comparison.

How much of a difference in time that of CPU time is (`explain_time`): both are of an operation;
time is that of a user, times as many users as the engine's cores can serve at once. Where the
server alone limits them, a rise in CPU time is the whole rise in time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from msgspec.structs import replace

from dyno.judge.analysis.cpu_samples import (
    OTHER,
    UNKNOWN,
    SampledPhase,
    Shares,
    list_sampled_phases,
)
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.interval import Interval, extract_independent_data
from dyno.judge.stats.log_ratio import Floats
from dyno.judge.stats.verdict import (
    FASTER,
    NOT_SLOWER,
    OPEN,
    SLOWER,
    Bools,
    adjust_benjamini_hochberg,
    adjust_holm,
    choose_verdicts,
)
from dyno.record import Comparison, PhaseRecord, Trial
from dyno.record.cause import (
    CpuDifference,
    ExplainedShare,
    FunctionDifference,
    LayerDifference,
    LayerWord,
)

#: Of the run's margin, a layer's: a difference that matters is spread over several.
LAYER_MARGIN_SHARE = 0.25
#: What the row of all layers together is called.
WHOLE = "all CPU time"
#: Of the whole, that a layer and a function must hold to be tested.
LAYER_SHARE_LEAST, FUNCTION_SHARE_LEAST = 0.005, 0.002
#: Functions of a layer that are told.
FUNCTIONS_TOLD = 5
#: Layers whose share of the whole is not attributed to any part.
UNATTRIBUTED = (UNKNOWN, OTHER)
WORDS: dict[str, LayerWord] = {
    SLOWER: "costlier",
    NOT_SLOWER: "not costlier",
    FASTER: "cheaper",
    OPEN: "undecided",
}


def compare_layers(
    view: RunView, candidate: str, rows: Sequence[Comparison]
) -> tuple[CpuDifference, ...]:
    """A candidate's CPU time by layer in each phase that was sampled, the largest change first.

    `rows` say whether time is slower or faster.
    """
    phases = list(list_sampled_phases(view, candidate))
    found = [_compare_phase(view, candidate, each, rows, len(phases)) for each in phases]
    return tuple(sorted(found, key=_rank_phase))


def _rank_phase(found: CpuDifference) -> tuple[bool, float]:
    total = found.total
    return total.word not in ("costlier", "cheaper"), -abs(total.difference_ns / total.base_ns)


@dataclass(frozen=True)
class _Rule:
    """What words are chosen by: analyses, blocks and margin, as the judge of time has them."""

    analyses: InterimAnalyses
    blocks: int
    margin: float

    @property
    def level(self) -> float:
        """The level of this analysis."""
        return self.analyses.compute_level(self.blocks)

    def adjust(self, p_values: Floats) -> Floats:
        """The p values, adjusted for all analyses."""
        return self.analyses.adjust_p(p_values, self.blocks)


def _compare_phase(
    view: RunView, candidate: str, phase: SampledPhase, rows: Sequence[Comparison], of: int
) -> CpuDifference:
    design, analyses = view.run.design, view.analyses
    rule = _Rule(analyses, phase.blocks, design.margin_percent / 100)
    whole = [side.sum(axis=0, keepdims=True) for side in (phase.base_shares, phase.shares)]

    def adjust_whole(p_values: Floats) -> Floats:
        return np.minimum(p_values * of, 1.0)

    (total,) = _build_rows(phase, ([WHOLE], whole[0], whole[1]), rule, adjust_whole)
    interval = phase.compare(whole[0], whole[1], rule.level)
    excludes = interval.low_skewed[0] > 0.0 or interval.high_skewed[0] < 0.0
    gate = total.p_value if excludes else 1.0
    layers = phase.sum_by([place.layer for place in phase.places])
    tested = _compute_sizes(layers[1], layers[2]) >= LAYER_SHARE_LEAST

    def adjust_layers(p_values: Floats) -> Floats:
        adjusted = np.ones(p_values.shape)
        adjusted[tested] = adjust_holm(p_values[tested])
        return np.maximum(adjust_whole(adjusted), gate)

    narrow = _Rule(analyses, phase.blocks, rule.margin * LAYER_MARGIN_SHARE)
    functions = compare_functions(phase, analyses)
    judged = [
        replace(
            row, functions=tuple(it for it in functions if it.layer == row.layer)[:FUNCTIONS_TOLD]
        )
        for row in _build_rows(phase, layers, narrow, adjust_layers)
    ]
    unattributed = [row for row in judged if row.layer in UNATTRIBUTED]
    return CpuDifference(
        phase.workload,
        phase.phase,
        candidate,
        phase.blocks,
        100 * narrow.margin,
        total,
        tuple(sorted(judged, key=lambda row: -abs(row.difference_ns))),
        int(tested.sum()),
        100
        * max(
            sum(row.base_ns for row in unattributed) / total.base_ns,
            sum(row.candidate_ns for row in unattributed) / (total.candidate_ns or 1.0),
        ),
        compute_explained_share(view, phase, rows, rule.level),
        phase.is_across_engines,
        compute_time_difference_ns(phase),
    )


def _compute_sizes(base_shares: Floats, shares: Floats) -> Floats:
    """What each row holds of the whole, both sides' mean over the blocks."""
    return np.asarray((base_shares + shares).mean(axis=-1) / 2)


def _build_rows(
    phase: SampledPhase, shares: Shares[str], rule: _Rule, adjust: Callable[[Floats], Floats]
) -> list[LayerDifference]:
    """A row for each of `shares`; `adjust` corrects p values for how many are tested."""
    names, *sides = shares
    interval = phase.compare(sides[0], sides[1], rule.level)
    p_values = adjust(rule.adjust(interval.p))
    words = choose_verdicts(
        interval,
        rule.margin,
        blocks=rule.blocks,
        last=rule.blocks >= rule.analyses.maximum,
        significant=p_values <= rule.analyses.alpha,
    )
    times = phase.list_times(sides[0], sides[1], interval)
    sure = p_values <= rule.analyses.alpha
    return [
        LayerDifference(
            name,
            *times[at],
            float(p_values[at]),
            _choose_word(WORDS[str(words[at])], interval, at, rule.margin if sure[at] else 0.0),
        )
        for at, name in enumerate(names)
    ]


def _choose_word(word: LayerWord, interval: Interval, at: int, margin: float) -> LayerWord:
    """The word, or that a row is surely costlier or cheaper, and surely by less than `margin` (0
    where no difference is sure), either way alike.
    """
    low, high = float(interval.low_skewed[at]), float(interval.high_skewed[at])
    if word == "not costlier" and 0.0 < low < margin:
        return "slightly costlier"
    if word == "cheaper" and -margin < low <= high < 0.0:
        return "slightly cheaper"
    return word


def compare_functions(
    phase: SampledPhase, analyses: InterimAnalyses
) -> tuple[FunctionDifference, ...]:
    """Every function that was met, the largest difference first."""
    base_shares, shares = phase.base_shares, phase.shares
    interval = phase.compare(base_shares, shares, analyses.compute_level(phase.blocks))
    sizes = _compute_sizes(base_shares, shares)
    differs = find_sure_differences(interval, sizes, phase.blocks, analyses)
    times = phase.list_times(base_shares, shares, interval)
    found = [
        FunctionDifference(place.name, place.layer, *times[at], bool(differs[at]))
        for at, place in enumerate(phase.places)
    ]
    return tuple(sorted(found, key=lambda each: -abs(each.difference_ns)))


def find_sure_differences(
    interval: Interval, sizes: Floats, blocks: int, analyses: InterimAnalyses
) -> Bools:
    """Of many differences, those whose interval excludes 0 and that Benjamini and Hochberg grant:
    of them a share of α is expected to be none.

    `sizes` are both sides' mean shares of the whole. Small ones are left out before.
    """
    tested = sizes >= FUNCTION_SHARE_LEAST
    differs = np.zeros(sizes.shape, dtype=bool)
    p_values = np.asarray(analyses.adjust_p(interval.p, blocks))[tested]
    differs[tested] = adjust_benjamini_hochberg(p_values) <= analyses.alpha
    excludes = (interval.low_skewed > 0.0) | (interval.high_skewed < 0.0)
    return np.asarray(excludes & differs)


#: The words of time with which a share is told.
CHANGED = ("slower", "faster")
RATE = "rate_per_s"


def compute_explained_share(
    view: RunView, phase: SampledPhase, rows: Sequence[Comparison], level: float
) -> ExplainedShare | None:
    """The share where the phase's rate is slower or faster and its users never wait on purpose."""
    changed = [
        row
        for row in rows
        if row.verdict in CHANGED
        and (row.metric.workload, row.metric.phase) == (phase.workload, phase.phase)
        and row.metric.name == RATE
        and row.primary
        and row.candidate in {own.candidate for _, own in phase.trials}
    ]
    table = _list_times_ns(phase)
    if not changed or table is None:
        return None
    cpu = (phase.shares - phase.base_shares).sum(axis=0) * phase.base_ns
    data = [
        extract_independent_data(each, phase.groups) for each in (cpu, table[:, 1] - table[:, 0])
    ]
    return compute_fieller_share(data[0], data[1], level)


def compute_time_difference_ns(phase: SampledPhase) -> float | None:
    """What an operation takes longer, times the users who can run at once; None as of a share."""
    table = _list_times_ns(phase)
    return None if table is None else float((table[:, 1] - table[:, 0]).mean())


def _list_times_ns(phase: SampledPhase) -> Floats | None:
    """Both sides' time of an operation, of shape (blocks, 2)."""
    times = [[_compute_time_ns(trial, phase.phase) for trial in pair] for pair in phase.trials]
    if any(ns is None for pair in times for ns in pair):
        return None
    return np.array(times, dtype=float)


def compute_fieller_share(part: Floats, whole: Floats, level: float) -> ExplainedShare | None:
    """The mean of `part` ÷ that of `whole`, in percent, with Fieller's interval of 1 − `level`
    (*Some problems in interval estimation*, JRSS B 16, 1954); None where it has no end.
    """
    n = part.size
    covariance = np.cov(part, whole) / n
    square = float(scipy.special.stdtrit(n - 1, level / 2.0)) ** 2
    a = float(whole.mean()) ** 2 - square * covariance[1, 1]
    b = float(part.mean() * whole.mean()) - square * covariance[0, 1]
    c = float(part.mean()) ** 2 - square * covariance[0, 0]
    if a <= 0.0:
        return None
    reach = math.sqrt(max(0.0, b * b - a * c))
    middle = float(part.mean() / whole.mean())
    return ExplainedShare(*(100 * each for each in (middle, (b - reach) / a, (b + reach) / a)))


def _compute_time_ns(trial: Trial, phase: str) -> float | None:
    """An operation's time, times the users that can run at once; None where some are paced or rest,
    or where nobody knows how many cores they have.
    """
    record = next(each for each in trial.phases if each.phase == phase)
    units = sum(tally.done * tally.units_per_event for tally in record.streams)
    cores = _count_cores(trial, record)
    if any(tally.rests_on_purpose for tally in record.streams) or not units or not cores:
        return None
    users = sum(tally.connections for tally in record.streams)
    return 1e9 * record.duration_s / units * min(users, cores)


def _count_cores(trial: Trial, record: PhaseRecord) -> int:
    """The cores that the engine may use; 0 where it is not on record."""
    if trial.conditions.pinning and trial.conditions.pinning.engine:
        return len(trial.conditions.pinning.engine)
    seen = {reading.name: reading.value for reading in record.readings if reading.probe == "host"}
    lasted_ns = record.ended_ns - record.started_ns
    total = sum(seen.get(name, 0.0) for name in ("busy_ns", "idle_ns", "steal_ns"))
    return round(total / lasted_ns) if lasted_ns > 0 else 0
