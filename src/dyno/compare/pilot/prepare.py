"""The one preparation of a run: what it needs is looked for, and what its pilot finds is chosen.

- **How many** connections: `connections.py`.
- **Where** driver and server run: one core for both where one client waits for each answer, and
  waking each other up across two takes three times as long; else cores of their own.
- **How long** the slices are of candidates that are interleaved: `slices.py`.

All are fixed in `run.json`, the same for all candidates. Of a share only the slices are tried on
its host: another number of connections, or another place, would be another question on each host.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from dyno.builds import Say
from dyno.compare.pilot.connections import choose_connections, saturate
from dyno.compare.pilot.slices import TriedEvents, choose_slices, settle_slices
from dyno.instruments.time.brief_play import PilotContext, make_pilot_job
from dyno.instruments.time.echo import UNIX, EchoEngine, make_echo_plan
from dyno.instruments.time.run import make_temporary_run
from dyno.instruments.time.trial import play_trial
from dyno.record import Candidate, Phase, Pilot, WorkloadPlan
from dyno.runs.forecast.estimate import fit_budget
from dyno.runs.resolve.draft import Prepared, RunDraft
from dyno.runs.resolve.preconditions import (
    check_connections,
    check_disk_space,
    check_empty,
    fit_memory,
)


def prepare(
    draft: RunDraft,
    say: Say,
    budget_s: float | None = None,
    known: Mapping[str, Sequence[TriedEvents]] | None = None,
) -> Prepared:
    """A resolved run as it is played: with the connections, the place and the slices that the
    pilot chose, as far as memory and the budget, where there is one, let it.

    `known` are events of each workload, where somebody has seen them already: connections then stay
    as they are, and nothing is tried for slices. `HostError` where disk or memory do not suffice,
    `UsageError` for a budget that no verdict comes within, a database that holds somebody's tables,
    and more connections than a server lets in: each before the pilot plays anything.
    """
    check_empty(draft)
    check_connections(draft)
    check_disk_space(draft)
    context = PilotContext(say)
    if known is None and not draft.run.share and (found := saturate(draft, context)):
        choose_connections(draft, found)
    settle_pinning(draft, context)
    if known is None:
        settle_slices(draft, context)
    else:
        choose_slices(draft, known)
    fit_memory(draft, say)
    if budget_s is not None:
        fit_budget(draft, budget_s)
    return draft


#: Together where an empty answer takes so many times as long apart.
APART_TIMES = 3.0
#: How long an empty answer is measured in each place, twice; of which the shorter counts.
EMPTY_S = 0.15
EMPTY_BYTES = 64
PINNING = "pinning"


def settle_pinning(draft: RunDraft, context: PilotContext) -> None:
    """Puts a place in the stead of `pinning=auto`, and notes why, where both were tried."""
    pinning, empty_ns = _choose_pinning(draft, context)
    if not pinning:
        return

    def replace_auto(controls: dict[str, str]) -> dict[str, str]:
        return controls | ({PINNING: pinning} if controls.get(PINNING) == "auto" else {})

    draft.change(
        design=replace(draft.design, controls=replace_auto(draft.design.controls)),
        candidates=tuple(
            replace(side, controls=replace_auto(side.controls)) for side in draft.candidates
        ),
    )
    if empty_ns:
        pilot = draft.run.pilot or Pilot()
        draft.change(pilot=replace(pilot, pinning=pinning, empty_ns=empty_ns))


def _choose_pinning(draft: RunDraft, context: PilotContext) -> tuple[str, dict[str, int]]:
    """The value in place of `auto`, empty where there is none, and the empty answers behind it."""
    sides = [side.controls.get(PINNING) for side in draft.candidates]
    values = [draft.design.controls.get(PINNING), *sides]
    if "auto" not in values:
        return "", {}
    one_client = all(map(_is_one_client, _iterate_phases(draft.workloads)))
    if draft.run.share or not one_client or not _are_all_servers(draft):
        return "apart", {}
    context.say("measuring a round trip between two cores and on one core")
    empty_ns = {
        where: ns
        for where in ("apart", "together")
        if (ns := _measure_empty_ns(draft, where, context))
    }
    return choose_pinning(empty_ns), empty_ns if len(empty_ns) == 2 else {}


def choose_pinning(empty_ns: Mapping[str, int]) -> str:
    """Together where an empty answer takes `APART_TIMES` as long apart; apart where either is not
    known.
    """
    apart, together = empty_ns.get("apart", 0), empty_ns.get("together", 0)
    return "together" if together and apart >= APART_TIMES * together else "apart"


def _are_all_servers(draft: RunDraft) -> bool:
    """Is every candidate a server that we start?"""
    sides, builds = draft.candidates, draft.builds
    return not any(side.embedded or builds[side.name].attached for side in sides)


def _iterate_phases(workloads: Sequence[WorkloadPlan]) -> Iterator[Phase]:
    for workload in workloads:
        yield from workload.phases
        for variant in workload.variants:
            yield from variant.phases


def _is_one_client(phase: Phase) -> bool:
    return not phase.paced and phase.connections == 1


def _measure_empty_ns(draft: RunDraft, where: str, context: PilotContext) -> int:
    """The median of an empty answer with driver and echo placed so; 0 where that is not possible,
    or another placement than asked for.
    """
    engine = EchoEngine()
    phases = [(f"try {n}", 1, EMPTY_BYTES, EMPTY_BYTES) for n in (1, 2)]
    side = Candidate("(echo)", "echo", "echo", False, {}, {}, {PINNING: where})
    with make_temporary_run() as place:
        job = make_pilot_job(
            draft, make_echo_plan("echo", phases, EMPTY_S), side, place, context.tools
        )
        job = dataclasses.replace(job, engine=engine, build=engine.program(UNIX, {}, context.say))
        trial, error = play_trial(job, lambda _: None)
    if isinstance(error, KeyboardInterrupt):
        raise error
    placed = trial.conditions.controls.get(PINNING)
    if error or placed is None or placed.set != where:
        return 0
    return min(p.streams[0].latency.percentiles_ns.get("50", 0) for p in trial.phases)
