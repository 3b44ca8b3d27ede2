"""Capacities compared: more capacity, not less, less, or inconclusive.

The unit is the restart: each gives one rate (`stats/rate_at_limit.py`), and the interval is
Student's over their logs. Candidates are compared block by block, by the log of the ratio of their
rates, as times are: *less capacity* is *slower*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import cast

import numpy as np
from msgspec.structs import replace

from dyno import numbers
from dyno.judge.analysis.effect_words import measure_losses
from dyno.judge.analysis.rows import build_row
from dyno.judge.stats.interval import Interval, compute_t_interval
from dyno.judge.stats.log_ratio import to_log
from dyno.judge.stats.rate_at_limit import estimate_load_slope, find_rate_at_limit
from dyno.judge.stats.verdict import adjust_holm, choose_verdicts
from dyno.record import Comparison, Doubt, Finding, VerdictName
from dyno.record.capacity import (
    CandidateCapacity,
    CapacityBlock,
    CapacityPlan,
    CapacityRestart,
    CapacityStep,
    CapacityVerdict,
)
from dyno.record.clients import summarize_client_loads
from dyno.record.verdict import find_overall

LEVEL = 0.05
#: Fewer restarts have no interval.
BLOCKS_LEAST = 3
#: So many blocks have to agree before the driver is called the limit early.
CLIENT_LEAST = 2
#: Of its busiest thread's time: as audit `client_bottleneck` has it.
BUSY_PERCENT = 90.0
#: In a closed loop, of what the same script does without an engine.
CLIENT_SHARE = 0.7
#: Of the load's log over the rate's. Where it rises more slowly, an interval holds the rate less
#: often than it says (docs/evidence/second-attack.md).
SLOPE_LEAST = 0.9
MORE_TELL = "more --blocks or a longer --step may tell"


def judge_capacity(plan: CapacityPlan, blocks: Sequence[CapacityBlock]) -> CapacityVerdict:
    """The verdict so far; where the driver is the limit, nothing is an answer."""
    names = [side.name for side in plan.run.candidates]
    by_name = {name: [_find_restart(block, name) for block in blocks] for name in names}
    candidates = tuple(summarize_candidate(name, by_name[name]) for name in names)
    client, doubts = explain_client(plan, blocks), find_doubts(plan, blocks, candidates)
    rows = compare_capacities(plan, candidates, doubts, bool(client))
    overall = "invalid" if client else find_overall(rows)
    if overall == "measured" and candidates[0].rate_per_s is None:
        overall = "inconclusive"
    complete = len(blocks) >= plan.blocks or bool(client)
    reasons = [*(it.sentence for own in doubts.values() for it in own), *[MORE_TELL] * complete]
    rates = (
        f"{side.candidate} holds {numbers.format_quantity(side.rate_per_s, f'{plan.unit}/s')}"
        for side in candidates
        if side.rate_per_s is not None
    )
    return CapacityVerdict(
        overall=overall,
        sentence=client or "; ".join(rates) or f"no rate holds {plan.limit_words}",
        complete=complete,
        comparisons=rows,
        findings=(
            *[Finding("client_bottleneck", "invalid", client)] * bool(client),
            *(Finding(it.audit, "doubtful", it.sentence) for own in doubts.values() for it in own),
        ),
        dropped=(),
        reason="; ".join(reasons) if overall == "inconclusive" else "",
        candidates=candidates,
        hosts=summarize_client_loads(
            load for name in names for step in _list_highest(blocks, name) for load in step.clients
        ),
    )


def _find_restart(block: CapacityBlock, name: str) -> CapacityRestart:
    return next(each for each in block.restarts if each.candidate == name)


def find_restart_rate(restart: CapacityRestart) -> float | None:
    """A restart's rate at the limit; None where even the lowest broke it."""
    if restart.exhausted:
        return None
    steps = restart.steps
    return find_rate_at_limit([each.rate_per_s for each in steps], [each.load for each in steps])


