"""The comparisons of a verdict: interval, p value, word and notes of each (`record.Comparison`).

How Holm meets the interval and interim analyses: a primary's p value is first made sequential (the
smallest α at which this analysis would have stopped), then Holm adjusts it among all candidates ×
primaries. *Slower* and *faster* need both the interval at level α, as shown, on one side of 0 and
the adjusted p ≤ α. *Not slower* needs the interval alone: all primaries must have it for a pass,
and an intersection-union test of level α asks for no correction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from msgspec import structs

from dyno.judge.analysis.blocks import HostBlocks
from dyno.judge.analysis.comparisons import ComparisonContext, Estimate, PairedMetric
from dyno.judge.analysis.effect_words import describe_loss_rule
from dyno.judge.stats.hosts import estimate_heterogeneity
from dyno.judge.stats.interval import (
    ALIKE_LEVEL,
    BLOCKS_LEAST,
    Interval,
    compute_sign_flip_p,
    compute_t_interval,
    estimate_hodges_lehmann,
    estimate_lag_one,
    extract_independent_data,
)
from dyno.judge.stats.log_ratio import Floats, to_log, to_percent
from dyno.judge.stats.power import compute_detectable
from dyno.judge.stats.verdict import (
    CLEAR_LEAST,
    FASTER,
    LAST_SHARE,
    NOT_SLOWER,
    OPEN,
    SLOWER,
    adjust_benjamini_hochberg,
    adjust_holm,
    choose_verdicts,
    compute_unseen_share,
)
from dyno.record import Comparison, HostEffect, Metric, VerdictName

#: With no more hosts than this, t has two degrees of freedom at the most.
FEW_HOSTS = 3
#: The words that clear a candidate.
CLEARED = (NOT_SLOWER, FASTER)


def judge_comparisons(
    context: ComparisonContext, lines: Sequence[PairedMetric]
) -> list[Comparison]:
    """Every line judged: primaries first, each of the two families adjusted by itself."""
    primary = [line for line in lines if line.primary]
    others = [line for line in lines if not line.primary]
    unmeasured = context.primaries - len(primary)
    estimates = _compute_estimates(
        context, primary, lambda p: adjust_holm(np.append(p, np.ones(unmeasured)))
    )
    return [
        _build_row(context, each)
        for each in (*estimates, *_compute_estimates(context, others, adjust_benjamini_hochberg))
    ]


def _compute_estimates(
    context: ComparisonContext, lines: Sequence[PairedMetric], adjust: Callable[[Floats], Floats]
) -> Iterator[Estimate]:
    """The interval of each line, and its p value after the analyses and after `adjust`."""
    analyses = context.analyses
    intervals = [
        compute_t_interval(each.data, analyses.compute_level(each.logs.size)) for each in lines
    ]
    pairs = list(zip(lines, intervals, strict=True))
    p_values = [float(analyses.adjust_p(i.p, line.logs.size)) for line, i in pairs]
    adjusted = adjust(np.array(p_values))
    for (line, interval), p_value in zip(pairs, adjusted, strict=False):
        yield Estimate(line, interval, float(p_value))


def build_row(
    metric: Metric,
    names: tuple[str, str],
    values: tuple[float, float],
    interval: Interval | None,
    margin_percent: float,
    blocks: int,
) -> Comparison:
    """A primary comparison of base and candidate with the interval of its log time ratio, NaN where
    there is none; open, until somebody chooses the word.
    """
    log_ratio, low, high, sd, error = (
        map(float, (interval.estimate, interval.low, interval.high, interval.sd, interval.error))
        if interval
        else [math.nan] * 5
    )
    return Comparison(
        metric,
        True,
        *names,
        *values,
        change_percent=to_percent(-log_ratio if metric.better == "higher" else log_ratio),
        slowdown_percent=to_percent(log_ratio),
        low_percent=to_percent(low),
        high_percent=to_percent(high),
        margin_percent=margin_percent,
        blocks=blocks,
        dropped=0,
        sd_percent=to_percent(sd),
        mde80_percent=math.nan,
        p_value=math.nan,
        verdict="inconclusive",
        error_percent=to_percent(error),
        freedom=interval.freedom if interval else 0,
    )


def _build_row(context: ComparisonContext, estimate: Estimate) -> Comparison:
    line, n = estimate.line, estimate.line.logs.size
    verdict, notes = choose_verdict(context, estimate)
    second = line.data.size >= BLOCKS_LEAST
    means = [_compute_geometric_mean(line, it) for it in (line.base_values, line.values)]
    names = (line.effect.base, line.effect.candidate)
    row = structs.replace(
        build_row(
            line.metric, names, (means[0], means[1]), estimate.interval, line.margin_percent, n
        ),
        primary=line.primary,
        dropped=context.dropped.get(line.metric.workload, 0),
        sd_percent=to_percent(float(line.logs.std(ddof=1))),
        mde80_percent=_compute_mde80_percent(context, estimate),
        p_value=estimate.p,
        verdict=verdict,
        notes=notes,
        sign_flip_p=compute_sign_flip_p(line.data) if second else None,
        hodges_lehmann_percent=to_percent(estimate_hodges_lehmann(line.data)) if second else None,
        levels=line.effect.levels,
        share_unseen_percent=_compute_unseen_percent(n) if verdict in CLEARED else None,
        doubts=context.find_doubts(line),
        bound=line.bound,
    )
    row = _add_hosts(context, line, row) if row.primary else row
    rule = describe_loss_rule(row) if row.primary else ""
    return structs.replace(row, notes=(rule, *notes)) if rule else row


def _add_hosts(context: ComparisonContext, line: PairedMetric, row: Comparison) -> Comparison:
    """The row with what each host of a gathered run says of it, and how much they differ."""
    if not line.hosts:
        return row
    level, hosts = context.run.design.alpha, [""] * line.logs.size
    for own in line.hosts:
        for place in own.places:
            hosts[place] = own.host
    found = estimate_heterogeneity(line.logs, hosts)
    return structs.replace(
        row,
        hosts=tuple(_judge_host(line.logs[list(own.places)], own, level) for own in line.hosts),
        between_hosts_percent=to_percent(found.sd) if found else None,
        heterogeneity_percent=100.0 * found.share if found else None,
    )


def _judge_host(logs: Floats, own: HostBlocks, level: float) -> HostEffect:
    data = extract_independent_data(logs, own.groups)
    effect = HostEffect(own.host, logs.size, to_percent(float(data.mean())))
    if data.size < 2:
        return effect
    interval = compute_t_interval(data, level)
    bounds = to_percent(float(interval.low)), to_percent(float(interval.high))
    return structs.replace(effect, low_percent=bounds[0], high_percent=bounds[1])


def _compute_unseen_percent(restarts: int) -> float:
    return 100.0 * compute_unseen_share(restarts)


def _compute_geometric_mean(line: PairedMetric, values: Floats) -> float:
    """The geometric mean, so that the ratio of two of them is the estimate."""
    return float(np.exp(extract_independent_data(np.log(values), line.groups).mean()))


def _compute_mde80_percent(context: ComparisonContext, estimate: Estimate) -> float:
    """MDE80 among several primaries: at the level of Holm's first and hardest step."""
    alpha = context.analyses.alpha / (max(context.primaries, 1) if estimate.line.primary else 1)
    level = replace(context.analyses, alpha=alpha).compute_level(estimate.line.logs.size)
    return to_percent(
        compute_detectable(estimate.line.data.size, float(estimate.interval.sd), level)
    )


