"""The preparation of a comparison, and its pilot: where, how many and how long, chosen before the
first block.

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

from dyno.builds import Say
from dyno.compare.experiment import Workload
from dyno.compare.forecast.estimate import fit_budget
from dyno.compare.play.echo import UNIX, EchoEngine, echo_plan
from dyno.compare.play.pilot_trial import PilotScene, pilot_job
from dyno.compare.play.run import temporary_run
from dyno.compare.play.saturation import THREADS, saturate
from dyno.compare.play.trial import play_trial
from dyno.compare.play.windows import TriedEvents, choose_windows, settle_windows
from dyno.compare.resolve.experiment import Prepared, RunDraft
from dyno.compare.resolve.preconditions import check_disk_space, fit_memory
from dyno.compare.resolve.workloads import check_names, resolve_workload
from dyno.record import Candidate, Phase, Pilot, Saturation, WorkloadPlan

#: Together where an empty answer takes so many times as long apart.
APART_TIMES = 3.0
#: How long an empty answer is measured in each place, twice; of which the shorter counts.
EMPTY_S = 0.15
EMPTY_BYTES = 64
PINNING = "pinning"


def prepare(
    draft: RunDraft,
    say: Say,
    budget_s: float | None = None,
    known: Mapping[str, Sequence[TriedEvents]] | None = None,
) -> Prepared:
    """A resolved run as it is played: with the connections, the place and the windows that the
    pilot chose, as far as memory and the budget, where there is one, let it.

    `known` are events of each workload, where somebody has seen them already: connections then stay
    as they are, and nothing is tried for windows. `HostError` where disk or memory do not suffice,
    `UsageError` for a budget that no verdict comes within.
    """
    check_disk_space(draft)
    scene = PilotScene(say)
    if known is None and (found := saturate(draft, scene)):
        choose_connections(draft, found)
    settle_pinning(draft, scene)
    if known is None:
        settle_windows(draft, scene)
    else:
        choose_windows(draft, known)
    fit_memory(draft, say)
    if budget_s is not None:
        fit_budget(draft, budget_s)
    return draft.freeze()


# Where.


def settle_pinning(draft: RunDraft, scene: PilotScene) -> None:
    """Puts a place in the stead of `pinning=auto`, and notes why, where both were tried."""
    pinning, empty_ns = _choose_pinning(draft, scene)
    if not pinning:
        return

    def placed(controls: dict[str, str]) -> dict[str, str]:
        return controls | ({PINNING: pinning} if controls.get(PINNING) == "auto" else {})

    draft.design = replace(draft.design, controls=placed(draft.design.controls))
    draft.candidates = tuple(
        replace(side, controls=placed(side.controls)) for side in draft.candidates
    )
    if empty_ns:
        draft.pilot = replace(draft.pilot or Pilot(), pinning=pinning, empty_ns=empty_ns)


def _choose_pinning(draft: RunDraft, scene: PilotScene) -> tuple[str, dict[str, int]]:
    """The value in place of `auto`, empty where there is none, and the empty answers behind it."""
    sides = [side.controls.get(PINNING) for side in draft.candidates]
    values = [draft.design.controls.get(PINNING), *sides]
    if "auto" not in values:
        return "", {}
    if not _serves(draft) or not all(map(_is_one_client, _every_phase(draft.workloads))):
        return "apart", {}
    scene.say("trying an empty answer between two cores and on one")
    empty_ns = {
        where: ns for where in ("apart", "together") if (ns := _empty_ns(draft, where, scene))
    }
    return chosen_pinning(empty_ns), empty_ns if len(empty_ns) == 2 else {}


def chosen_pinning(empty_ns: Mapping[str, int]) -> str:
    """Together where an empty answer takes `APART_TIMES` as long apart; apart where either is not
    known.
    """
    apart, together = empty_ns.get("apart", 0), empty_ns.get("together", 0)
    return "together" if together and apart >= APART_TIMES * together else "apart"


def _serves(draft: RunDraft) -> bool:
    """Is every candidate a server that we start?"""
    sides, builds = draft.candidates, draft.builds
    return not any(side.embedded or builds[side.name].attached for side in sides)


def _every_phase(workloads: Sequence[WorkloadPlan]) -> Iterator[Phase]:
    for workload in workloads:
        yield from workload.phases
        for variant in workload.variants:
            yield from variant.phases


def _is_one_client(phase: Phase) -> bool:
    return not phase.paced and phase.connections == 1


def _empty_ns(draft: RunDraft, where: str, scene: PilotScene) -> int:
    """The median of an empty answer with driver and echo placed so; 0 where that is not possible,
    or another placement than asked for.
    """
    engine = EchoEngine()
    phases = [(f"try {n}", 1, EMPTY_BYTES, EMPTY_BYTES) for n in (1, 2)]
    side = Candidate("(echo)", "echo", "echo", False, {}, {}, {PINNING: where})
    with temporary_run() as place:
        job = pilot_job(draft, echo_plan("echo", phases, EMPTY_S), side, place, scene.tools)
        job = replace(job, engine=engine, build=engine.program(UNIX, {}, scene.say))
        trial, error = play_trial(job, lambda _: None)
    if isinstance(error, KeyboardInterrupt):
        raise error
    placed = trial.conditions.controls.get(PINNING)
    if error or placed is None or placed.set != where:
        return 0
    return min(p.streams[0].latency.percentiles_ns.get("50", 0) for p in trial.phases)


# How many.


def choose_connections(draft: RunDraft, found: Sequence[Saturation]) -> None:
    """Puts the workloads of `draft` under the connections that were chosen, and notes why; one that
    is swept stands there once for each number.
    """
    chosen = {each.workload: each for each in found if each.connections or each.swept}
    asked: list[Workload] = []
    plans: list[WorkloadPlan] = []
    for each, plan in zip(draft.experiment.workloads, draft.workloads, strict=True):
        under = list(under_connections(each, chosen[plan.name])) if plan.name in chosen else []
        asked += under or [each]
        plans += [resolve_workload(it, draft.experiment, draft.requests)[0] for it in under] or [
            plan
        ]
    check_names(plans)
    draft.experiment = replace(draft.experiment, workloads=tuple(asked))
    draft.workloads = tuple(plans)
    draft.pilot = Pilot(saturation=tuple(found))


def under_connections(workload: Workload, found: Saturation) -> Iterator[Workload]:
    """A workload under the number of connections that was chosen, or under each that it is swept
    over.
    """
    for count in found.swept or (found.connections,):
        named = {THREADS: str(count)}
        sweep = named if found.swept else {}
        yield replace(workload, options=workload.options | named, sweep=workload.sweep | sweep)
