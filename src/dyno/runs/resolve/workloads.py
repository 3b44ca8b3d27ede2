"""The workloads of a run: what their scripts declare, and the primary metrics they are judged by.

Options that nobody set are filled in; primaries come from the experiment or from the script.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from dyno import driver
from dyno import workloads as scripts
from dyno.driver.plan import Description, Plan, Script
from dyno.errors import UsageError, build_unknown_error
from dyno.record import Phase, Primary, Variant, WorkloadPlan
from dyno.runs.experiment import Experiment, Measuring, Workload
from dyno.runs.experiment.candidates import Spec


def build_phases(workload: Workload, description: Description) -> list[Phase]:
    """The phases, judged by what the experiment names, else by what the script declares, else
    by the throughput of the first stream of every phase.
    """
    if workload.primary:
        phases = _apply_named_primaries(workload, description)
    elif any(phase.primary for phase in description.phases):
        phases = list(description.phases)
    else:
        phases = [
            structs.replace(p, primary=(_make_throughput(p.streams[0].name),))
            for p in description.phases
        ]
    return [_make_measurable(phase) for phase in phases]


def _make_throughput(stream: str) -> Primary:
    return Primary(stream, "rate_per_s")


def _make_measurable(phase: Phase) -> Phase:
    """The phase with a latency in place of a paced stream's throughput: that was set, and not
    measured (METHOD.md, The words). One that is declared twice counts once: Holm would wait for
    the other.
    """
    measured = [
        structs.replace(each, metric="latency_ns_p99")
        if each.metric == "rate_per_s" and each.stream in phase.paced
        else each
        for each in phase.primary
    ]
    once: dict[tuple[str, str], Primary] = {}
    for each in measured:
        once.setdefault((each.stream, each.metric), each)
    return structs.replace(phase, primary=tuple(once.values()))


def _apply_named_primaries(chosen: Workload, said: Description) -> list[Phase]:
    by_phase: dict[str, tuple[Primary, ...]] = {}
    phases = {phase.name: phase for phase in said.phases}
    for each in chosen.primary:
        name = each.get("phase", said.phases[0].name)
        if name not in phases:
            raise build_unknown_error("phase", name, phases)
        by_phase[name] = (*by_phase.get(name, ()), _make_primary(each, phases[name]))
    return [structs.replace(phase, primary=by_phase.get(phase.name, ())) for phase in said.phases]


def _make_primary(each: dict[str, Any], phase: Phase) -> Primary:
    streams = [stream.name for stream in phase.streams]
    stream = each.get("stream", streams[0])
    if stream not in streams:
        raise build_unknown_error("stream", stream, streams)
    return Primary(stream, each.get("metric", "rate_per_s"), each.get("margin_percent"))


def with_run_margin(phase: Phase, measuring: Measuring) -> Phase:
    """The phase with the run's margin, which the user set, in place of the script's own."""
    if measuring.margin_percent is None:
        return phase
    primary = tuple(structs.replace(each, margin_percent=None) for each in phase.primary)
    return structs.replace(phase, primary=primary)


#: A script is described without an engine.
_NOTHING = {"kind": "null", "delay_ns": 0}

#: A restart tells more than a longer trial (METHOD.md, What is compared), so a comparison measures
#: briefly where nobody said how long. A single `play` keeps sysbench's ten seconds.
COMPARED = {"time": "2", "warmup_time": "0.3"}
QUICK = {"time": "1", "warmup_time": "0.3"}


@dataclass(frozen=True)
class CandidateRequest:
    """A candidate to be resolved; as a cell it has `levels`, and `options` of the workload that
    differ from the base's. `others`: names that a mistyped key may have meant.
    """

    spec: Spec
    levels: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    others: frozenset[str] = frozenset()


def list_option_names(workload: Workload) -> frozenset[str]:
    """The name of every option that the workload's script takes."""
    description = _describe(scripts.find_workload(workload.name), workload.options)
    return frozenset(option.name.replace("-", "_") for option in description.options)


def find_phases_under(chosen: Workload, options: dict[str, str]) -> tuple[Phase, ...]:
    """The phases that the workload declares with these options beside its own."""
    return _describe(scripts.find_workload(chosen.name), chosen.options | options).phases


def find_brief_options(chosen: Workload) -> dict[str, str]:
    """Options under which the script's phases are over in seconds, by its own word."""
    return dict(_describe(scripts.find_workload(chosen.name), chosen.options).brief)