def summarize_candidate(name: str, restarts: Sequence[CapacityRestart]) -> CandidateCapacity:
    """A candidate's answer over its restarts."""
    rates = tuple(find_restart_rate(each) for each in restarts)
    steps = [step for each in restarts for step in each.steps]
    broken = [step for step in steps if not step.holds]
    since = [s.overloaded_since_s for s in broken if s.overloaded_since_s is not None]
    found = [rate for rate in rates if rate is not None]
    whole = len(found) == len(rates) and bool(rates)
    mean = math.exp(sum(map(math.log, found)) / len(found)) if whole else None
    low = high = None
    if whole and len(found) >= BLOCKS_LEAST:
        interval = compute_t_interval(np.log(np.asarray(found)), LEVEL)
        low, high = math.exp(float(interval.low)), math.exp(float(interval.high))
    return CandidateCapacity(
        candidate=name,
        restarts=rates,
        rate_per_s=mean,
        low=low,
        high=high,
        lowest_tried_per_s=min((step.rate_per_s for step in steps), default=0.0),
        broken=len(broken),
        overloaded=len(since),
        overloaded_after_s=min(since, default=None),
    )


def compare_capacities(
    plan: CapacityPlan,
    candidates: Sequence[CandidateCapacity],
    doubts: Mapping[str, Sequence[Doubt]],
    is_invalid: bool,
) -> tuple[Comparison, ...]:
    """Each candidate against the first, block by block; Holm counts all."""
    base, *others = candidates
    known = [_compute_interval(base, other) for other in others]
    p_values = adjust_holm(np.asarray([1.0 if it is None else float(it.p) for it in known]))
    rows = []
    for other, interval, p in zip(others, known, p_values, strict=True):
        word, only = _choose_word(base, other, interval, float(p), plan.margin_percent)
        names = (base.candidate, other.candidate)
        rates = (base.rate_per_s or math.nan, other.rate_per_s or math.nan)
        margin, blocks = plan.margin_percent, len(base.restarts)
        rows.append(
            replace(
                build_row(plan.metric, names, rates, interval, margin, blocks),
                p_value=float(p),
                verdict="invalid" if is_invalid else word,
                notes=(f"only {only} holds the limit",) if only else (),
                doubts=tuple(it for name in ("", *names) for it in doubts.get(name, ())),
            )
        )
    return tuple(rows)


def measure_change(row: Comparison) -> tuple[float, float, float]:
    """How the candidate's rate differs from the base's, in percent, with its interval."""
    loss, low, high = measure_losses(row)
    return -loss, -high, -low


def _compute_interval(base: CandidateCapacity, other: CandidateCapacity) -> Interval | None:
    """Of the log of base ÷ candidate: as a time ratio, above 0 where the candidate holds less."""
    if base.rate_per_s is None or other.rate_per_s is None or len(base.restarts) < BLOCKS_LEAST:
        return None
    pairs = zip(base.restarts, other.restarts, strict=True)
    logs = [math.log(before / after) for before, after in pairs if before and after]
    return compute_t_interval(np.asarray(logs), LEVEL)


def _choose_word(
    base: CandidateCapacity,
    other: CandidateCapacity,
    interval: Interval | None,
    p: float,
    margin_percent: float,
) -> tuple[VerdictName, str]:
    """The verdict; and who alone holds the limit, where one of two does at no rate, in any restart,
    and the other always does.
    """
    if interval is not None:
        found = choose_verdicts(
            interval,
            to_log(margin_percent),
            blocks=len(base.restarts),
            last=True,
            significant=p <= LEVEL,
        )
        return cast("VerdictName", str(found)), ""
    known = [side for side in (base, other) if len(side.restarts) >= BLOCKS_LEAST]
    none = [side for side in known if not any(side.restarts)]
    every = [side for side in known if all(side.restarts)]
    if len(none) == len(every) == 1:
        return "slower" if none[0] is other else "faster", every[0].candidate
    return "inconclusive", ""


def explain_client(plan: CapacityPlan, blocks: Sequence[CapacityBlock]) -> str:
    """Why the driver and not a server is the limit; empty where it is not."""
    found = _find_client_limit(plan, blocks)
    return f"the driver, not the server, is the limit: {found}" if found else ""


