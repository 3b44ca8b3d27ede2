"""How long the slices of each workload are, interleaved: chosen by a pilot, before the first block.

The shorter slices are, the more alike a host's ups and downs meet neighbours. But what is under
way at a slice's end must end in its drain: what an engine waits for while it is frozen (a disk's
flush) costs it nothing. So a slice is the shortest of which a quarter holds an event's p99 as its
drain. A twentieth made events with a long tail play the longest slices. Every candidate is tried:
in slices found on a fast base, a slower candidate's events might come to an end in none.

A server is not frozen where its workload changes no row: it has nothing to do while nobody asks it,
and a switch that wakes and stops its every thread is noise by itself. Engines that run on need no
switch, so their slices are as short as a waking allows. What slices of each length leave of a
block's spread: docs/evidence/slice-length.md.

But a server has work of its own, and a core that it shares with others' slices. What both sides
take of each other alike cancels in their ratio; where one takes more, the other would look slower
by that, so they are frozen (docs/evidence/suspending.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from dyno.errors import DynoError, InternalError
from dyno.instruments.time.brief_play import (
    BRIEF,
    RUN,
    PilotContext,
    explain_not_brief,
    open_engine,
)
from dyno.record import Candidate, Interleaving, PhaseRecord, Pilot, Slice, WorkloadPlan
from dyno.runs.experiment import Workload
from dyno.runs.resolve.draft import RunDraft
from dyno.runs.resolve.workloads import find_brief_options, find_phases_under

#: Slices that can be chosen. Shorter ones of a server that is frozen are noisier: the switch is
#: signals to its every process, late by tenths of a millisecond.
SLICES_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
#: A server that runs on needs no switch. An embedded engine is one process with its driver, which
#: one signal stops (docs/evidence/slice-length.md).
SHORTER_S = (0.005, *SLICES_S)
#: Of engines that run on and have one user each. Of several, some are still under way when the
#: others begin, and the difference looks smaller than it is.
SHORTEST_S = (0.001, 0.002, *SHORTER_S)
#: By CPU time a slice's first events, in cold caches, cost more than others, and how many follow
#: them is the host's affair: they are few in long slices (docs/evidence/busy-host.md).
BY_CPU_S = (0.02, 0.05, 0.1, 0.2, 0.5)
#: A side that wakes late for a slice begins its events late. Where few
#: events fill a slice and all take alike, they come to stand in step with it, and the slices hold
#: more or fewer of them than their rate says (`audits/interleaving.py` looks whether they do).
EVENTS_LEAST = 20
#: So many slices of a trial at the most: each has a number in its record.
MOST_SLICES = 20_000
#: What parts of a slice its drain may be: nobody begins anything in it, so it costs time; and it
#: is where a server comes to rest.
LEAST_DRAINED, MOST_DRAINED = 1 / 20, 1 / 4
#: How briefly events are tried: a p99 wants a hundred of them, and a factor of 2.5 is a slice's.
TRIED = {"time": "0.3", "warmup_time": "0.1"}
#: The option of sysbench's scripts by which they end by count.
COUNT = "events"
#: Servers run on whose work at rest differs by no more of one core: so much at most is a ratio off.
APART_PERCENT = 0.25
#: A phase of less by count (an index that is made) has no slice that could hold one of them.
FEW_EVENTS = 10


@dataclass(frozen=True)
class TriedEvents:
    """What a pilot saw of a workload's events on a candidate: the longest p99 of a stream, 0 where
    nothing was done, and how many rows they changed; and what percentage of one core the server
    took afterwards, at rest.
    """

    latency_ns_p99: int
    rows_changed: int
    resting_percent: float = 0.0


@dataclass(frozen=True)
class BriefOptions:
    """How a workload is tried: under which options, and which of its phases have too few events
    to be looked at.
    """

    options: dict[str, str]
    few: frozenset[str]


def settle_slices(draft: RunDraft, context: PilotContext) -> None:
    """Gives `draft` slices as long as each workload's events need, noted with their p99, and
    engines that run on where these change nothing. Slices stay as they were, and engines
    suspended, where a workload could not be tried on every candidate.
    """
    if draft.design.interleaving is None:
        return
    found: dict[str, list[TriedEvents | None]] = {}
    untried: dict[str, str] = {}
    for chosen, workload in zip(draft.experiment.workloads, draft.workloads, strict=True):
        known = _find_known(draft.run.pilot, workload)
        sides = _find_untried(draft, known.keys())
        brief = _choose_brief_options(draft, chosen, workload, sides)
        if brief and sides:
            names = ", ".join(side.name for side in sides)
            context.say(f"finding how long an event of {workload.name} takes on {names}")
        try:
            others = [
                _try_events(draft, workload, it, brief, context) if brief else None for it in sides
            ]
        except _NotTried as failed:
            untried[workload.name] = str(failed)
            context.say(f"{failed}: {_describe_defaults(draft.design.interleaving)}")
        else:
            found[workload.name] = [*known.values(), *others]
    choose_slices(draft, found)
    if untried:
        draft.change(pilot=replace(draft.run.pilot or Pilot(), untried=untried))


class _NotTried(Exception):
    """Why nothing is known of a workload's events on some candidate."""


