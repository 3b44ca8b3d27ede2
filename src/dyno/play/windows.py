"""How long the windows of each workload are, by turns: chosen by a pilot, before the first block.

The shorter windows are, the more alike a host's ups and downs meet neighbours. An empty answer to
and fro on two virtual cores in the afternoon varied, in 10 s of windows by turns, by 0.6 to 1.1 %
with windows of 20 ms, 1.3 to 1.9 % with 100 ms, 2.4 to 5.6 % with 500 ms; blocks of PostgreSQL's
point select by 0.7 % with 20 ms, 1.1 % with 50 and 3.8 % with 100. But what is under way at a
window's end must end in its drain: what an engine waits for while it is frozen (a disk's flush)
costs it nothing. So a window is the shortest of which a quarter holds an event's p99 as its drain,
and every candidate is tried, since none may be slower than that: with windows of 5 ms, found on a
base that takes 1 ms, a candidate whose events wait 10 ms came to an end in none.
Twentieths, as they were first, made PostgreSQL's `oltp_read_write` by four clients play windows of
500 ms: blocks varied by 8 and 13 %, those of 50 and 100 ms in the same hour by 2.1 and 2.0 %.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace

from dyno.errors import DynoError, InternalError
from dyno.experiment import Experiment, Workload
from dyno.play.pilot_trial import (
    BRIEF,
    RUN,
    PilotScene,
    pilot_job,
    play_briefly,
    why_not_brief,
)
from dyno.play.run import temporary_run
from dyno.record import Candidate, PhaseRecord, Pilot, Run, Window, WorkloadPlan
from dyno.resolve.experiment import Prepared
from dyno.resolve.workloads import phases_under

#: Windows that can be chosen. Below 20 ms the switch itself (signals to every process of a server,
#: late by tenths of a millisecond) was the larger noise: 2.1 % at 10 ms.
WINDOWS_S = (0.02, 0.05, 0.1, 0.2, 0.5)
#: An embedded engine is one process with its driver, which one signal stops: its switch is cheap.
#: In one hour windows left 0.59 % in blocks of SQLite's point select at 20 ms, 0.47 % at 10 ms and
#: 0.36 % at 5 ms; in another hour 0.78 and 0.37 % (`bench/run resolution --windows 5,10,20`).
EMBEDDED_S = (0.005, 0.01, *WINDOWS_S)
#: What parts of a window its drain may be: nobody begins anything in it, so it costs time; and it
#: is where a server comes to rest.
LEAST_DRAINED, MOST_DRAINED = 1 / 20, 1 / 4
#: How briefly events are tried: a p99 wants a hundred of them, and a factor of 2.5 is a window's.
TRIED = {"time": "0.3", "warmup_time": "0.1"}


def settle_windows(experiment: Experiment, prepared: Prepared, scene: PilotScene) -> Prepared:
    """`prepared` with windows as long as each workload's events need, noted with their p99; as they
    were for those that could not be tried, and where there are no turns.
    """
    if prepared.run.design.turns is None:
        return prepared
    found_ns: dict[str, int] = {}
    for chosen, workload in zip(experiment.workloads, prepared.run.workloads, strict=True):
        known = _known_ns(prepared.run, workload)
        tried = _tried_ns(prepared, chosen, workload, known.keys(), scene)
        if longest_ns := max([*known.values(), *tried]):
            found_ns[workload.name] = longest_ns
    return with_windows(prepared, found_ns)


def with_windows(prepared: Prepared, latency_ns_p99: dict[str, int]) -> Prepared:
    """`prepared` with windows for events of that p99, by workload, and the figures noted in it."""
    run = prepared.run
    if (turns := run.design.turns) is None or not latency_ns_p99:
        return prepared
    embedded = all(side.embedded for side in run.candidates)
    windows = {name: window(ns, embedded) for name, ns in latency_ns_p99.items()}
    turns = replace(turns, windows=windows)
    pilot = replace(run.pilot or Pilot(), latency_ns_p99=latency_ns_p99)
    design = replace(run.design, turns=turns)
    return replace(prepared, run=replace(run, design=design, pilot=pilot))


def window(latency_ns_p99: int, embedded: bool) -> Window:
    """The shortest window whose drain holds an event; the longest where none does."""
    latency_s, lengths_s = latency_ns_p99 / 1e9, EMBEDDED_S if embedded else WINDOWS_S
    enough = (each for each in lengths_s if each * MOST_DRAINED >= latency_s)
    length_s = next(enough, WINDOWS_S[-1])
    drain_s = min(max(latency_s, length_s * LEAST_DRAINED), length_s * MOST_DRAINED)
    return Window(length_s, drain_s)


def latency_ns_p99(records: Sequence[PhaseRecord]) -> int:
    """The longest p99 of any stream in any phase; 0 where nothing was done."""
    return max(
        (stream.latency.percentiles_ns.get("99", 0) for r in records for stream in r.streams),
        default=0,
    )


def _known_ns(run: Run, workload: WorkloadPlan) -> dict[str, int]:
    """What the search for saturation has seen of the workload, with the connections chosen, by the
    candidate that it tried.
    """
    every = run.pilot.saturation if run.pilot else ()
    found = (each for each in every if each.workload == workload.name and each.connections)
    return {each.base: each.chosen.latency_ns_p99 for each in found}


def _tried_ns(
    prepared: Prepared,
    chosen: Workload,
    workload: WorkloadPlan,
    known: Collection[str],
    scene: PilotScene,
) -> list[int]:
    """What a brief play of each candidate shows of whom nothing is known; [0] where there can be
    none, or it fails.
    """
    run = prepared.run
    same = {run.design.base} if run.design.aa else {side.name for side in run.candidates}
    sides = [side for side in run.candidates if side.name in same.difference(known)]
    brief = phases_under(chosen, BRIEF)
    if RUN not in workload.commands or any(why_not_brief(prepared, brief, c) for c in sides):
        return [0]
    names = ", ".join(side.name for side in sides)
    if sides:
        scene.say(f"finding how long an event of {workload.name} takes on {names}")
    return [_brief_ns(prepared, workload, side, scene) for side in sides]


def _brief_ns(
    prepared: Prepared, workload: WorkloadPlan, side: Candidate, scene: PilotScene
) -> int:
    """The p99 in a brief play of one candidate; 0 where it fails."""
    try:
        with temporary_run() as place, ExitStack() as stack:
            job = pilot_job(prepared, workload, side, place, scene.tools)
            with closing(play_briefly(prepared, job, [TRIED], stack)) as plays:
                return max(latency_ns_p99(played.records) for played in plays)
    except InternalError:
        raise
    except DynoError:
        return 0
