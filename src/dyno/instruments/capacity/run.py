"""A capacity run from its experiment to its last block; one that was killed goes on with the block
that was torn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from msgspec import Meta, structs

from dyno.builds import Say, cache
from dyno.driver import ask
from dyno.engines import find_engine
from dyno.errors import UsageError
from dyno.instruments.capacity.folder import CapacityFolder
from dyno.instruments.capacity.limits import count_events_least, parse_limits
from dyno.instruments.capacity.player import LONGEST_S, BlockPlayer, BlockTold, Told
from dyno.instruments.capacity.steps import find_patience_s
from dyno.instruments.time.leftovers import drop_leftovers
from dyno.judge.analysis.capacity import find_restart_rate, judge_capacity
from dyno.record import Phase
from dyno.record.capacity import CapacityBlock, CapacityPlan, CapacityVerdict, LimitTerm
from dyno.runs.experiment import Experiment
from dyno.runs.resolve.draft import Prepared, RunDraft
from dyno.runs.resolve.experiment import list_changes_since, reopen_run
from dyno.runs.resolve.preconditions import (
    check_connections,
    check_disk_space,
    check_empty,
    fit_memory,
)
from dyno.runs.resolve.workloads import find_phases_under
from dyno.runs.run_folder import RunFolder

#: Options of a workload that the search sets itself.
OWN_OPTIONS = ("rate", "time", "warmup_time", "events")
#: A step is so many times as long as the longest limit, at least: a server that is overloaded by
#: one part in as many holds the limit until the backlog has grown as long.
STEP_LIMITS = 50
#: What a step plays before it measures, at most.
WARMUP_S = 0.5
#: Restarts of a candidate, and the margin.
BLOCKS, MARGIN_PERCENT = 8, 5.0
#: Connections where nobody named a number: those of a served pool, and of an engine within.
THREADS, THREADS_EMBEDDED = 16, 1


@dataclass(frozen=True)
class CapacityWords:
    """An experiment's own words for a capacity: the limits (`p99<10ms, errors<0.1%`), and how long
    a rate is played at least, in s.
    """

    slo: str
    step: Annotated[float, Meta(gt=0)] = 3.0


@dataclass(frozen=True)
class CapacityAsked:
    """What a user asked for beside the experiment."""

    terms: tuple[LimitTerm, ...]
    blocks: int
    step_s: float
    margin_percent: float
    sequential: bool = False

    @property
    def longest_s(self) -> float:
        """How long a step may be at most."""
        return max(LONGEST_S, self.shortest_s)

    @property
    def shortest_s(self) -> float:
        """How long a step is at least."""
        return max(self.step_s, STEP_LIMITS * find_patience_s(self.terms))

    @property
    def warmup_s(self) -> float:
        """What a step plays before it measures."""
        return min(WARMUP_S, self.shortest_s / 5)


def plan_search(experiment: Experiment) -> tuple[Experiment, CapacityAsked, Phase]:
    """Return an experiment with our own options of its workload, what it asks for, and its phase at
    a rate; raise `UsageError` for what has no capacity.
    """
    takes = (
        "margin_percent",
        "blocks",
        "fixed",
        "seed",
        "controls",
        "sequential",
        "aa",
        "client_hosts",
    )
    experiment.require_plain("a capacity", takes)
    own, measuring = experiment.read_own(CapacityWords), experiment.measuring
    asked = CapacityAsked(
        parse_limits(own.slo),
        measuring.blocks or BLOCKS,
        own.step,
        measuring.margin_percent or MARGIN_PERCENT,
        bool(measuring.sequential),
    )
    (workload,) = experiment.workloads
    check_words(asked, workload.options)
    options = _choose_options(experiment) | workload.options
    experiment = replace(
        experiment,
        workloads=(replace(workload, options=options),),
        measuring=replace(measuring, margin_percent=asked.margin_percent, cpu_profile=False),
    )
    return experiment, asked, find_open_phase(experiment, asked.longest_s, asked.warmup_s)


def check_words(asked: CapacityAsked, options: dict[str, str]) -> None:
    """`UsageError` for options that the search sets, and a limit that no step can judge."""
    for name in OWN_OPTIONS:
        if name in options:
            raise UsageError(
                f"dyno capacity sets the option '{name}' itself",
                hint="--step sets how long a rate is played; the rate is what is looked for",
            )
    least = count_events_least(asked.terms)
    if least > LONGEST_S * 1e5:
        words = ", ".join(term.words for term in asked.terms)
        raise UsageError(f"{words} needs {least:,} events a step", hint="set a wider limit")


def find_open_phase(experiment: Experiment, longest_s: float, warmup_s: float) -> Phase:
    """The one phase of the workload as it is played at a rate; `UsageError` where it has no rate
    that could be raised.
    """
    (chosen,) = experiment.workloads
    name, rate = Path(chosen.name).stem, 1234.5
    options = {"rate": f"{rate}", "time": f"{longest_s:g}", "warmup_time": f"{warmup_s:g}"}
    phases = find_phases_under(chosen, options)
    if not phases:
        raise UsageError(f"{name} has no event that could be played at a rate")
    if len(phases) != 1:
        names = ", ".join([phase.name for phase in phases[:4]] + ["…"] * (len(phases) > 4))
        raise UsageError(
            f"{name} plays {len(phases)} phases ({names}), and a capacity is that of one rate",
            hint="name a workload of one phase, such as oltp_read_write or kv",
        )
    (phase,) = phases
    if phase.stop.kind != "time":
        raise UsageError(f"{name}, {phase.name} ends by a count and not by time: it has no rate")
    if len(phase.streams) != 1:
        raise UsageError(f"{name}, {phase.name} has {len(phase.streams)} streams, not one rate")
    (stream,) = phase.streams
    if stream.pace.rate_per_s != rate:
        raise UsageError(
            f"{name}, {phase.name} is a closed loop: its script takes no rate",
            hint="latency at a rate needs an open loop, as with oltp_read_write --set rate=100",
        )
    if stream.function == "thread_run":
        raise UsageError(f"{name} has a thread_run of its own, which takes no rate")
    return phase


def prepare_capacity(draft: RunDraft, phase: Phase, say: Say) -> Prepared:
    """Looks for what the run needs, and freezes it with the phase as it is played at a rate.
    `UsageError` where a server that runs already has tables beside which nothing may be loaded.
    """
    (workload,) = draft.workloads
    check_empty(draft)
    draft.change(workloads=(structs.replace(workload, phases=(phase,)),))
    check_connections(draft)
    check_disk_space(draft)
    fit_memory(draft, say)
    return draft


def make_plan(prepared: Prepared, asked: CapacityAsked) -> CapacityPlan:
    """All that is fixed before the first block."""
    together = prepared.design.interleaving is not None and not asked.sequential
    return CapacityPlan(
        run=prepared.run,
        terms=asked.terms,
        blocks=asked.blocks,
        step_s=asked.shortest_s,
        warmup_s=asked.warmup_s,
        margin_percent=asked.margin_percent,
        together=together,
    )


def play_capacity(
    prepared: Prepared, folder: CapacityFolder, tell: Callable[[Told], None]
) -> CapacityVerdict:
    """Plays the blocks that are missing; ends early where the driver is the limit."""
    plan = folder.read_plan()
    with RunFolder(folder.path).hold_alone(), cache.keep_entries(_list_files(prepared)):
        player = BlockPlayer(plan, prepared, RunFolder(folder.path), tell)
        blocks = folder.read_blocks()
        while not (verdict := judge_capacity(plan, blocks)).complete:
            block = player.play_block(len(blocks), _find_known(blocks))
            folder.write_block(block)
            blocks.append(block)
            tell(BlockTold(block))
    return verdict


def _list_files(prepared: Prepared) -> list[Path]:
    """What `dyno clean` is to leave in the cache meanwhile."""
    builds = prepared.builds.values()
    programs = [file for build in builds for file in (build.program, *build.libraries)]
    return [*programs, *(Path(each.script) for each in prepared.run.workloads)]


def _find_known(blocks: list[CapacityBlock]) -> dict[str, float]:
    """Where each candidate's last restart found its rate."""
    known: dict[str, float] = {}
    for block in blocks:
        for restart in block.restarts:
            rate = find_restart_rate(restart)
            if rate is None:
                known.pop(restart.candidate, None)
            else:
                known[restart.candidate] = rate
    return known


def reopen_capacity(folder: CapacityFolder, say: Say) -> Prepared:
    """A run from disk that is to go on; `UsageError` where host, program or script changed."""
    run = folder.read_plan().run
    prepared = reopen_run(run, say)
    if found := list_changes_since(run, prepared):
        hint = "start a new run"
        raise UsageError("the run cannot be resumed", cause="; ".join(found), hint=hint)
    kept = RunFolder(folder.path)
    with kept.hold_alone():
        drop_leftovers(kept, prepared.engines, prepared.builds, say)
    check_empty(prepared)
    return prepared


def _choose_options(experiment: Experiment) -> dict[str, str]:
    """Arrivals of independent users, and connections enough for a pool."""
    engines = [find_engine(side.engine, ask) for side in experiment.candidates]
    served = any(not engine.embedded for engine in engines)
    return {"arrivals": "poisson", "threads": str(THREADS if served else THREADS_EMBEDDED)}