def _describe_defaults(turns: Interleaving) -> str:
    return f"slices of {1e3 * turns.slice.length_s:g} ms, idle engines are suspended"


def choose_slices(draft: RunDraft, found: Mapping[str, Sequence[TriedEvents | None]]) -> None:
    """Gives `draft` slices for such events of its candidates, by workload, and notes what they
    were chosen by. A workload of which nothing is known on some candidate (None, or no event
    was done) keeps its slices: unknown is neither fast nor unchanging.
    """
    tried = {name: sides for name, each in found.items() if (sides := _find_all_known(each))}
    if (turns := draft.design.interleaving) is None or not tried:
        return
    embedded = all(side.embedded for side in draft.candidates)
    latency_ns_p99 = {name: max(it.latency_ns_p99 for it in sides) for name, sides in tried.items()}
    unchanging = [name for name, sides in tried.items() if not any(it.rows_changed for it in sides)]
    apart = {name: _compute_resting_difference(tried[name]) for name in unchanging}
    running = tuple(name for name in unchanging if apart[name] <= APART_PERCENT)
    slices = {
        workload.name: choose_slice(
            latency_ns_p99[workload.name],
            _choose_lengths_s(workload, embedded, workload.name in running)
            if draft.design.by == "time"
            else BY_CPU_S,
            _find_longest_phase_s(workload),
        )
        for workload in draft.workloads
        if workload.name in latency_ns_p99
    }
    turns = replace(turns, slices=slices, running=running)
    unlike = {name: percent for name, percent in apart.items() if name not in running}
    pilot = draft.run.pilot or Pilot()
    draft.change(
        design=replace(draft.design, interleaving=turns),
        pilot=replace(pilot, latency_ns_p99=latency_ns_p99, resting_apart_percent=unlike),
    )


def _find_all_known(sides: Sequence[TriedEvents | None]) -> list[TriedEvents]:
    """Those of all candidates; none where one of them is not known."""
    known = [each for each in sides if each is not None and each.latency_ns_p99]
    return known if len(known) == len(sides) else []


def _compute_resting_difference(tried: Sequence[TriedEvents]) -> float:
    """Of one core, between the candidate that takes most at rest and the one that takes least."""
    resting = [each.resting_percent for each in tried]
    return max(resting) - min(resting)


def _choose_lengths_s(workload: WorkloadPlan, embedded: bool, runs_on: bool) -> Sequence[float]:
    """The slices that a workload can have; its users are those of whichever side has most."""
    phases = [*workload.phases, *(own for each in workload.variants for own in each.phases)]
    if runs_on and max((phase.connections for phase in phases), default=1) == 1:
        return SHORTEST_S
    return SHORTER_S if runs_on or embedded else SLICES_S