def choose_verdict(
    context: ComparisonContext, estimate: Estimate
) -> tuple[VerdictName, tuple[str, ...]]:
    """The verdict and the notes; what makes a line invalid or grey comes before any figure."""
    line, n = estimate.line, estimate.line.logs.size
    if sentence := context.find_invalid_sentence(line):
        return "invalid", (sentence,)
    if line.grey:
        return "inconclusive", (line.grey,)
    if few := context.explain_few_blocks(line):
        return "inconclusive", (few,)
    said = choose_verdicts(
        estimate.interval,
        to_log(line.margin_percent),
        blocks=n,
        last=n >= context.analyses.maximum,
        significant=estimate.p <= context.analyses.alpha,
    )
    word, notes = cast("VerdictName", str(said)), tuple(_list_notes(context, estimate, str(said)))
    if line.bound:
        # the true effect lies beyond the bound: only a word that this strengthens may be said
        kept = {frozenset({1}): (SLOWER,), frozenset({-1}): CLEARED}.get(line.outlasted, ())
        word, notes = word if word in kept else "inconclusive", (line.bound, *notes)
    if failures := context.describe_excess_failures(line):
        return "inconclusive" if word in CLEARED else word, (failures, *notes)
    return word, notes


def _list_notes(context: ComparisonContext, estimate: Estimate, word: str) -> Iterator[str]:
    interval, margin = estimate.interval, f"{estimate.line.margin_percent:g} %"
    if word == NOT_SLOWER and interval.low > 0.0:
        yield f"slower, but by less than {margin}"
    if word == NOT_SLOWER and estimate.line.primary:
        share = _compute_unseen_percent(estimate.line.logs.size)
        yield f"a slow mode in less than {share:.0f} % of restarts may have been missed"
    if word == OPEN:
        yield from _explain_open(context, estimate)
    found, seen = (
        abs(to_percent(float(interval.estimate))),
        _compute_mde80_percent(context, estimate),
    )
    if word in (SLOWER, FASTER) and found < seen:
        yield (
            f"the true effect is probably smaller: {estimate.line.logs.size} blocks like these "
            f"find {seen:.2g} % in 80 of 100 runs, and what they find below that exaggerates"
        )
    r, p = estimate_lag_one(estimate.line.data)
    if estimate.line.primary and p <= ALIKE_LEVEL:
        yield f"neighbouring blocks are alike (correlation {r:.2f}), so the interval is too narrow"
    yield from _give_second_opinion(
        estimate, context.analyses.compute_level(estimate.line.logs.size)
    )


