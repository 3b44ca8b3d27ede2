"""What else the machine did while a trial played: shares of CPU time, from the probe `host`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from dyno.record import Trial

#: The probe whose counters these are.
HOST = "host"


#: Why nobody knows what others did beside one side alone where trials take turns: the probe counts
#: over the whole of a phase, in which all sides have their windows.
SHARED = "trials took turns, so what others had beside one side alone was not sampled"


def counter_gains(trial: Trial, phases: Collection[str]) -> dict[str, float]:
    """What the probe's counters gained over the trial's `phases`, summed."""
    sums: dict[str, float] = defaultdict(float)
    for record in trial.phases:
        for reading in record.readings:
            if reading.probe == HOST and record.phase in phases:
                sums[reading.name] += reading.value
    return sums


def noise_shares(trial: Trial, phases: Collection[str]) -> dict[str, float]:
    """Steal and foreign CPU in percent of all CPU time, by the name of the limit on it.

    Nobody is foreign where it is not known whose work is ours: beside a server that runs already.
    """
    sums = counter_gains(trial, phases)
    total = sums.get("steal_ns", 0.0) + sums.get("busy_ns", 0.0) + sums.get("idle_ns", 0.0)
    if total <= 0.0:
        return {}
    steal = 100.0 * sums["steal_ns"] / total
    if "own_ns" not in sums:
        return {"steal_percent": steal}
    foreign = max(0.0, sums["busy_ns"] - sums["own_ns"])
    return {"steal_percent": steal, "foreign_percent": 100.0 * foreign / total}


def is_calm(trial: Trial, limits: Mapping[str, float]) -> bool:
    """Was no noise limit broken over the whole trial?"""
    shares = noise_shares(trial, {record.phase for record in trial.phases})
    return all(share <= limits.get(name, share) for name, share in shares.items())
