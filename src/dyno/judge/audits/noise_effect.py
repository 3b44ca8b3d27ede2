"""Audit `noise_effect`: does the difference depend on how much others had of the machine?

Interleaved a neighbour meets all candidates alike, and an interval counts what it adds to the
spread. But it need not cost them alike: a server that leaves the client little to wait for is held
back by a client that waits for its core, and a slow one is not. Then the difference is large on a
quiet host and small beside a neighbour: both true, and the mean of such blocks is neither.

So all blocks, those dropped for noise too, are laid beside what others had of all CPU time in them.
The comparison is *doubtful*, with what a straight line through the blocks says at the calm and at
the noisy end, where that changes by more than the margin, its slope is none of chance (1 %, by
errors that need not be even: HC3, MacKinnon & White 1985), and the ranks go along (Kendall, 20 %:
one odd block is not enough). How often it errs: docs/evidence/noise-limits.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import mean

import numpy as np
import scipy

from dyno.judge.analysis.blocks import compute_noise_shares
from dyno.judge.analysis.comparisons import PairedMetric, pair_metrics
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Unchecked, conclude
from dyno.judge.stats.log_ratio import Floats, to_percent
from dyno.numbers import format_count
from dyno.record import Finding, Trial, WorkloadPlan

LEVEL = 0.01
RANKS_LEVEL = 0.2
#: Fewer blocks have no rank correlation that is so rare by chance.
BLOCKS_LEAST = 6
#: Points of all CPU time between the calmest and the noisiest block; less is no difference.
POINTS_LEAST = 5.0


class NoiseEffect:
    """Each primary's blocks beside the CPU time that others had in them."""

    summary = "the difference does not depend on how much others had of the machine"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each primary that goes with the noise; else one."""
        whole = view.without_limits
        plans = view.run.workloads
        found = [f for plan in plans for f in _judge_workload(whole, plan)]
        unchecked = [each for plan in plans if (each := _find_unchecked(whole, plan))]
        judged = format_count(len(plans) - len(unchecked), "workload")
        sound = f"no difference is shown to go with the noise in {judged}"
        return conclude(
            "noise_effect", found, sound if len(unchecked) < len(plans) else "", unchecked
        )


def _find_unchecked(view: RunView, plan: WorkloadPlan) -> Unchecked | None:
    blocks = view.blocks[plan.name].valid
    if len(blocks) < BLOCKS_LEAST:
        return Unchecked(f"fewer than {BLOCKS_LEAST} blocks", plan.name)
    trials = [trial for block in blocks for trial in block.values()]
    if not any(compute_noise_shares(trial, plan.phase_names) for trial in trials):
        return Unchecked("what others had of the machine is not known", plan.name)
    return None


def _judge_workload(view: RunView, plan: WorkloadPlan) -> Iterator[Finding]:
    blocks = view.blocks[plan.name].valid
    if len(blocks) < BLOCKS_LEAST:
        return
    others = np.array([_compute_others_percent(plan, list(block.values())) for block in blocks])
    if others.max() - others.min() < POINTS_LEAST:
        return
    for line in pair_metrics(view, plan, blocks):
        if line.primary and not line.grey:
            yield from _make_findings(line, others)


def _compute_others_percent(plan: WorkloadPlan, trials: Sequence[Trial]) -> float:
    """What others had of all CPU time in a block, the hypervisor among them."""
    return mean(sum(compute_noise_shares(trial, plan.phase_names).values()) for trial in trials)


def _make_findings(line: PairedMetric, others: Floats) -> list[Finding]:
    slope, middle = (float(each) for each in np.polyfit(others, line.logs, 1))
    calm, noisy = (to_percent(middle + slope * at) for at in (others.min(), others.max()))
    if abs(calm - noisy) <= line.margin_percent or not follows_noise(others, line.logs):
        return []
    metric = line.metric
    words = (
        f"{metric.workload} / {metric.phase} on {line.effect.candidate}: the slowdown depends on "
        f"what others had of the machine: {calm:+.0f} % where that was {others.min():.0f} % of its "
        f"CPU time, {noisy:+.0f} % where it was {others.max():.0f} %: measure where it is quiet"
    )
    return [Finding("noise_effect", "doubtful", words)]


def follows_noise(others: Floats, logs: Floats) -> bool:
    """Do the blocks' log ratios rise or fall with what others had in them, and not by chance?"""
    away = others - others.mean()
    square = float(away @ away)
    slope = float(away @ logs) / square
    errors = logs - logs.mean() - slope * away
    leverage = 1 / len(logs) + away**2 / square
    variance = float(np.sum((away * errors / (1 - leverage)) ** 2)) / square**2
    # a block that alone is noisy has all the leverage, and a line through it no error
    if not 0 < variance < math.inf:
        return False
    if 2 * scipy.special.stdtr(len(logs) - 2, -abs(slope) / math.sqrt(variance)) > LEVEL:
        return False
    from scipy.stats import kendalltau  # slow to load, and few differences have such a slope

    return bool(kendalltau(others, logs).pvalue <= RANKS_LEVEL)


AUDIT = NoiseEffect()