def resolve_workloads(
    experiment: Experiment, requests: Sequence[CandidateRequest] = ()
) -> list[tuple[WorkloadPlan, int]]:
    """Each workload as resolved, with its guess of the data's size in bytes.

    Where factors are crossed, some of the `requests` have options of their own.
    """
    found = [resolve_workload(chosen, experiment, requests) for chosen in experiment.workloads]
    check_names([plan for plan, _ in found])
    return found


def check_names(plans: Sequence[WorkloadPlan]) -> None:
    """`UsageError` where two workloads have the same name."""
    names = [plan.name for plan in plans]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"the workload '{name}' is given twice", hint="write an experiment for each"
            )


def resolve_workload(
    chosen: Workload, experiment: Experiment, requests: Sequence[CandidateRequest]
) -> tuple[WorkloadPlan, int]:
    """The workload with a variant for each of the cells' own options, and the largest size."""
    asked = [each.options for each in requests if each.options]
    cells = [each for at, each in enumerate(asked) if each not in asked[:at]]
    plan, size_bytes = _resolve_workload(chosen, experiment)
    variants = []
    for own in cells:
        there = replace(chosen, options=chosen.options | own)
        other, other_bytes = _resolve_workload(there, experiment)
        _check_same_primaries(plan, other, own)
        variants.append(Variant(own, other.phases, other.ledger, other_bytes))
        size_bytes = max(size_bytes, other_bytes)
    return structs.replace(plan, variants=tuple(variants)), size_bytes


def _check_same_primaries(plan: WorkloadPlan, other: WorkloadPlan, own: dict[str, str]) -> None:
    """Refuses options under which something else is measured: what is crossed must be there in
    every cell.
    """
    first, second = (
        [(phase.name, pair.stream, pair.metric) for phase in p.phases for pair in phase.primary]
        for p in (plan, other)
    )
    if first != second:
        words = " ".join(f"{name}={value}" for name, value in own.items())
        hint = "a sweep of the workload compares each value by itself"
        raise UsageError(f"{plan.name} has other primary metrics with {words}", hint=hint)


def _resolve_workload(chosen: Workload, experiment: Experiment) -> tuple[WorkloadPlan, int]:
    script = scripts.find_workload(chosen.name)
    options, said = _fill_options(script, chosen.options, experiment)
    phases = [with_run_margin(phase, experiment.measuring) for phase in build_phases(chosen, said)]
    plan = WorkloadPlan(
        name=" ".join((script.stem, *(f"{name}={value}" for name, value in chosen.sweep.items()))),
        script=str(script),
        script_sha256=scripts.compute_checksum(script, options),
        options=options,
        phases=tuple(phases),
        ledger=said.ledger,
        commands=("prepare", "run") if "prepare" in said.commands else ("run",),
        sweep=chosen.sweep,
        size_bytes=said.size_bytes,
    )
    return plan, said.size_bytes


def _fill_options(
    script: Path, options: dict[str, str], experiment: Experiment
) -> tuple[dict[str, str], Description]:
    """The options with ours added, and what the script says under them.

    Ours are kept only if they change the phases: a script with phases of its own need not heed
    `time`, and a record should not say that it did.
    """
    plain = _describe(script, options)
    ours = _select_own_options(options, experiment)
    if not ours:
        return options, plain
    briefly = _describe(script, options | ours)
    return (options, plain) if briefly.phases == plain.phases else (options | ours, briefly)


def _select_own_options(options: dict[str, str], experiment: Experiment) -> dict[str, str]:
    if len(experiment.candidates) == 1 and not experiment.crossed.levels:
        return {}
    ours = QUICK if experiment.measuring.quick else COMPARED
    counted = "events" in options
    free = {name for name in ours if name not in options and not (counted and name == "time")}
    return {name: ours[name] for name in ours if name in free}


def _describe(script: Path, options: dict[str, str]) -> Description:
    if "marked" not in options and (mark := scripts.find_mark(script)):
        raise UsageError(
            f"{script.name} would be played with its marks as comments",
            cause=f"`{mark}` is a mark of an SQL file",
            hint="--set marked=true (`dyno compare --sql`); --set marked=off for comments",
        )
    return driver.describe(Plan(_NOTHING, Script(str(script), options), seed=0))
