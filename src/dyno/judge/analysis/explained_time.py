"""How much of a difference in time the difference in CPU time is.

Both are of an operation: time is that of a user, times as many users as the engine's cores can
serve at once. Where the server alone limits them, a rise in CPU time is the whole rise in time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from dyno.judge.analysis.cpu_samples import SampledPhase
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.interval import extract_independent_data
from dyno.judge.stats.log_ratio import Floats
from dyno.record import Comparison, PhaseRecord, Trial
from dyno.record.cause import ExplainedShare

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
    square = float(stdtrit(n - 1, level / 2.0)) ** 2
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