def _find_longest_phase_s(workload: WorkloadPlan) -> float:
    """Of those that end by time, or that say how long they expect to take."""
    return max((each.measured_s or each.expected_s for each in workload.phases), default=0.0)


def choose_slice(latency_ns_p99: int, lengths_s: Sequence[float], played_s: float = 0.0) -> Slice:
    """The shortest slice whose drain holds an event, of which a phase of `played_s` has not too
    many; the longest where there is none. The very short ones hold `EVENTS_LEAST` events, too.
    """
    latency_s = latency_ns_p99 / 1e9
    shortest_s = max(latency_s / MOST_DRAINED, played_s / MOST_SLICES)
    full_s = min(EVENTS_LEAST * latency_s, SHORTER_S[0])
    enough = (each for each in lengths_s if each >= max(shortest_s, full_s))
    length_s = next(enough, lengths_s[-1])
    drain_s = min(max(latency_s, length_s * LEAST_DRAINED), length_s * MOST_DRAINED)
    return Slice(length_s, drain_s)


def summarize_events(records: Sequence[PhaseRecord], resting_percent: float) -> TriedEvents:
    """Those of every stream of every phase."""
    streams = [stream for record in records for stream in record.streams]
    p99s_ns = (stream.latency.percentiles_ns.get("99", 0) for stream in streams)
    rows_changed = sum(stream.rows_changed for stream in streams)
    return TriedEvents(max(p99s_ns, default=0), rows_changed, resting_percent)


def _find_known(pilot: Pilot | None, workload: WorkloadPlan) -> dict[str, TriedEvents]:
    """What the search for saturation has seen of the workload, with the connections chosen, by the
    candidate that it tried.
    """
    every = pilot.saturation if pilot else ()
    found = (each for each in every if each.workload == workload.name and each.connections)
    return {
        each.base: TriedEvents(at.latency_ns_p99, at.rows_changed, at.resting_percent)
        for each in found
        for at in (each.chosen,)
    }


def _find_untried(draft: RunDraft, known: Collection[str]) -> list[Candidate]:
    """The candidates of whom nothing is known; of those that are meant to be the same, the base."""
    design = draft.design
    same = {design.base} if design.aa else {side.name for side in draft.candidates}
    return [side for side in draft.candidates if side.name in same.difference(known)]


def _choose_brief_options(
    draft: RunDraft, chosen: Workload, workload: WorkloadPlan, sides: Sequence[Candidate]
) -> BriefOptions | None:
    """How a workload is tried on these candidates; None where one of them cannot be."""
    own = find_brief_options(chosen)
    brief_own = own or _without_count(chosen)
    phases = find_phases_under(chosen, BRIEF | brief_own)
    unfit = (explain_not_brief(draft, phases, side, shortened=bool(own)) for side in sides)
    if RUN not in workload.commands or any(unfit):
        return None
    few = (phase.name for phase in phases if (phase.stop.events or FEW_EVENTS) < FEW_EVENTS)
    return BriefOptions(TRIED | brief_own, frozenset(few))


def _without_count(chosen: Workload) -> dict[str, str]:
    """What has a script end by time that was asked for a number of events: these last as long."""
    return {COUNT: "0"} if COUNT in chosen.options else {}


def _try_events(
    draft: RunDraft,
    workload: WorkloadPlan,
    side: Candidate,
    brief: BriefOptions,
    context: PilotContext,
) -> TriedEvents:
    """Those of a brief play of one candidate; `_NotTried` where it fails, or does no event."""
    where = f"events of {workload.name} on {side.name}"
    try:
        with open_engine(draft, workload, side, context.tools) as opened:
            played = opened.play_briefly(brief.options)
    except InternalError:
        raise
    except DynoError as failed:
        if failed.is_never_understood:
            raise  # and so would every trial
        raise _NotTried(f"{where} could not be tried: {failed.message}") from failed
    looked_at = [it for it in played.records if it.phase not in brief.few]
    tried = summarize_events(looked_at, played.resting_percent)
    if not tried.latency_ns_p99:
        raise _NotTried(f"{where} could not be tried: no event was done")
    return tried
