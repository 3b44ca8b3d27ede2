"""What a workload is judged by: its primary metrics, by the experiment or by the script."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dyno.errors import unknown
from dyno.experiment import Measuring, Workload
from dyno.plan import Description, Phase, Primary


def phases(chosen: Workload, said: Description) -> list[Phase]:
    """The phases, judged by what the experiment names, else by what the script declares, else
    by the throughput of the first stream of every phase.
    """
    if chosen.primary:
        phases = _named(chosen, said)
    elif any(phase.primary for phase in said.phases):
        phases = list(said.phases)
    else:
        phases = [replace(p, primary=(_throughput(p.streams[0].name),)) for p in said.phases]
    return [_measurable(phase) for phase in phases]


def _throughput(stream: str) -> Primary:
    return Primary(stream, "rate_per_s")


def _measurable(phase: Phase) -> Phase:
    """The phase with a latency in place of a paced stream's throughput: that was set, and not
    measured (METHOD.md 6). One that is declared twice counts once: Holm would wait for the other.
    """
    paced = {stream.name for stream in phase.streams if stream.pace["kind"] != "closed"}
    measured = [
        replace(each, metric="latency_ns_p99")
        if each.metric == "rate_per_s" and each.stream in paced
        else each
        for each in phase.primary
    ]
    once: dict[tuple[str, str], Primary] = {}
    for each in measured:
        once.setdefault((each.stream, each.metric), each)
    return replace(phase, primary=tuple(once.values()))


def _named(chosen: Workload, said: Description) -> list[Phase]:
    by_phase: dict[str, tuple[Primary, ...]] = {}
    phases = {phase.name: phase for phase in said.phases}
    for each in chosen.primary:
        name = each.get("phase", said.phases[0].name)
        if name not in phases:
            raise unknown("phase", name, phases)
        by_phase[name] = (*by_phase.get(name, ()), _primary(each, phases[name]))
    return [replace(phase, primary=by_phase.get(phase.name, ())) for phase in said.phases]


def _primary(each: dict[str, Any], phase: Phase) -> Primary:
    streams = [stream.name for stream in phase.streams]
    stream = each.get("stream", streams[0])
    if stream not in streams:
        raise unknown("stream", stream, streams)
    return Primary(stream, each.get("metric", "rate_per_s"), each.get("margin_percent"))


def judged(phase: Phase, measuring: Measuring) -> Phase:
    """The phase with the run's margin, which the user set, in place of the script's own."""
    if measuring.margin_percent is None:
        return phase
    primary = tuple(replace(each, margin_percent=None) for each in phase.primary)
    return replace(phase, primary=primary)
