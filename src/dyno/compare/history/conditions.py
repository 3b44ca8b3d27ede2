"""What two points of a series must have alike: all but the build, and of that the flags."""

from __future__ import annotations

from collections.abc import Mapping

from dyno.compare.history.hosts import select_host_facts
from dyno.compare.history.points import Key, Named
from dyno.host.controls import load_controls
from dyno.record import Candidate, Interleaving, Metric, Run, WorkloadPlan
from dyno.runs.run_folder import MeasuredPoint

#: Facts of where a build is from: the same one may lie elsewhere, and have other names there.
ORIGIN = ("source", "committed", "repository")
#: Facts of a build from source that say how it was called and how long it took to make.
MADE = ("name", "seconds", "cpu_seconds", "memory_mb", "interrupted", "jobs")
#: Facts of how a build was made here that are chosen, and not the source's.
FLAGS = ("cflags", "configure", "defines")


def identify_build(candidate: Candidate) -> Named:
    """A build's facts but the place where its program lies, which may move, and where it is from,
    as far as the checksum of its source tells that.
    """
    is_made = "source_sha256" in candidate.build
    left = {"program", *((*ORIGIN, *MADE) if is_made else ORIGIN[1:])}
    return tuple(sorted((k, v) for k, v in candidate.build.items() if k not in left))


def find_origin(candidate: Candidate) -> Named:
    """Where a build is from."""
    return tuple((name, it) for name in ORIGIN if (it := candidate.build.get(name)))


def find_conditions(run: Run, workload: WorkloadPlan, candidate: Candidate) -> Named:
    """Workload, settings, controls that are not left at their default, host and driver; whether
    turns were taken, since what counts of a phase differs.
    """
    found = {"script": workload.script_sha256[:8], "driver": run.driver_sha256[:8]}
    found |= _describe_turns(run.design.interleaving) if run.design.interleaving else {}
    metric = Metric(workload.name, "", "", "", "", "lower")
    played = (workload.options, run.design.controls, found)
    return name_conditions(MeasuredPoint(metric, candidate, (), *played), run.host, run.series)


def name_conditions(point: MeasuredPoint, host: Mapping[str, str], series: str) -> Named:
    """All of it by names in groups (`option threads`), what else the point names, and the series
    that its run was said to be of.
    """
    known, candidate = load_controls(), point.candidate
    held = {**point.controls, **candidate.controls}.items()
    groups = {
        "option": {**point.options, **candidate.options},
        "setting": candidate.settings,
        "control": {n: v for n, v in held if n not in known or v != known[n].default},
        "build's": {name: it for name in FLAGS if (it := candidate.build.get(name))},
        "host's": select_host_facts(host),
    }
    found = {f"{group} {name}": v for group, named in groups.items() for name, v in named.items()}
    found |= {"series": series} if series else {}
    return tuple(sorted({**found, **point.alike}.items()))


def _describe_turns(turns: Interleaving) -> dict[str, str]:
    """What a run asked of its turns. What its pilot measured and chose merely varies from night to
    night, and moves an effect by a tenth at most (docs/evidence/large-effects.md): of it a flag
    tells (`describe_pilot`).
    """
    return {"order": "interleaved", "connections": "reconnected" if turns.epoch_s else "held"}


def describe_pilot(run: Run, workload: WorkloadPlan) -> Named:
    """What a run's pilot chose of the turns: slices, and whether idle engines are suspended."""
    if (turns := run.design.interleaving) is None:
        return ()
    length = f"{1e3 * turns.find_slice(workload.name).length_s:g} ms"
    engines = "suspended" if turns.is_freezing(workload.name) else "running"
    return ("slices", length), ("idle engines", engines)


def make_key(run: Run, workload: WorkloadPlan, candidate: Candidate) -> Key:
    """A candidate's engine, build and conditions."""
    return candidate.engine, identify_build(candidate), find_conditions(run, workload, candidate)