def _explain_open(context: ComparisonContext, estimate: Estimate) -> Iterator[str]:
    """What kept the word back where the interval alone would have said one; or that hosts are few,
    whose differences an interval over them has to allow for.
    """
    if 1 < len(estimate.line.hosts) <= FEW_HOSTS:
        number = len(estimate.line.hosts)
        yield f"its blocks are of {number} hosts only, so how far hosts differ is hardly known"
    interval, margin = estimate.interval, to_log(estimate.line.margin_percent)
    if interval.low > 0.0 and estimate.p > context.analyses.alpha:
        family, p = _describe_family(context, estimate), estimate.p
        yield f"alone it would be above 0, but not among {family} (p = {p:.2g})"
    elif interval.low > 0.0 >= interval.low_skewed:
        low = to_percent(float(interval.low_skewed))
        yield f"its blocks are skewed: with that counted the interval begins at {low:+.1f} %"
    elif interval.low > 0.0 and estimate.line.logs.size >= context.analyses.maximum:
        percent = f"{LAST_SHARE * estimate.line.margin_percent:.2g} %"
        yield f"slower, but by less than {percent}, so not called so at a margin of this size"
    if interval.high < margin <= interval.high_skewed:
        high = to_percent(float(interval.high_skewed))
        yield f"its blocks are skewed: with that counted the interval ends at {high:+.1f} %"
    elif interval.high < margin:
        share = _compute_unseen_percent(estimate.line.logs.size)
        yield (
            f"not slower is said from {CLEAR_LEAST} blocks on: so far a slow mode in up to "
            f"{share:.0f} % of restarts may have been missed"
        )


def _describe_family(context: ComparisonContext, estimate: Estimate) -> str:
    """The comparisons among which a p value was adjusted, in words."""
    return f"{context.primaries} primaries" if estimate.line.primary else "all that was explored"


def _give_second_opinion(estimate: Estimate, level: float) -> Iterator[str]:
    """Where the tests without a normal distribution say something else: a flag, not a vote."""
    logs, interval = estimate.line.data, estimate.interval
    if logs.size < BLOCKS_LEAST:
        return
    p_value = compute_sign_flip_p(logs)
    if (p_value <= level) != bool(interval.p <= level):
        yield f"the sign-flip test disagrees: p = {p_value:.2g}, t test p = {float(interval.p):.2g}"
    middle = estimate_hodges_lehmann(logs)
    if not interval.low <= middle <= interval.high:
        yield f"the Hodges-Lehmann estimate, {to_percent(middle):+.2f} %, lies outside the interval"
