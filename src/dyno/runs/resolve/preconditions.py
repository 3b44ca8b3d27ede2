"""What a run needs before it is played: disk for its data, memory for its engines, and of servers
that run already, empty databases and enough connections; and what client hosts can play.

Interleaved trials are all up together: what each engine takes by its settings, and an allowance
for its driver, is held against the memory that is available. Where that does not fit, restarts are
played one after the other, or refused where the user insists on turns.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from dyno import driver, scratch
from dyno.builds import Build, Say, cache
from dyno.driver.plan import LoadShare, Plan, Script
from dyno.engines import Attaches, Engine, HoldsMemory, LimitsConnections, Outgrows
from dyno.errors import HostError, UsageError
from dyno.host.checks import Machine
from dyno.host.checks.memory import measure_available_bytes
from dyno.record import Candidate, WorkloadPlan
from dyno.record.profile import CpuSampling
from dyno.runs.resolve.design import SMALL_BYTES, TURNS_ASKED, with_interleaving
from dyno.runs.resolve.draft import MemoryAtOnce, Prepared, RunDraft
from dyno.runs.run_folder import RunFolder, make_run_to_come

#: What a driver takes, and each of its users: Lua state, histograms, answers. An allowance; a
#: script may hold more, up to its option `estimate_memory_bytes`.
DRIVER_BYTES, USER_BYTES = 32 << 20, 2 << 20
#: Engines may take so much of what is available: the rest is the page cache's and others'.
SHARE = 0.9
#: Free space asked for beside the data: journals, temporary files, the records themselves.
SPARE_BYTES = 64 << 20
#: No server lets in fewer connections by default, so none is asked.
ALWAYS_LET_IN = 90


def check_disk_space(prepared: Prepared | RunDraft) -> None:
    """`HostError` where a run that has no folder yet would not fit where runs lie."""
    check_folder_space(make_run_to_come(), prepared)


def check_folder_space(folder: RunFolder, prepared: Prepared | RunDraft) -> None:
    """`HostError` where the data of `folder`'s run would not fit; `UsageError` for a limit of the
    cache that is none, which loads would come upon late, and a `$DYNO_TMP` that takes no data.
    """
    cache.read_limit_bytes()
    scratch.find_temporary_folder()
    there = next(path for path in folder.find_homes().parents if path.exists())
    needed_bytes, free_bytes = compute_disk_bytes(prepared), shutil.disk_usage(there).free
    if free_bytes < needed_bytes:
        raise HostError(
            f"{there} has {free_bytes >> 20} MB free, and the run needs {needed_bytes >> 20} MB",
            hint="free some (dyno clean), or set $DYNO_TMP to another file system",
        )


def compute_disk_bytes(prepared: Prepared | RunDraft) -> int:
    """Free space that a run needs: a trial's home, of those that are interleaved all, and as much
    for the copies of loads where they are kept.
    """
    homes = [_estimate_home_bytes(side, prepared) for side in prepared.candidates]
    loads = prepared.design.loads
    kept = prepared.size_bytes > SMALL_BYTES if loads is None else loads > 0
    at_once = sum(homes) if prepared.design.interleaving else max(homes)
    return (2 if kept else 1) * at_once + SPARE_BYTES


def _estimate_home_bytes(side: Candidate, prepared: Prepared | RunDraft) -> int:
    """Disk for the data by the engine's own word, else twice their size (a vacuum copies them)."""
    engine = prepared.engines.get(side.name)
    if isinstance(engine, Outgrows):
        return engine.estimate_disk_bytes(prepared.size_bytes, side.settings)
    return 2 * prepared.size_bytes


def fit_memory(draft: RunDraft, say: Say, machine: Machine | None = None) -> None:
    """Notes what the engines of `draft` take at once; takes its turns away where that does not fit,
    which is said, or `HostError` where the user asked for turns.
    """
    if draft.design.interleaving is None:
        return
    found, measuring = (
        estimate_memory_at_once(draft, machine or Machine()),
        draft.experiment.measuring,
    )
    if found is None or found.fits:
        draft.memory = found
        return
    if measuring.sequential is False:
        raise _build_lack_error(found)
    say(f"restarts are played one after the other, not interleaved: {found.too_much}")
    draft.change(design=with_interleaving(draft.design, measuring, None))


def check_memory(prepared: Prepared, machine: Machine | None = None) -> None:
    """`HostError` where an interleaved run, begun some time ago, has no room any more."""
    if prepared.design.interleaving is not None:
        found = estimate_memory_at_once(prepared, machine or Machine())
        if found is not None and not found.fits:
            raise _build_lack_error(found)


def _build_lack_error(found: MemoryAtOnce) -> HostError:
    hint = f"free some, give the engines smaller caches, or leave out {TURNS_ASKED}"
    return HostError("restarts cannot be interleaved", cause=found.too_much, hint=hint)


