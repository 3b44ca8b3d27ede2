"""The suite as one number: the geometric mean over all primaries of all workloads, block by block.

For a gate that asks whether a build is slower on the whole (`gate = "mean"`). Each workload's own
primaries are judged as ever and stand beside it, but do not decide: all of eight equal workloads
rarely pass in one run, and their mean nearly always does (docs/evidence/code-choices.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyno.judge.analysis.comparisons import ComparisonContext, PairedMetric
from dyno.judge.analysis.effects import Effect
from dyno.record import Metric

#: What the mean is called where a metric is asked for; its values are time ratios.
MEAN = Metric("all workloads", "every phase", "geometric", "mean", "", "lower")


def suite_means(context: ComparisonContext, lines: Sequence[PairedMetric]) -> list[PairedMetric]:
    """One line for each candidate (or main effect), from its primaries in `lines`.

    None for a candidate that lacks one of the declared primaries: a mean over fewer is another
    number. The nth valid blocks of the workloads are taken together; the margin is the run's.
    """
    effects = {line.effect.candidate: line.effect for line in lines if line.primary}
    declared = context.primaries // max(1, context.rivals)
    made = []
    for candidate, effect in effects.items():
        own = [x for x in lines if x.primary and x.effect.candidate == candidate]
        if len(own) == declared and len({line.logs.size for line in own}) == 1:
            made.append(_mean(context, effect, own))
    return made


def _mean(context: ComparisonContext, effect: Effect, own: Sequence[PairedMetric]) -> PairedMetric:
    ratios = np.exp(np.mean([line.logs for line in own], axis=0))
    # where loads come again, the fewest of any workload: their luck is in the mean too
    shared = [line.groups for line in own if line.groups is not None]
    reasons = (line.grey or context.invalid_sentence(line) for line in own)
    return PairedMetric(
        metric=MEAN,
        effect=effect,
        primary=True,
        margin_percent=context.run.design.margin_percent,
        base_values=np.ones_like(ratios),
        values=ratios,
        grey=next((reason for reason in reasons if reason), ""),
        groups=min(shared, key=lambda groups: len(set(groups))) if shared else None,
    )
