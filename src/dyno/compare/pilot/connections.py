"""How many connections keep a server busy: the part of a comparison's pilot that finds it.

One start of the base, on one load of its data, is played briefly with more and more connections,
until the server leaves next to nothing of its cores idle: then its own work is what an answer waits
for, and not the host's way to it.

A workload that waits for the disk is none of these: one client leaves the cores idle while its
commit is flushed, and many share a flush. There is no number at which its server is busy, and what
one client sees says little of many (docs/evidence/saturation.md). It is swept over several numbers,
each with a verdict of its own.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dyno.compare.pilot.slices import summarize_events
from dyno.errors import DynoError, InternalError
from dyno.host.probes import Measure, ProbeTarget
from dyno.host.processes import list_process_family, read_text, read_threads_ns, read_unless_refused
from dyno.instruments.time.brief_play import (
    BRIEF,
    PilotContext,
    explain_not_brief,
    open_engine,
)
from dyno.judge.analysis.blocks import compute_foreign_ns, compute_shares
from dyno.record import (
    IDLE_PERCENT,
    SWEPT,
    Candidate,
    PhaseRecord,
    Pilot,
    PinningCondition,
    Saturation,
    TriedLoad,
    WorkloadPlan,
)
from dyno.runs.experiment import Workload
from dyno.runs.resolve.draft import RunDraft
from dyno.runs.resolve.workloads import check_names, find_phases_under, resolve_workload

#: Connections tried, until the server is saturated.
CONNECTIONS = (1, 2, 4, 8, 16, 32, 64)
THREADS = "threads"
#: So often a number is tried where others worked meanwhile.
TRIES = 3
#: What the kernel says of time in which some task, or every one, waited for a disk (PSI).
DISKS = Path("/proc/pressure/io")
PRESSURE = re.compile(r"some .* total=(\d+)\n(?:.*\n)*")


def saturate(draft: RunDraft, context: PilotContext) -> list[Saturation]:
    """What was found of each workload whose script heeds `threads` that nobody has set."""
    if any(side.embedded for side in draft.candidates):
        return []
    found = []
    for chosen, workload in zip(draft.experiment.workloads, draft.workloads, strict=True):
        named = THREADS in workload.options or any(THREADS in v.options for v in workload.variants)
        one, two = (find_phases_under(chosen, {THREADS: count}) for count in ("1", "2"))
        if not named and one != two:
            found.append(_try_connections(draft, chosen, workload, context))
    return found


def choose_connections(draft: RunDraft, found: Sequence[Saturation]) -> None:
    """Puts the workloads of `draft` under the connections that were chosen, and notes why; one that
    is swept stands there once for each number.
    """
    chosen = {each.workload: each for each in found if each.connections or each.swept}
    asked: list[Workload] = []
    plans: list[WorkloadPlan] = []
    for each, plan in zip(draft.experiment.workloads, draft.workloads, strict=True):
        under = list(apply_connections(each, chosen[plan.name])) if plan.name in chosen else []
        asked += under or [each]
        plans += [resolve_workload(it, draft.experiment, draft.requests)[0] for it in under] or [
            plan
        ]
    check_names(plans)
    draft.experiment = replace(draft.experiment, workloads=tuple(asked))
    draft.change(workloads=tuple(plans), pilot=Pilot(saturation=tuple(found)))


def apply_connections(workload: Workload, found: Saturation) -> Iterator[Workload]:
    """A workload under the number of connections that was chosen, or under each that it is swept
    over.
    """
    for count in found.swept or (found.connections,):
        named = {THREADS: str(count)}
        sweep = named if found.swept else {}
        yield replace(workload, options=workload.options | named, sweep=workload.sweep | sweep)


def _try_connections(
    draft: RunDraft, chosen: Workload, workload: WorkloadPlan, context: PilotContext
) -> Saturation:
    base = next(c for c in draft.candidates if c.name == draft.design.base)
    if why := explain_not_brief(draft, find_phases_under(chosen, BRIEF), base):
        return Saturation(workload.name, base.name, 0, why=why)
    context.say(f"finding how many connections keep {base.name} busy on {workload.name}")
    try:
        tried = _try_loads(draft, workload, base, CONNECTIONS, context)
        if not tried:
            return Saturation(workload.name, base.name, 0, why="its users rest between events")
        if waits := _find_waiting(draft, workload, base, tried, context):
            why = f"{waits} waits for the disk"
            return Saturation(workload.name, base.name, 0, tried, why, SWEPT)
    except InternalError:
        raise
    except DynoError as failed:
        if failed.is_never_understood:
            raise  # and so would every trial
        return Saturation(workload.name, base.name, 0, why=f"it failed: {failed.message}")
    return Saturation(workload.name, base.name, choose_fewest_connections(tried), tried)


def _find_waiting(
    draft: RunDraft,
    workload: WorkloadPlan,
    base: Candidate,
    tried: Sequence[TriedLoad],
    context: PilotContext,
) -> str:
    """The first candidate whose only client waits for the disk; empty where none does. The others
    are tried where the workload changes rows: each has its own way to commit.
    """
    if tried[0].waits_for_disk:
        return base.name
    if draft.design.aa or not any(each.rows_changed for each in tried):
        return ""
    for side in draft.candidates:
        if side.name != base.name and not draft.builds[side.name].attached:
            context.say(f"finding whether {side.name} waits for the disk on {workload.name}")
            own = _try_loads(draft, workload, side, CONNECTIONS[:1], context)
            if own and own[0].waits_for_disk:
                return side.name
    return ""


def _try_loads(
    draft: RunDraft,
    workload: WorkloadPlan,
    side: Candidate,
    numbers: Sequence[int],
    context: PilotContext,
) -> tuple[TriedLoad, ...]:
    """A candidate under these numbers of connections, until it is saturated; none of a workload
    whose users rest: how many of them there are is part of what it asks for. A number is tried up
    to `TRIES` times while others work, and the quietest time counts.
    """
    found: dict[int, TriedLoad] = {}
    with open_engine(draft, workload, side, context.tools, {"waiting": _Waiting()}) as opened:
        for connections in numbers:
            for _ in range(TRIES):
                played = opened.play_briefly({THREADS: str(connections)})
                if any(tally.rested_ns for each in played.records for tally in each.streams):
                    return tuple(found.values())
                load = summarize_load(
                    connections, played.records, played.pinning, played.resting_percent
                )
                quietest = found.get(connections, load)
                if load.foreign_percent <= quietest.foreign_percent:
                    found[connections] = load
                if found[connections].is_relied_on:
                    break
            if found[connections].idle_percent <= IDLE_PERCENT:
                break
    return tuple(found.values())


def choose_fewest_connections(tried: Sequence[TriedLoad]) -> int:
    """The fewest connections that saturate a server; where none does (it waits for a disk, for
    locks, for a slower client), the fewest that come within `IDLE_PERCENT` of the least idle.
    """
    enough = max(IDLE_PERCENT, min(each.idle_percent for each in tried) + IDLE_PERCENT)
    if any(each.idle_percent <= IDLE_PERCENT for each in tried):
        enough = IDLE_PERCENT
    return next(each.connections for each in tried if each.idle_percent <= enough)


def summarize_load(
    connections: int,
    records: Sequence[PhaseRecord],
    pinning: PinningCondition | None,
    resting_percent: float = 0.0,
) -> TriedLoad:
    """What phases that were played with so many connections show of the server."""
    sums, events = _sum_gains(records), summarize_events(records, resting_percent)
    done = sum(tally.done for record in records for tally in record.streams)
    played = sum(t.done + t.failed + t.warmup for record in records for t in record.streams)
    measured_s = sum(record.duration_s for record in records)
    time_ns = sum(record.ended_ns - record.started_ns for record in records)
    waited_ns = sums.get("disk_wait_ns")
    return TriedLoad(
        connections=connections,
        idle_percent=compute_idle_percent(records, pinning),
        foreign_percent=compute_shares(sums).get("foreign_percent", 0.0),
        latency_ns_p99=events.latency_ns_p99,
        rows_changed=events.rows_changed,
        resting_percent=events.resting_percent,
        rate_per_s=done / measured_s if measured_s else 0.0,
        written_bytes_per_event=sums["written_bytes"] / played if played else 0.0,
        disk_wait_percent=None if waited_ns is None or not time_ns else 100 * waited_ns / time_ns,
    )


class _Waiting:
    """Run-queue wait of a server's threads: others' work on its cores is no idleness of its own.
    And the time in which a task of the host waited for a disk, as a commit does.
    """

    summary = (
        "time in which a thread of the server waited for a core, and one of the host for a disk"
    )
    is_condition = True
    measures: tuple[Measure, ...] = (
        Measure("server_wait_ns", "ns", "lower", per_operation=False),
        Measure("disk_wait_ns", "ns", "lower", per_operation=False),
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        """The sum over all threads, from proc_pid_schedstat(5), and the kernel's PSI of disks;
        nothing where there is none.
        """
        found = read_unless_refused(lambda: _read_server_wait(watched))
        return found | read_unless_refused(_read_disk_wait)


def _read_server_wait(watched: ProbeTarget) -> dict[str, float]:
    family = list_process_family(watched.server_pid)
    waits = [waited for pid in family for _, waited in read_threads_ns(pid).values()]
    return {"server_wait_ns": float(sum(waits))} if waits else {}


def _read_disk_wait() -> dict[str, float]:
    stalled = PRESSURE.fullmatch(read_text(DISKS))
    return {"disk_wait_ns": 1e3 * int(stalled[1])} if stalled else {}


def compute_idle_percent(records: Sequence[PhaseRecord], pinning: PinningCondition | None) -> float:
    """What part of its cores a server left idle; where it shares them with the driver, what both
    left. At least 0: samples and phases do not end at once.

    Time in which others worked there while the server would have is not idle. What others took of
    the cores that both may use (of all, where they are not placed) is taken to be spread evenly.
    """
    driver_cores, cores = (pinning.driver, pinning.engine) if pinning else ((), ())
    every = len(os.sched_getaffinity(0))
    count, sums = len(cores) or every, _sum_gains(records)
    spent_ns = sums["server_cpu_us"] * 1e3
    if not cores or set(cores) & set(driver_cores):
        spent_ns += sum(p.usage.user_ns + p.usage.system_ns for p in records)
    shared = len(pinning.both) if pinning and "placed_total_ns" in sums else every
    spent_ns += min(compute_foreign_ns(sums) * count / shared, sums["server_wait_ns"])
    time_ns = count * sum(p.ended_ns - p.started_ns for p in records)
    return max(0.0, 100 * (1 - spent_ns / time_ns)) if time_ns else 100.0


def _sum_gains(records: Sequence[PhaseRecord]) -> dict[str, float]:
    """What each reading gained over the records; 0 for one that is not there."""
    sums: dict[str, float] = defaultdict(float)
    for record in records:
        for reading in record.readings:
            sums[reading.name] += reading.value
    return sums
