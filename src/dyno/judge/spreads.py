"""How far the restarts of every candidate lie apart, in the metrics that the verdict rests on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyno.judge.lines import pairs
from dyno.measures import Numbers
from dyno.record import Metric, Run, Spread, Trial, WorkloadPlan
from dyno.stats.interval import Floats
from dyno.stats.spread import cov_interval, cov_percent, range_percent


def spreads(
    run: Run,
    workload: WorkloadPlan,
    blocks: Sequence[dict[str, Trial]],
    numbers: dict[int, Numbers],
) -> list[Spread]:
    """The spread of each candidate in each primary metric, over `blocks` (two or more).

    A metric that is not above 0 in every block has none.
    """
    declared = pairs(workload)
    found = []
    for side in run.candidates:
        own = [numbers[block[side.name].number] for block in blocks]
        for metric in sorted(own[0]):
            if any(pair.names(metric) for pair in declared):
                values = np.array([each.get(metric, 0.0) for each in own])
                if values.min() > 0.0:
                    found.append(_spread(side.name, metric, values))
    return found


def _spread(candidate: str, metric: Metric, values: Floats) -> Spread:
    low, high = cov_interval(values)
    return Spread(
        candidate=candidate,
        metric=metric,
        restarts=values.size,
        value=float(np.exp(np.log(values).mean())),
        range_percent=range_percent(values),
        cov_percent=cov_percent(values),
        low_percent=low,
        high_percent=high,
    )
