"""What else the machine did while a trial played: shares of CPU time, from the probe `host`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from dyno.record import Trial

#: The probe whose counters these are.
HOST = "host"
PLACED = "placed_"
ALL_NS = ("steal_ns", "busy_ns", "idle_ns")


#: Why nobody knows what others did beside one side alone where trials are interleaved: the probe
#: counts over the whole of a phase, in which all sides have their slices.
SHARED = "trials were interleaved, so what others had beside one side alone was not sampled"


def sum_counter_gains(trial: Trial, phases: Collection[str]) -> dict[str, float]:
    """What the probe's counters gained over the trial's `phases`, summed."""
    sums: dict[str, float] = defaultdict(float)
    for record in trial.phases:
        for reading in record.readings:
            if reading.probe == HOST and record.phase in phases:
                sums[reading.name] += reading.value
    return sums


def compute_noise_shares(trial: Trial, phases: Collection[str]) -> dict[str, float]:
    """Steal and foreign CPU in percent of the CPU time, by the name of the limit on it.

    Nobody is foreign where it is not known whose work is ours: beside a server that runs already.
    """
    return compute_shares(sum_counter_gains(trial, phases))


def compute_shares(sums: Mapping[str, float]) -> dict[str, float]:
    """The same of what the probe's counters gained: the larger of the share of all cores and of
    that of the cores which driver and engine are held to, where they are held to some.
    """
    total = sum(sums.get(name, 0.0) for name in ALL_NS)
    found = _divide(sums, "", total)
    placed = _divide(sums, PLACED, sums.get(f"{PLACED}total_ns", 0.0))
    return {name: max(share, placed.get(name, 0.0)) for name, share in found.items()}


def _divide(sums: Mapping[str, float], of: str, total: float) -> dict[str, float]:
    if total <= 0.0:
        return {}
    steal = 100.0 * sums[f"{of}steal_ns"] / total
    if "own_ns" not in sums:
        return {"steal_percent": steal}
    foreign = max(0.0, sums[f"{of}busy_ns"] - sums["own_ns"])
    return {"steal_percent": steal, "foreign_percent": 100.0 * foreign / total}


def compute_foreign_ns(sums: Mapping[str, float]) -> float:
    """CPU time of processes that are not ours, on the cores that driver and engine are held to, or
    on all.
    """
    of = PLACED if f"{PLACED}total_ns" in sums else ""
    return max(0.0, sums.get(f"{of}busy_ns", 0.0) - sums.get("own_ns", 0.0))


def is_calm(trial: Trial, limits: Mapping[str, float]) -> bool:
    """Was no noise limit broken over the whole trial?"""
    shares = compute_noise_shares(trial, {record.phase for record in trial.phases})
    return all(share <= limits.get(name, share) for name, share in shares.items())
