"""One candidate's count: its data loaded once, its repetitions played, and what they add up to."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dyno.builds import Say
from dyno.compare.count.counted_play import CountedPlay, load_data, play_counted
from dyno.compare.play.brief_play import make_pilot_job
from dyno.compare.play.job import Tools, TrialJob
from dyno.compare.play.run import make_temporary_run
from dyno.compare.resolve.draft import RunDraft
from dyno.compare.run_folder import RunFolder
from dyno.driver.plan import Excerpt
from dyno.errors import TrialFailed
from dyno.profile.attribution import count_library, find_serving, tidy_function
from dyno.profile.callgrind import CodeFunction, read_profile
from dyno.profile.layers import LayerTable, read_layers
from dyno.profile.valgrind import Valgrind
from dyno.record import Candidate, Phase, Stop
from dyno.record.count import CandidateCount, CountedFunction

#: A function of less than this share of all instructions is told with the rest of its layer.
LEAST_SHARE = 1e-6
REST = "(functions of less than a millionth)"
#: How many of the functions that differ between repetitions are named.
VARIED = 8


@dataclass(frozen=True)
class CountPlan:
    """What is counted: `events` of `phase` (empty: the workload's first) beyond `before` events
    that are played in any case; in how many `repeats`; and the margin of the verdict.
    """

    events: int = 10_000
    before: int = 1_000
    repeats: int = 2
    phase: str = ""
    margin_percent: float = 0.5

    @property
    def lengths(self) -> tuple[int, int]:
        """Events of the shorter and of the longer play."""
        return self.before, self.before + self.events


@dataclass(frozen=True)
class CountContext:
    """What candidates are counted with; `folder` is the run's."""

    draft: RunDraft
    plan: CountPlan
    valgrind: Valgrind
    folder: Path
    say: Say


@dataclass(frozen=True)
class CountedWork:
    """Instructions of one play: `serving` by function, of whoever serves the user, and `beside`
    those of everybody else.
    """

    operations: int
    serving: Counter[CodeFunction]
    beside: int


def count_candidate(candidate: Candidate, given: CountContext) -> CandidateCount:
    """Counts a candidate; callgrind's files of the first repetition stay in `folder`."""
    per_operation: list[dict[CodeFunction, float]] = []
    beside = []
    with make_temporary_run() as place:
        job = _make_job(candidate, given, place)
        given.say(f"loading {candidate.name}")
        loaded = place.find_homes() / "loaded"
        load_data(job, loaded)
        for repeat in range(1, given.plan.repeats + 1):
            given.say(f"counting {candidate.name}, {repeat} of {given.plan.repeats}")
            folder = given.folder if repeat == 1 else place.path
            # another attempt has another layout of the process, where a control draws one
            works = count_repeat(replace(job, attempt=repeat), loaded, given, folder)
            counted, others = subtract_work(*works)
            per_operation.append(counted)
            beside.append(others)
    return CandidateCount(
        candidate=candidate.name,
        repeats=tuple(sum(each.values()) for each in per_operation),
        beside=tuple(beside),
        functions=tuple(name_functions(per_operation, read_layers(candidate.engine))),
        varied=tuple(find_varied(per_operation)),
        files=tuple(_name_folder(candidate.name, events) for events in given.plan.lengths),
    )


def _make_job(candidate: Candidate, given: CountContext, place: RunFolder) -> TrialJob:
    job = make_pilot_job(given.draft, given.draft.workloads[0], candidate, place, Tools(probes={}))
    return replace(job, workload=replace(job.workload, phases=_make_counted_phases(job)))


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
        replace(phase, stop=stop, warmup_s=0.0, expected_s=0.0) for phase in job.workload.phases
    )


def read_work(play: CountedPlay, job: TrialJob) -> CountedWork:
    """What callgrind's files say of a play; `TrialFailed` where they say nothing."""
    profiles = {file.name: read_profile([file]) for file in play.files}
    if job.engine.embedded:
        serving: Counter[CodeFunction] = Counter()
        for profile in profiles.values():
            serving.update(count_library(profile, job.build.program))
        beside = 0
    elif profiles:
        name = find_serving(profiles)
        serving = profiles[name].own
        beside = sum(each.total for each in profiles.values()) - profiles[name].total
    if not profiles or not serving.total():
        raise TrialFailed(f"callgrind counted no instructions of {job.candidate.name}")
    return CountedWork(play.operations, _tidy(serving, job), beside)


def _tidy(counts: Mapping[CodeFunction, int], job: TrialJob) -> Counter[CodeFunction]:
    tidy: Counter[CodeFunction] = Counter()
    program, engine = job.build.program, job.candidate.engine
    for function, instructions in counts.items():
        tidy[tidy_function(function, program, engine)] += instructions
    return tidy


def subtract_work(short: CountedWork, long: CountedWork) -> tuple[dict[CodeFunction, float], float]:
    """Instructions per operation by function, and of everybody else, of what only the longer play
    did.
    """
    operations = long.operations - short.operations
    more = Counter(long.serving)
    more.subtract(short.serving)
    counted = {function: n / operations for function, n in more.items() if n}
    return counted, (long.beside - short.beside) / operations


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
