"""The dose check: how much slower an engine was really made, whatever the verdict says of it.

Both are counted where the time is spent: the preloaded plant adds up what it spun, and of `null`
the driver knows the median answer. (Its mean also holds the sleeps that the kernel ended late: the
host's noise, which nobody planted.) They are set against the base's own time per operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from dyno.calibrate.lots import EVERY, Lot
from dyno.calibrate.pilot import per_operation_ns, reading
from dyno.measures import operations
from dyno.record import PhaseRecord, Trial

#: A dose that differs from the one asked for by more than this part of it is told of.
TOLERANCE = 0.2


def is_off(effect_percent: float, dose_percent: float) -> bool:
    """Was something else planted than what was asked for? The truth is the dose all the same."""
    return abs(dose_percent - effect_percent) > TOLERANCE * effect_percent


def dose_percent(
    lot: Lot, blocks: Sequence[Mapping[str, Trial]], base: str, candidate: str
) -> float | None:
    """The slowdown planted, the mean over the blocks; None where nothing was to be planted.

    Of a plant in one answer of fifty it is what the p99 must have risen by at the least: half of
    the answers held up, one of a hundred, took the median and the spin or more.
    """
    if lot.is_aa or not blocks:
        return None
    pairs = [(block[base].phases[-1], block[candidate].phases[-1]) for block in blocks]
    if lot.metric == "rate_per_s":
        return mean(100.0 * _more_ns(*pair) / per_operation_ns(pair[0]) for pair in pairs)
    return mean(_p99_percent(*pair) for pair in pairs)


def _more_ns(base: PhaseRecord, candidate: PhaseRecord) -> float:
    return _held_ns(candidate) - _held_ns(base)


def _held_ns(record: PhaseRecord) -> float:
    """What was planted in an operation: the spin, or the whole median answer of `null`."""
    tally = record.streams[0]
    if tally.service_ns is not None:
        return tally.latency.percentiles_ns["50"] / tally.units_per_event
    return reading(record, "planted_ns") / max(1, operations(record))


def _p99_percent(base: PhaseRecord, candidate: PhaseRecord) -> float:
    was = base.streams[0].latency.percentiles_ns
    held_ns = EVERY * _more_ns(base, candidate)
    return 100.0 * ((was["50"] + held_ns) / was["99"] - 1.0)
