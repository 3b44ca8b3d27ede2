"""How many connections keep a server busy: the part of a comparison's pilot that finds it.

One start of the base, on one load of its data, is played briefly with more and more connections,
until the server leaves next to nothing of its cores idle: then its own work is what an answer waits
for, and not the host's way to it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import astuple, replace

from dyno.errors import DynoError, InternalError
from dyno.experiment import Experiment, Workload
from dyno.play.job import TrialJob
from dyno.play.pilot_trial import (
    BRIEF,
    PilotScene,
    pilot_job,
    play_briefly,
    why_not_brief,
)
from dyno.play.run import temporary_run
from dyno.play.windows import tried_events
from dyno.probes import Measure, Probe, ProbeTarget
from dyno.probes._proc import process_family, threads_ns
from dyno.record import (
    IDLE_PERCENT,
    PhaseRecord,
    PinningCondition,
    Saturation,
    TriedLoad,
    WorkloadPlan,
)
from dyno.resolve.experiment import Prepared
from dyno.resolve.workloads import phases_under

#: Connections tried, until the server is saturated.
CONNECTIONS = (1, 2, 4, 8, 16, 32, 64)
THREADS = "threads"


def saturate(experiment: Experiment, prepared: Prepared, scene: PilotScene) -> list[Saturation]:
    """What was found of each workload whose script heeds `threads` that nobody has set."""
    run = prepared.run
    if any(side.embedded for side in run.candidates):
        return []
    found = []
    for chosen, workload in zip(experiment.workloads, run.workloads, strict=True):
        named = THREADS in workload.options or any(THREADS in v.options for v in workload.variants)
        one, two = (phases_under(chosen, {THREADS: count}) for count in ("1", "2"))
        if not named and one != two:
            found.append(_try_connections(prepared, chosen, workload, scene))
    return found


def _try_connections(
    prepared: Prepared, chosen: Workload, workload: WorkloadPlan, scene: PilotScene
) -> Saturation:
    base = next(c for c in prepared.run.candidates if c.name == prepared.run.design.base)
    if why := why_not_brief(prepared, phases_under(chosen, BRIEF), base):
        return Saturation(workload.name, base.name, 0, why=why)
    scene.say(f"finding how many connections keep {base.name} busy on {workload.name}")
    try:
        with temporary_run() as place, ExitStack() as stack:
            job = pilot_job(prepared, workload, base, place, scene.tools)
            probes: dict[str, Probe] = {**job.tools.probes, "waiting": _Waiting()}
            job = replace(job, tools=replace(job.tools, probes=probes))
            tried = tuple(_tried(prepared, job, stack))
    except InternalError:
        raise
    except DynoError as failed:
        return Saturation(workload.name, base.name, 0, why=f"it failed: {failed.message}")
    if not tried:
        return Saturation(workload.name, base.name, 0, why="its users rest between events")
    return Saturation(workload.name, base.name, fewest_connections(tried), tried)


def fewest_connections(tried: Sequence[TriedLoad]) -> int:
    """The fewest connections that saturate a server; where none does (it waits for a disk, for
    locks, for a slower client), the fewest that come within `IDLE_PERCENT` of the least idle.
    """
    enough = max(IDLE_PERCENT, min(each.idle_percent for each in tried) + IDLE_PERCENT)
    if any(each.idle_percent <= IDLE_PERCENT for each in tried):
        enough = IDLE_PERCENT
    return next(each.connections for each in tried if each.idle_percent <= enough)


def _tried(prepared: Prepared, job: TrialJob, stack: ExitStack) -> Iterator[TriedLoad]:
    """The server under more and more connections, until it is saturated; none of a workload whose
    users rest: how many of them there are is part of what it asks for.
    """
    every_options = ({THREADS: str(connections)} for connections in CONNECTIONS)
    with closing(play_briefly(prepared, job, every_options, stack)) as plays:
        for connections, played in zip(CONNECTIONS, plays, strict=False):
            if any(tally.rested_ns for each in played.records for tally in each.streams):
                break
            idle = idle_percent(played.records, played.pinning)
            foreign = foreign_percent(played.records)
            events = tried_events(played.records, played.resting_percent)
            yield TriedLoad(connections, idle, foreign, *astuple(events))
            if idle <= IDLE_PERCENT:
                break


class _Waiting:
    """Run-queue wait of a server's threads: others' work on its cores is no idleness of its own."""

    summary = "time in which a thread of the server stood ready and waited for a core"
    is_condition = True
    measures: tuple[Measure, ...] = (Measure("server_wait_ns", "ns", "lower", per_operation=False),)

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        """The sum over all threads, from proc_pid_schedstat(5); nothing where there is none."""
        family = process_family(watched.server_pid)
        waits = [waited for pid in family for _, waited in threads_ns(pid).values()]
        return {"server_wait_ns": float(sum(waits))} if waits else {}


def idle_percent(records: Sequence[PhaseRecord], pinning: PinningCondition | None) -> float:
    """What part of its cores a server left idle; where it shares them with the driver, what both
    left. At least 0: samples and phases do not end at once.

    Time in which others worked there while the server would have is not idle. What others took of
    all cores is taken to be spread evenly over them.
    """
    driver_cores, cores = (pinning.driver, pinning.engine) if pinning else ((), ())
    every = len(os.sched_getaffinity(0))
    count, sums = len(cores) or every, _sums(records)
    spent_ns = sums["server_cpu_us"] * 1e3
    if not cores or set(cores) & set(driver_cores):
        spent_ns += sum(p.usage.user_ns + p.usage.system_ns for p in records)
    foreign_ns = max(0.0, sums["busy_ns"] - sums["own_ns"]) * count / every
    spent_ns += min(foreign_ns, sums["server_wait_ns"])
    time_ns = count * sum(p.ended_ns - p.started_ns for p in records)
    return max(0.0, 100 * (1 - spent_ns / time_ns)) if time_ns else 100.0


def foreign_percent(records: Sequence[PhaseRecord]) -> float:
    """What others took of all cores' time, as in `analysis/host_noise.py`."""
    sums = _sums(records)
    total = sums["steal_ns"] + sums["busy_ns"] + sums["idle_ns"]
    return 100 * max(0.0, sums["busy_ns"] - sums["own_ns"]) / total if total else 0.0


def _sums(records: Sequence[PhaseRecord]) -> dict[str, float]:
    """What each reading gained over the records; 0 for one that is not there."""
    sums: dict[str, float] = defaultdict(float)
    for record in records:
        for reading in record.readings:
            sums[reading.name] += reading.value
    return sums