def _find_client_limit(plan: CapacityPlan, blocks: Sequence[CapacityBlock]) -> str:
    broken = [block.baselines[-1] for block in blocks if not block.baselines[-1].holds]
    if len(blocks) >= CLIENT_LEAST and 2 * len(broken) > len(blocks):
        rate = max(each.rate_per_s for each in broken)
        return (
            f"without an engine the same script breaks {plan.limit_words} at {rate:,.0f} events/s "
            f"in {len(broken)} of {len(blocks)} blocks"
        )
    for side in plan.run.candidates:
        shares = [
            _find_restart(block, side.name).closed_per_s / block.baseline_closed_per_s
            for block in blocks
        ]
        if len(shares) >= CLIENT_LEAST and median(shares) >= CLIENT_SHARE:
            return (
                f"in a closed loop {side.name} does {100 * median(shares):.0f} % of what the same "
                "script does without an engine"
            )
        busy = _find_busy(blocks, side.name)
        if len(busy) >= CLIENT_LEAST and median(busy) >= BUSY_PERCENT:
            return (
                f"beside {side.name} {_name_driver(blocks, side.name)} worked {median(busy):.0f} % "
                "of the time at the highest rates that held"
            )
    return ""


def _name_driver(blocks: Sequence[CapacityBlock], name: str) -> str:
    """Whose thread is the busiest: of several client hosts it is named."""
    loads = [load for step in _list_highest(blocks, name) for load in step.clients]
    hosts = summarize_client_loads(loads)
    if len(hosts) < 2:
        return "the driver's busiest thread"
    busiest = max(hosts, key=lambda load: load.busiest_percent)
    return f"the busiest thread of client host {busiest.host}"


def _find_busy(blocks: Sequence[CapacityBlock], name: str) -> list[float]:
    """How busy the driver was at each restart's highest rate that held."""
    busy = [step.driver_busy_percent for step in _list_highest(blocks, name)]
    return [percent for percent in busy if percent is not None]


def _list_highest(blocks: Sequence[CapacityBlock], name: str) -> list[CapacityStep]:
    """The step of each restart at the highest rate that held."""
    restarts = [_find_restart(block, name) for block in blocks]
    held = [[step for step in each.steps if step.holds] for each in restarts]
    return [max(steps, key=lambda step: step.rate_per_s) for steps in held if steps]


def find_doubts(
    plan: CapacityPlan, blocks: Sequence[CapacityBlock], candidates: Sequence[CandidateCapacity]
) -> dict[str, list[Doubt]]:
    """What the figures may not say, by candidate; by no name what concerns all."""
    doubts: dict[str, list[Doubt]] = {}
    near = [block.baselines[0] for block in blocks if not block.baselines[0].holds]
    if 2 * len(near) > len(blocks):
        told = (
            f"without an engine the script breaks {plan.limit_words} at "
            f"{min(each.rate_per_s for each in near):,.0f} events/s, so the driver is a good part "
            "of the answer"
        )
        doubts[""] = [Doubt("client_bottleneck", told)]
    for each in candidates:
        own = doubts.setdefault(each.candidate, [])
        none = sum(rate is None for rate in each.restarts)
        if 0 < none < len(each.restarts):
            told = f"{none} of {len(each.restarts)} restarts of {each.candidate} held the limit at "
            own.append(Doubt("restarts", f"{told}no rate"))
        steps = [step for block in blocks for step in _find_restart(block, each.candidate).steps]
        slope = estimate_load_slope([s.rate_per_s for s in steps], [s.load for s in steps])
        if slope is not None and slope < SLOPE_LEAST:
            told = (
                f"on {each.candidate} a rate twice as high raises {plan.limit_words.split('<')[0]} "
                f"by {100 * (2**slope - 1):.0f} % only, so the rate at the limit is loosely known "
                "and its interval too narrow"
            )
            own.append(Doubt("slope", told))
    return doubts
