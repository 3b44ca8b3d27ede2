"""What two points of a history must have alike; and the build, which is what it is about."""

from __future__ import annotations

from dataclasses import dataclass

from dyno.calibration.entry import telling
from dyno.controls import controls
from dyno.record import Candidate, Metric, Run, WorkloadPlan

#: Facts of a host, beside those that a calibration depends on, that two points must share.
HOST = ("file_system", "memory_mb")

Named = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Conditions:
    """A metric of an engine, and all else that points of one series have alike, by name."""

    engine: str
    metric: Metric
    alike: Named


def build_of(candidate: Candidate) -> Named:
    """A build's facts but the place where its program lies, which may move."""
    return tuple(sorted((k, v) for k, v in candidate.build.items() if k != "program"))


def alike(run: Run, workload: WorkloadPlan, candidate: Candidate) -> Named:
    """Workload, settings, controls that are not left at their default, host and driver."""
    room = controls()
    held = run.design.controls | candidate.controls
    held = {n: v for n, v in held.items() if n not in room or v != room[n].default}
    host = telling(run.host) | {name: run.host[name] for name in HOST if name in run.host}
    groups = {
        "option": workload.options | candidate.options,
        "setting": candidate.settings,
        "control": held,
        "host's": host,
    }
    found = {f"{group} {name}": v for group, named in groups.items() for name, v in named.items()}
    found |= {"script": workload.script_sha256[:8], "driver": run.driver_sha256[:8]}
    found |= {"length": "quick"} if run.design.quick else {}
    return tuple(sorted(found.items()))
