"""The probes' samples at a phase's two ends, turned into readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dyno.probes import Parts, Watched, probes
from dyno.record import PhaseRecord, Reading

#: Probe name to the numbers that it gave.
Sample = Mapping[str, Mapping[str, float]]


def ready(watched: Watched) -> Sample:
    """Every probe's counters and gauges before a phase, those first that cost the engine work."""
    asking = {n: probe.sample(watched) for n, probe in probes().items() if isinstance(probe, Parts)}
    return {**asking, **answered(watched)}


def answered(watched: Watched) -> Sample:
    """The same after it, while the driver's connections are open, but for those that wait."""
    every = probes().items()
    return {n: probe.sample(watched) for n, probe in every if not isinstance(probe, Parts)}


def parted(watched: Watched) -> Sample:
    """Those that waited until the connections were closed."""
    return {n: probe.parted(watched) for n, probe in probes().items() if isinstance(probe, Parts)}


def joined(record: PhaseRecord, before: Sample, after: Sample) -> PhaseRecord:
    """`record` with what the phase added to each counter, and each gauge at its end.

    A number that was not to be had at both ends (a gauge: at the end) is left out.
    """
    return replace(record, readings=tuple(_readings(before, after)))


def _readings(before: Sample, after: Sample) -> list[Reading]:
    found = []
    for name, probe in probes().items():
        first, last = before.get(name, {}), after[name]
        for measure in probe.measures:
            if measure.name not in last or (measure.counter and measure.name not in first):
                continue
            value = last[measure.name] - (first[measure.name] if measure.counter else 0.0)
            identity = (measure.name, measure.unit, measure.better)
            found.append(Reading(name, *identity, value, measure.per_operation))
    return found