def estimate_memory_at_once(prepared: Prepared | RunDraft, machine: Machine) -> MemoryAtOnce | None:
    """What all engines take together; None where the host does not say what it has."""
    available = measure_available_bytes(machine)
    if available is None:
        return None
    sides = prepared.candidates
    needed = sum(_estimate_memory_bytes(side, prepared) for side in sides)
    return MemoryAtOnce(len(sides), needed, available, round(SHARE * available))


def _estimate_memory_bytes(side: Candidate, prepared: Prepared | RunDraft) -> int:
    """A candidate's engine with its driver; a server that runs already has what it takes."""
    engine, build = prepared.engines[side.name], prepared.builds[side.name]
    connections = max(
        plan.with_options(side.options).most_connections for plan in prepared.workloads
    )
    own = 0
    if isinstance(engine, HoldsMemory) and not build.attached:
        own = engine.estimate_memory_bytes(build, side.settings, connections)
    return own + DRIVER_BYTES + connections * USER_BYTES


def check_empty(prepared: Prepared | RunDraft) -> None:
    """`UsageError` where a script of it would load beside the user's tables."""
    found = ((prepared.engines[name], build) for name, build in prepared.builds.items())
    check_no_tables(found, prepared.workloads)


def check_connections(prepared: Prepared | RunDraft) -> None:
    """`UsageError` where a workload wants more connections than a server lets in."""
    wanted, workload = max((plan.most_connections, plan.name) for plan in prepared.workloads)
    for side in prepared.candidates if wanted > ALWAYS_LET_IN else ():
        engine, build = prepared.engines[side.name], prepared.builds[side.name]
        if isinstance(engine, LimitsConnections):
            most = engine.find_most_connections(build, side.settings)
            if wanted > most:
                cause = f"{side.name} lets in {most:,} (max_connections)"
                hint = "raise that setting (…?max_connections=N), or play fewer at once"
                raise UsageError(f"{workload} opens {wanted:,} connections", cause=cause, hint=hint)


def check_no_tables(
    sides: Iterable[tuple[Engine, Build]], workloads: Sequence[WorkloadPlan]
) -> None:
    """`UsageError` where a script would load data beside the user's tables.

    After each trial the script's `cleanup` drops its tables, and a script may well load into, and
    drop, what was there before. One that loads nothing drops nothing either.
    """
    loading = [plan.name for plan in workloads if "prepare" in plan.commands]
    for engine, build in sides if loading else ():
        if not build.attached or not isinstance(engine, Attaches):
            continue
        if tables := engine.list_tables(build):
            cause = f"{loading[0]} loads its own tables and drops them, and {tables[0]} is there"
            hint = "name a database made for this; drop what a torn run left in it"
            raise UsageError(f"the database at {build.name} is not empty", cause=cause, hint=hint)


PINNING, OFF = "pinning", "off"
_NOTHING = {"kind": "null", "delay_ns": 0}
NOT_ONE = "several client hosts play the load, and the engine lives in each of their drivers"


def settle_for_clients(draft: RunDraft, hosts: int) -> None:
    """Refuses what cannot be played from client hosts, and leaves alone what is of one driver:
    its place on cores of Dyno's own host, engines that stand still, samples of its process.

    `UsageError` for an engine in the driver's process, a server that only this machine reaches, a
    place for the driver that was asked for, and phases whose users share something.
    """
    for side in draft.candidates:
        _check_candidate(side, draft)
    for controls in (draft.design.controls, *(side.controls for side in draft.candidates)):
        _check_pinning(controls.get(PINNING, OFF))
    _check_phases(draft, hosts)
    design = draft.design
    turns = design.interleaving and replace(design.interleaving, frozen=False)
    apart = replace(design, interleaving=turns, controls=design.controls | {PINNING: OFF})
    draft.change(design=apart)
    if any(side.embedded for side in draft.candidates):
        draft.change(cpu_sampling=CpuSampling(NOT_ONE))


def _check_candidate(side: Candidate, draft: RunDraft) -> None:
    if side.engine == "null":
        return
    if side.embedded:
        raise UsageError(
            f"{side.name} cannot be played from client hosts",
            cause=f"{side.engine} lives in the driver's process, and so on one host",
            hint="leave out --client-hosts",
        )
    if not draft.builds[side.name].attached:
        raise UsageError(
            f"{side.name} cannot be played from client hosts",
            cause="a server that Dyno starts listens on this machine only",
            hint="start it yourself where the hosts reach it, and name it by its URL",
        )


def _check_pinning(value: str) -> None:
    if value not in (OFF, "auto"):
        raise UsageError(
            f"pinning={value} and --client-hosts contradict each other",
            cause="the driver works on the client hosts, and takes all their cores",
            hint="leave out pinning",
        )


def _check_phases(draft: RunDraft, hosts: int) -> None:
    """The driver says itself which phases several cannot play."""
    share = LoadShare(0, hosts)
    for workload in draft.workloads:
        for options in ({}, *(each.options for each in workload.variants)):
            script = Script(workload.script, workload.options | options)
            driver.describe(Plan(_NOTHING, script, seed=0, client=share))
