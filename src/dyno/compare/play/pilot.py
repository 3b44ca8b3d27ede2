"""The pilot of a comparison: where, how many and how long, chosen before the first block.

- **How many.** Where the user names no `threads`, a script that heeds them is played with the
  fewest connections at which the base's server leaves next to nothing of its cores idle: then its
  own work is what an answer waits for. Where one client waits for the disk, there is no such
  number, and the workload is swept over `SWEPT`.
- **Where.** Where one client waits for each answer, `pinning=auto` puts driver and server on one
  core if waking each other up across two takes three times as long.
- **How long.** The windows of candidates that take turns (`windows.py`).

All are fixed in `run.json`, the same for all candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dyno.compare.experiment import Experiment, Workload
from dyno.compare.play.echo import UNIX, EchoEngine, echo_plan
from dyno.compare.play.pilot_trial import PilotScene, pilot_job
from dyno.compare.play.run import temporary_run
from dyno.compare.play.saturation import THREADS, saturate
from dyno.compare.play.trial import play_trial
from dyno.compare.play.windows import settle_windows
from dyno.compare.resolve.candidates import resolve_factors, with_base_options
from dyno.compare.resolve.experiment import Prepared
from dyno.compare.resolve.workloads import resolve_workloads
from dyno.record import (
    Candidate,
    Phase,
    Pilot,
    Run,
    Saturation,
)

#: Together where an empty answer takes so many times as long apart.
APART_TIMES = 3.0
#: How long an empty answer is measured in each place, twice; of which the shorter counts.
EMPTY_S = 0.15
EMPTY_BYTES = 64
PINNING = "pinning"


def play_pilot(experiment: Experiment, prepared: Prepared, scene: PilotScene) -> Prepared:
    """`prepared` with connections, pinning and windows as the pilot chose them, noted in its run.

    As it was where there is nothing to choose.
    """
    if found := saturate(experiment, prepared, scene):
        experiment, prepared = with_connections(experiment, prepared, found)
        pilot = Pilot(saturation=tuple(found))
        prepared = replace(prepared, run=replace(prepared.run, pilot=pilot))
    return settle_windows(experiment, settle_pinning(prepared, scene), scene)


# Where.


def settle_pinning(prepared: Prepared, scene: PilotScene) -> Prepared:
    """`prepared` with a place in the stead of `pinning=auto`, and why, where both were tried."""
    pinning, empty_ns = _choose_pinning(prepared, scene)
    if not pinning:
        return prepared
    run = _with_pinning(prepared.run, pinning)
    if empty_ns:
        pilot = replace(run.pilot or Pilot(), pinning=pinning, empty_ns=empty_ns)
        run = replace(run, pilot=pilot)
    return replace(prepared, run=run)


def _choose_pinning(prepared: Prepared, scene: PilotScene) -> tuple[str, dict[str, int]]:
    """The value in place of `auto`, empty where there is none, and the empty answers behind it."""
    run = prepared.run
    values = [run.design.controls.get(PINNING), *(c.controls.get(PINNING) for c in run.candidates)]
    if "auto" not in values:
        return "", {}
    if not _serves(prepared) or not all(map(_is_one_client, _every_phase(run))):
        return "apart", {}
    scene.say("trying an empty answer between two cores and on one")
    empty_ns = {
        where: ns for where in ("apart", "together") if (ns := _empty_ns(prepared, where, scene))
    }
    return chosen_pinning(empty_ns), empty_ns if len(empty_ns) == 2 else {}


def chosen_pinning(empty_ns: Mapping[str, int]) -> str:
    """Together where an empty answer takes `APART_TIMES` as long apart; apart where either is not
    known.
    """
    apart, together = empty_ns.get("apart", 0), empty_ns.get("together", 0)
    return "together" if together and apart >= APART_TIMES * together else "apart"


def _serves(prepared: Prepared) -> bool:
    """Is every candidate a server that we start?"""
    run, builds = prepared.run, prepared.builds
    return not any(side.embedded or builds[side.name].attached for side in run.candidates)


def _every_phase(run: Run) -> Iterator[Phase]:
    for workload in run.workloads:
        yield from workload.phases
        for variant in workload.variants:
            yield from variant.phases


def _is_one_client(phase: Phase) -> bool:
    return not phase.paced and phase.connections == 1


def _empty_ns(prepared: Prepared, where: str, scene: PilotScene) -> int:
    """The median of an empty answer with driver and echo placed so; 0 where that is not possible,
    or another placement than asked for.
    """
    engine = EchoEngine()
    phases = [(f"try {n}", 1, EMPTY_BYTES, EMPTY_BYTES) for n in (1, 2)]
    side = Candidate("(echo)", "echo", "echo", False, {}, {}, {PINNING: where})
    with temporary_run() as place:
        job = pilot_job(prepared, echo_plan("echo", phases, EMPTY_S), side, place, scene.tools)
        job = replace(job, engine=engine, build=engine.program(UNIX, {}, scene.say))
        trial, error = play_trial(job, lambda _: None)
    if isinstance(error, KeyboardInterrupt):
        raise error
    placed = trial.conditions.controls.get(PINNING)
    if error or placed is None or placed.set != where:
        return 0
    return min(p.streams[0].latency.percentiles_ns.get("50", 0) for p in trial.phases)


def _with_pinning(run: Run, value: str) -> Run:
    """The run with `value` wherever it says `auto`."""

    def chosen(controls: dict[str, str]) -> dict[str, str]:
        return controls | ({PINNING: value} if controls.get(PINNING) == "auto" else {})

    design = replace(run.design, controls=chosen(run.design.controls))
    sides = (replace(side, controls=chosen(side.controls)) for side in run.candidates)
    return replace(run, design=design, candidates=tuple(sides))


# How many.


def with_connections(
    experiment: Experiment, prepared: Prepared, found: Sequence[Saturation]
) -> tuple[Experiment, Prepared]:
    """Both with their workloads under the connections that were chosen, resolved anew; one that is
    swept stands there once for each number.
    """
    chosen = {each.workload: each for each in found if each.connections or each.swept}
    if not chosen:
        return experiment, prepared
    workloads = [
        under
        for each, plan in zip(experiment.workloads, prepared.run.workloads, strict=True)
        for under in under_connections(each, chosen.get(plan.name))
    ]
    experiment = replace(experiment, workloads=tuple(workloads))
    crossed, requests = resolve_factors(experiment)
    anew = with_base_options(experiment, crossed)
    plans = tuple(plan for plan, _ in resolve_workloads(anew, requests))
    return experiment, replace(prepared, run=replace(prepared.run, workloads=plans))


def under_connections(workload: Workload, found: Saturation | None) -> Iterator[Workload]:
    """A workload under the number of connections that was chosen, or under each that it is swept
    over; as it is where neither was found.
    """
    swept = found.swept if found else ()
    for count in swept:
        named = {THREADS: str(count)}
        yield replace(workload, options=workload.options | named, sweep=workload.sweep | named)
    if not swept:
        chosen = {THREADS: str(found.connections)} if found else {}
        yield replace(workload, options=workload.options | chosen)
