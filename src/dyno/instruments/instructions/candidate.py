"""One candidate's count: its data loaded once, its repetitions played, and what they add up to."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from msgspec import Meta, structs

from dyno.builds import Say
from dyno.driver.plan import Excerpt
from dyno.errors import TrialFailed
from dyno.instruments.instructions.counted_play import CountedPlay, load_data, play_counted
from dyno.instruments.time.brief_play import make_pilot_job
from dyno.instruments.time.job import Tools, TrialJob
from dyno.instruments.time.run import make_temporary_run
from dyno.instruments.time.trial import compute_trial_seed
from dyno.profile.callgrind import (
    Call,
    CodeFunction,
    count_library,
    find_serving,
    leave_out_waits,
    list_library_calls,
    read_profile,
)
from dyno.profile.layers import LayerTable, read_layers, tidy_function
from dyno.profile.valgrind import Valgrind
from dyno.record import Candidate, Phase, Stop, WorkloadPlan
from dyno.record.count import CandidateCount, CountedCall, CountedFunction
from dyno.runs.resolve.draft import RunDraft
from dyno.runs.run_folder import RunFolder

#: A function of less than this share of all instructions is told with the rest of its layer.
LEAST_SHARE = 1e-6
REST = "(functions of less than a millionth)"
#: A call of less than this share of the dearest is left out.
LEAST_SHARE_OF_CALLS = 1e-4
#: How many of the functions that differ between repetitions are named.
VARIED = 8


Positive = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True)
class CountPlan:
    """What is counted: `events` of `phase` (empty: the workload's first) beyond `before` events
    that are played in any case; for how many `inputs`, each drawn by a seed of its own; in how
    many `repeats` of each; whether calls are kept (`stacks`); and the margin of the verdict.
    """

    events: Positive = 10_000
    before: Positive = 1_000
    repeats: Positive = 2
    inputs: Positive = 1
    stacks: bool = False
    phase: str = ""
    margin_percent: float = 0.5

    @property
    def lengths(self) -> tuple[int, int]:
        """Events of the shorter and of the longer play."""
        return self.before, self.before + self.events


@dataclass(frozen=True)
class CountContext:
    """What candidates are counted with; `folder` is the count's."""

    draft: RunDraft
    workload: WorkloadPlan
    plan: CountPlan
    valgrind: Valgrind
    folder: Path
    say: Say


@dataclass(frozen=True)
class CountedWork:
    """Instructions of one play: `serving` by function and `calls` with all that they call, of
    whoever serves the user; `beside` those of everybody else, and `waiting` for the client.
    """

    operations: int
    serving: Counter[CodeFunction]
    beside: int
    calls: Counter[Call] = field(default_factory=Counter)
    waiting: int = 0


@dataclass(frozen=True)
class CountedRepeat:
    """What only the longer play of a repetition did, per operation."""

    functions: dict[CodeFunction, float]
    beside: float
    calls: dict[Call, float]
    waiting: float


def count_candidate(candidate: Candidate, given: CountContext) -> CandidateCount:
    """Counts a candidate; callgrind's files of the first repetition stay in `folder`."""
    plan = given.plan
    with make_temporary_run() as place:
        job = _make_job(candidate, given, place)
        repeats = list(_count_repeats(job, given, place))
    per_operation = [each.functions for each in repeats]
    return CandidateCount(
        candidate=candidate.name,
        repeats=tuple(sum(each.values()) for each in per_operation),
        beside=tuple(each.beside for each in repeats),
        functions=tuple(name_functions(per_operation, read_layers(candidate.engine))),
        varied=tuple(find_varied(per_operation[: plan.repeats])),
        files=tuple(_name_folder(candidate.name, events) for events in plan.lengths),
        inputs=plan.inputs,
        waiting=tuple(each.waiting for each in repeats),
        layer_repeats=sum_layers(per_operation, read_layers(candidate.engine)),
        calls=tuple(name_calls([each.calls for each in repeats])) if plan.stacks else (),
    )


def _count_repeats(job: TrialJob, given: CountContext, place: RunFolder) -> Iterator[CountedRepeat]:
    """The repetitions of each input, one input after the other, each of data loaded anew: where a
    load lies otherwise on disk, as DuckDB's may, the repetitions differ and the interval tells.
    """
    plan, name = given.plan, job.candidate.name
    for number in range(plan.inputs * plan.repeats):
        given.say(f"loading and counting {name}, {number + 1} of {plan.inputs * plan.repeats}")
        loaded = place.find_homes() / "loaded"
        load_data(job, loaded)
        folder = given.folder if number == 0 else place.path
        seed = compute_trial_seed(job.run_seed + number // plan.repeats, job.workload.name, -1)
        # another attempt has another layout of the process, where a control draws one
        again = replace(job, attempt=number + 1, seed=seed)
        yield subtract_work(*count_repeat(again, loaded, given, folder))
        shutil.rmtree(loaded)


def _make_job(candidate: Candidate, given: CountContext, place: RunFolder) -> TrialJob:
    job = make_pilot_job(given.draft, given.workload, candidate, place, Tools(probes={}))
    return replace(job, workload=structs.replace(job.workload, phases=_make_counted_phases(job)))


def count_repeat(
    job: TrialJob, loaded: Path, given: CountContext, folder: Path
) -> tuple[CountedWork, CountedWork]:
    """A restart that plays few operations and one that plays many; callgrind's files of both are
    left in `folder`.
    """
    works = []
    for events in given.plan.lengths:
        kept = folder / _name_folder(job.candidate.name, events)
        excerpt = Excerpt(given.plan.phase, events)
        play = play_counted(job, loaded, excerpt, given.valgrind, kept)
        works.append(read_work(play, job))
        if folder != given.folder:
            shutil.rmtree(kept)
    short, long = works
    return short, long


def _name_folder(candidate: str, events: int) -> str:
    """Where a play's files of callgrind lie, within the run's folder."""
    letters = (letter if letter.isalnum() or letter in ".-_@" else "-" for letter in candidate)
    return f"callgrind/{''.join(letters)}-{events}"


def _make_counted_phases(job: TrialJob) -> tuple[Phase, ...]:
    """The workload's phases as the excerpt plays them: without a time by which they must end."""
    stop = Stop("count", events=0)
    return tuple(
        structs.replace(phase, stop=stop, warmup_s=0.0, expected_s=0.0)
        for phase in job.workload.phases
    )


def read_work(play: CountedPlay, job: TrialJob) -> CountedWork:
    """What callgrind's files say of a play; `TrialFailed` where they say nothing."""
    profiles = {file.name: read_profile([file]) for file in play.files}
    serving: Counter[CodeFunction] = Counter()
    calls: Counter[Call] = Counter()
    beside = waiting = 0
    if job.engine.embedded:
        for profile in profiles.values():
            serving.update(count_library(profile, job.build.program))
            calls.update(list_library_calls(profile, job.build.program))
    elif profiles:
        name = find_serving(profiles)
        waits = read_layers(job.candidate.engine).waits
        working, waiting = leave_out_waits(profiles[name], waits)
        serving, calls = working.own, working.calls
        beside = sum(each.total for each in profiles.values()) - profiles[name].total
    if not profiles or not serving.total():
        raise TrialFailed(f"callgrind counted no instructions of {job.candidate.name}")
    return CountedWork(
        play.operations, _tidy(serving, job), beside, _tidy_calls(calls, job), waiting
    )


def _tidy(counts: Mapping[CodeFunction, int], job: TrialJob) -> Counter[CodeFunction]:
    tidy: Counter[CodeFunction] = Counter()
    program, engine = job.build.program, job.candidate.engine
    for function, instructions in counts.items():
        tidy[tidy_function(function, program, engine)] += instructions
    return tidy


def _tidy_calls(calls: Mapping[Call, int], job: TrialJob) -> Counter[Call]:
    """Calls by tidy names; those of a function to itself are part of its caller's."""
    tidy: Counter[Call] = Counter()
    program, engine = job.build.program, job.candidate.engine
    for (caller, callee), instructions in calls.items():
        pair = tidy_function(caller, program, engine), tidy_function(callee, program, engine)
        if pair[0] != pair[1]:
            tidy[pair] += instructions
    return tidy


def subtract_work(short: CountedWork, long: CountedWork) -> CountedRepeat:
    """Instructions per operation by function and by call, of everybody else and of waiting, of what
    only the longer play did.
    """
    operations = long.operations - short.operations
    functions, calls = Counter(long.serving), Counter(long.calls)
    functions.subtract(short.serving)
    calls.subtract(short.calls)
    return CountedRepeat(
        {function: n / operations for function, n in functions.items() if n},
        (long.beside - short.beside) / operations,
        {call: n / operations for call, n in calls.items() if n > 0},
        (long.waiting - short.waiting) / operations,
    )


def name_calls(repeats: Sequence[Mapping[Call, float]]) -> list[CountedCall]:
    """The calls' means over the repetitions, the dearest first; trifles are left out."""
    calls = {call for each in repeats for call in each}
    means = {call: sum(each.get(call, 0.0) for each in repeats) / len(repeats) for call in calls}
    least = LEAST_SHARE_OF_CALLS * max(means.values(), default=0.0)
    named = [
        CountedCall(caller.name, callee.name, mean)
        for (caller, callee), mean in means.items()
        if mean >= least
    ]
    return sorted(named, key=lambda each: (-each.instructions, each.caller, each.callee))


def name_functions(
    repeats: Sequence[Mapping[CodeFunction, float]], table: LayerTable
) -> list[CountedFunction]:
    """The functions' means over the repetitions, with their layers, the heaviest first."""
    functions = {function for each in repeats for function in each}
    means = {f: sum(each.get(f, 0.0) for each in repeats) / len(repeats) for f in functions}
    least = LEAST_SHARE * sum(means.values())
    sums: dict[tuple[str, str, str], float] = {}
    for function, mean in means.items():
        layer = table.find_layer(function)
        large = abs(mean) >= least
        key = (function.name, function.object, layer) if large else (REST, "", layer)
        sums[key] = sums.get(key, 0.0) + mean
    named = [CountedFunction(*key, mean) for key, mean in sums.items()]
    return sorted(named, key=lambda each: (-each.instructions, each.name))


def sum_layers(
    repeats: Sequence[Mapping[CodeFunction, float]], table: LayerTable
) -> dict[str, tuple[float, ...]]:
    """Each layer's instructions in each of the repetitions."""
    sums: list[dict[str, float]] = []
    for each in repeats:
        own: dict[str, float] = {}
        for function, instructions in each.items():
            layer = table.find_layer(function)
            own[layer] = own.get(layer, 0.0) + instructions
        sums.append(own)
    layers = dict.fromkeys(layer for own in sums for layer in own)
    return {layer: tuple(own.get(layer, 0.0) for own in sums) for layer in layers}


def find_varied(repeats: Sequence[Mapping[CodeFunction, float]]) -> list[str]:
    """The functions whose counts differ most between the repetitions, those that differ at all."""
    functions = {function for each in repeats for function in each}
    ranges = {
        f: max(each.get(f, 0.0) for each in repeats) - min(each.get(f, 0.0) for each in repeats)
        for f in functions
    }
    least = LEAST_SHARE * sum(repeats[0].values())
    largest = sorted(functions, key=lambda f: (-ranges[f], f.name))[:VARIED]
    return [f"{f.name} ({f.object})" for f in largest if ranges[f] >= least]
