"""Audit `carry_over`: where trials are interleaved, is a slice as good after another's as after its
own?

A slice begins with what the one before left: caches of the other engine, a disk that still writes
its pages. What both sides lose alike so cancels in their ratio. Where one loses more, it looks
slower by about half of the difference, since 5 of 8 slices of two candidates follow the other's.

Block by block, events in slices that follow the side's own are held against those of the same
rounds that follow another's (`judge/analysis/carry_over.py`: the log of their ratio, the side's
loss). *Doubtful* where half of the difference of the sides' losses is beyond a quarter of the
margin (the whole 98 % interval over the blocks); *not checked* where that interval reaches beyond
the margin itself, where events are few, and in records without counts by slice.

A loss of both sides that is larger than the margin is told: the ramp-in, which counts for nothing,
is too short to hold it. A run's ramp-in is fixed before its first block and does not grow with what
the blocks show: who lengthens it by a result chooses the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dyno.judge.analysis.carry_over import carry_over
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Case, Inapplicable, Unchecked, Unjudged, conclude, list_cases
from dyno.judge.stats.interval import Interval
from dyno.judge.stats.log_ratio import to_log, to_percent
from dyno.judge.stats.within_restarts import RESTARTS_LEAST, estimate_common_change, is_beyond
from dyno.numbers import format_interval
from dyno.record import Finding

#: Of the margin.
DOUBTED = 1 / 4


class CarryOver:
    """Each candidate's slices after another's against those after its own, beside the base's."""

    summary = "no side loses more than the other from what was played before its slices"
    judges_wall_time = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate and phase in which one side loses more; else one."""
        if view.run.design.interleaving is None:
            one_by_one = Inapplicable("restarts were played one after the other")
            return conclude("carry_over", (), "", [one_by_one])
        faults: list[Finding] = []
        told: list[str] = []
        left: list[Unjudged] = []
        for case in list_cases(view.run, view.trials):
            if case.candidate.name == view.run.design.base:
                continue
            limit = to_log(case.find_margin_percent(view.run))
            if not _is_free(case):
                left.append(Inapplicable("the rate was set", case.name))
                continue
            found = _compute_losses(view, case)
            if found is None:
                left.append(Unchecked(_FEW, case.name))
            elif is_beyond(found.bias, DOUBTED * limit):
                faults.append(case.make_finding("carry_over", "doubtful", found.doubt))
            elif max(found.bias.high, -found.bias.low) > limit:
                left.append(Unchecked(f"too noisy to tell: {found.words}", case.name))
            else:
                told.append(f"{case.name}: {found.words}{found.describe_large(limit)}")
        return conclude("carry_over", faults, "; ".join(told), left)


_FEW = "too few blocks with 30 events and more in slices of either kind"


def _is_free(case: Case) -> bool:
    """Plays a stream of the phase as fast as it can?"""
    return any(not tally.rests_on_purpose for record in case.records for tally in record.streams)


@dataclass(frozen=True)
class _Losses:
    """What base and candidate lose in slices after another's (logs, over the blocks), and what that
    makes of the log of their time ratio.
    """

    base: float
    candidate: float
    bias: Interval

    @property
    def words(self) -> str:
        """`slices after another's hold 3.2 % fewer events than those after its own, …`."""
        low, high = (to_percent(float(end)) for end in (self.bias.low, self.bias.high))
        ends = format_interval(low, high, "{:+.2f}".format)
        return (
            f"slices after another's hold {_describe_loss(self.candidate)} events than those after "
            "its "
            f"own, the base's {_describe_loss(self.base)}, which moves the slowdown by "
            f"{to_percent(float(self.bias.estimate)):+.2f} % {ends}"
        )

    @property
    def doubt(self) -> str:
        """The same, and what to do."""
        return f"{self.words}; use --sequential"

    def describe_large(self, limit: float) -> str:
        """That a loss is larger than the margin; empty where none is."""
        if max(abs(self.base), abs(self.candidate)) <= limit:
            return ""
        return " (more than the margin: the ramp-in is too short for that, and both sides pay it)"


def _describe_loss(loss: float) -> str:
    percent = to_percent(-loss)
    return f"{abs(percent):.1f} % {'fewer' if percent < 0 else 'more'}"


def _compute_losses(view: RunView, case: Case) -> _Losses | None:
    """None where too few blocks tell."""
    names = view.run.design.base, case.candidate.name
    found = np.array(list(_pair_counts(view, case, names)))
    if len(found) < RESTARTS_LEAST:
        return None
    bias = estimate_common_change((found[:, 1] - found[:, 0]) / 2)
    base, candidate = (float(loss) for loss in found.mean(axis=0))
    return _Losses(base, candidate, bias) if bias else None


def _pair_counts(view: RunView, case: Case, names: tuple[str, str]) -> Iterator[tuple[float, ...]]:
    plan = next(each for each in view.run.workloads if each.name == case.workload)
    for block in view.blocks[plan.name].valid:
        found = carry_over(view.run, plan, case.phase, block)
        if all(name in found for name in names):
            yield tuple(found[name] for name in names)


AUDIT = CarryOver()
