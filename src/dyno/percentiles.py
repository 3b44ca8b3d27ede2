"""The percentiles of a phase: each stream's own, and those of streams that count in one unit.

Percentiles do not average, so histograms are added up first (`stats.histogram`): the driver does it
for the threads and transaction types of a stream, and this for the streams of a phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dyno.record import Latency, Tally
from dyno.stats.histogram import decoded, merged

PERCENTILES = ("50", "95", "99", "99.9")


def of_latency(latency: Latency) -> dict[tuple[str, str], float]:
    """Percentiles, mean and maximum in ns, by name and unit; none where nothing was answered."""
    if latency.count == 0:
        return {}
    found = {
        (f"latency_ns_p{name}", "ns"): float(latency.percentiles_ns[name])
        for name in PERCENTILES
        if name in latency.percentiles_ns
    }
    ends = {("latency_ns_mean", "ns"): latency.mean_ns, ("latency_ns_max", "ns"): latency.max_ns}
    return found | {identity: float(value) for identity, value in ends.items()}


def together(streams: Sequence[Tally]) -> dict[str, dict[str, int]]:
    """Unit to percentile to ns, for each unit that two or more of `streams` answered in."""
    texts: dict[str, list[str]] = {}
    for tally in streams:
        if tally.latency.count:
            texts.setdefault(tally.unit, []).append(tally.latency.hdr)
    shared = {unit: tuple(own) for unit, own in texts.items() if len(own) > 1 and all(own)}
    return {unit: dict(zip(PERCENTILES, _read(own), strict=True)) for unit, own in shared.items()}


@lru_cache(maxsize=4096)
def _read(texts: tuple[str, ...]) -> tuple[int, ...]:
    """The percentiles of histograms added up; kept, since a run is judged after every block."""
    whole = merged([decoded(text) for text in texts])
    return tuple(whole.percentile(float(name)) for name in PERCENTILES)
