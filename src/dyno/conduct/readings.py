"""The probes' samples at a phase's two ends, turned into readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dyno.probes import Watched, probes
from dyno.record import PhaseRecord, Reading

#: Probe name to the numbers that it gave.
Sample = Mapping[str, Mapping[str, float]]


def sample(watched: Watched) -> Sample:
    """Every probe's counters and gauges, now."""
    return {name: probe.sample(watched) for name, probe in probes().items()}


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
