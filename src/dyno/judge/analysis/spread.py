"""How far the restarts of every candidate lie apart, where that comes from, and what to spend on.

Records in, `estimate_components` out. Only trials that count should be handed in. The seconds of a
rate are the whole seconds of its stream; other metrics have none, since a trial keeps one histogram
for each stream and not one for each second: their seconds are part of the restart.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median

import numpy as np

from dyno.judge.analysis.blocks import list_hosts
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.components import (
    RESTARTS,
    SECONDS,
    Components,
    Layout,
    compute_cov_interval,
    compute_cov_percent,
    compute_range_percent,
)
from dyno.judge.stats.components import estimate_components as components_of
from dyno.judge.stats.hosts import align_hosts
from dyno.judge.stats.log_ratio import Floats
from dyno.judge.stats.within_restarts import Costs, compute_time_times_variance, find_best_seconds
from dyno.record import Metric, PhaseRecord, Spread, Trial, WorkloadPlan


def compute_restart_spreads(
    view: RunView, workload: WorkloadPlan, blocks: Sequence[dict[str, Trial]]
) -> list[Spread]:
    """The spread of each candidate in each primary metric, over `blocks` (two or more).

    A metric that is not above 0 in every block has none. Where several hosts played, a host's own
    speed is none of it.
    """
    declared = view.list_primaries(workload.name)
    found = []
    for side in view.run.candidates:
        own = [view.compute_numbers(block[side.name]) for block in blocks]
        for metric in sorted(own[0]):
            if any(pair.matches(metric) for pair in declared):
                values = np.array([each.get(metric, 0.0) for each in own])
                if values.min() > 0.0:
                    values = np.exp(align_hosts(np.log(values), list_hosts(blocks)))
                    found.append(_compute_spread(side.name, metric, values))
    return found


def _compute_spread(candidate: str, metric: Metric, values: Floats) -> Spread:
    low, high = compute_cov_interval(values)
    return Spread(
        candidate=candidate,
        metric=metric,
        restarts=values.size,
        value=float(np.exp(np.log(values).mean())),
        range_percent=compute_range_percent(values),
        cov_percent=compute_cov_percent(values),
        low_percent=low,
        high_percent=high,
    )


#: The last answer of a timed phase may come a little before its last second is full.
SLACK_S = 0.05
#: No phase is advised to be longer than this, whatever a restart costs.
SECONDS_MOST = 600


@dataclass(frozen=True)
class Sources:
    """A metric's components, the seconds that a trial measures it, and what a restart costs.

    `costs` is None where no two trials followed one another directly, so that nothing was timed.
    """

    metric: Metric
    found: Components
    trials: int
    seconds: float
    costs: Costs | None

    @property
    def best_seconds(self) -> float | None:
        """The length of a trial that buys most (`stats.within_restarts`); None where it is not
        known.
        """
        within, restarts = self.found.find_part(SECONDS), self.found.find_part(RESTARTS)
        if self.costs is None or self.found.seconds is None or within is None or restarts is None:
            return None
        if restarts.variance == 0.0:  # drowned in the seconds' own spread: no ratio to go by
            return None
        variance = within.variance * self.found.seconds.inflation
        best = find_best_seconds(self.costs, variance, restarts.variance)
        return float(math.ceil(min(best, SECONDS_MOST)))

    def compute_time_saved(self, seconds: float) -> float:
        """The part of the time that trials of the best length save against ones of `seconds`, for
        the same interval.
        """
        within, restarts = self.found.find_part(SECONDS), self.found.find_part(RESTARTS)
        best, inside = self.best_seconds, self.found.seconds
        if best is None or within is None or restarts is None or inside is None or not self.costs:
            return 0.0
        variances = (within.variance * inside.inflation, restarts.variance)
        now = compute_time_times_variance(self.costs, seconds, *variances)
        return (
            max(0.0, 1.0 - compute_time_times_variance(self.costs, best, *variances) / now)
            if now
            else 0.0
        )


def find_spread_sources(
    view: RunView, trials: Sequence[Trial], metrics: Sequence[Metric]
) -> list[Sources]:
    """The spread of each of `metrics` over `trials` that can be told; needs three blocks of two
    candidates.
    """
    numbers = {trial.number: view.compute_numbers(trial) for trial in trials}
    interleaved = view.run.design.interleaving is not None
    found = []
    for metric in metrics:
        own = [t for t in trials if numbers[t.number].get(metric, 0.0) > 0.0]
        if len({trial.candidate for trial in own}) < 2:
            continue
        layout = _build_layout(own, metric, {t.number: numbers[t.number][metric] for t in own})
        parts = components_of(layout)
        if parts is not None:
            seconds = median(_find_phase(trial, metric).duration_s for trial in own)
            found.append(
                Sources(
                    metric,
                    parts,
                    len(own),
                    seconds,
                    _compute_costs(own, metric, interleaved),
                )
            )
    return found


def _build_layout(trials: Sequence[Trial], metric: Metric, values: Mapping[int, float]) -> Layout:
    loads = [trial.conditions.load_name for trial in trials]
    seconds = [_collect_seconds(trial, metric) for trial in trials]
    return Layout(
        values=np.log([values[trial.number] for trial in trials]),
        candidates=[trial.candidate for trial in trials],
        blocks=[trial.block for trial in trials],
        loads=loads if all(loads) else None,
        seconds=seconds if all(each.size for each in seconds) else (),
    )


def _find_phase(trial: Trial, metric: Metric) -> PhaseRecord:
    return next(record for record in trial.phases if record.phase == metric.phase)


def _collect_seconds(trial: Trial, metric: Metric) -> Floats:
    """The logs of what a stream did in each whole second; none of other metrics, nor of a stream
    that stood still for a second.
    """
    record = _find_phase(trial, metric)
    streams = (tally for tally in record.streams if tally.name == metric.transaction)
    tally = next(streams, None) if metric.name == "rate_per_s" else None
    done = tally.series.done[: int(record.duration_s + SLACK_S)] if tally else ()
    return np.log(np.array(done, dtype=float)) if done and min(done) > 0 else np.zeros(0)


def _compute_costs(trials: Sequence[Trial], metric: Metric, interleaved: bool) -> Costs | None:
    """What a trial takes beside measuring this phase: from its start to that of the next one, or of
    those that are interleaved its share of the time from a block's start to that of the next one.
    """
    blocks: dict[int, list[Trial]] = defaultdict(list)
    for trial in sorted(trials, key=lambda trial: trial.number):
        blocks[trial.block if interleaved else trial.number].append(trial)
    beside = []
    for before, after in pairwise(blocks.values()):
        near = after[0].number == before[-1].number + 1
        if near and (interleaved or after[0].block == before[0].block):
            took_s = (_parse_start(after[0]) - _parse_start(before[0])).total_seconds()
            took_s -= sum(_find_phase(trial, metric).duration_s for trial in before)
            beside.append(took_s / len(before))
    return Costs(max(0.0, median(beside))) if beside else None


def _parse_start(trial: Trial) -> datetime:
    return datetime.fromisoformat(trial.started_utc)
