"""A count from its experiment to its record: every candidate's data loaded once, then each
repetition a restart that plays few operations and one that plays many.

What both do (opening, first statements, closing) falls out of their difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import dyno
from dyno import private_files
from dyno.builds import Say
from dyno.errors import UsageError, build_unknown_error
from dyno.instruments.instructions import COUNTED
from dyno.instruments.instructions.candidate import CountContext, CountPlan, count_candidate
from dyno.profile.valgrind import Valgrind, find_valgrind
from dyno.record import Phase, WorkloadPlan
from dyno.record.count import Count
from dyno.runs.experiment import Experiment
from dyno.runs.resolve.draft import RunDraft
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import (
    COUNT_RECORD,
    COUNTS,
    RunFolder,
    make_run_folder,
    write_json,
)


def count_run(draft: RunDraft, plan: CountPlan, runs: Path, say: Say) -> tuple[Path, Count]:
    """Counts the candidates of `draft` on its workload; the new run folder, and the record in it.

    `UsageError` for a workload of which no operations can be counted, and for an engine that has
    none, `HostError` where there is no valgrind, `TrialFailed` where an operation fails.
    """
    workload = draft.workloads[0]
    check_countable(draft, workload, plan)
    valgrind = find_valgrind(say)
    folder = _make_folder(runs, draft, workload)
    with RunFolder(folder).hold_alone():
        try:
            given = CountContext(draft, workload, plan, valgrind, folder, say)
            return folder, count_workload(given)
        except BaseException:
            private_files.remove_folder(folder)  # half a count tells nothing, and cannot go on
            raise


@dataclass(frozen=True)
class CountToCome:
    """What is counted beside a comparison: its candidates on each of its workloads, of one user."""

    draft: RunDraft
    plans: tuple[CountPlan, ...]
    valgrind: Valgrind

    def count(self, folder: RunFolder, say: Say) -> None:
        """Counts, into `counts` of the comparison's folder; raises as `count_run`."""
        private_files.make_folder(folder.path / COUNTS)
        pairs = zip(self.draft.workloads, self.plans, strict=True)
        for number, (workload, plan) in enumerate(pairs, 1):
            place = folder.path / COUNTS / f"{number:02}-{_make_file_name(workload.name)}"
            private_files.make_folder(place)
            private_files.make_folder(place / COUNTED)
            count_workload(CountContext(self.draft, workload, plan, self.valgrind, place, say))


def plan_count_beside(experiment: Experiment, seed: int, say: Say) -> CountToCome:
    """The counts of a comparison, of one user: of the first phase of each workload that is judged.
    Raises as `count_run`, before anything is played.
    """
    if experiment.crossed.levels:
        hint = "count two candidates at a time with dyno count"
        raise UsageError("a count beside a comparison takes no factors", hint=hint)
    events = experiment.measuring.count_events
    alone = tuple(
        replace(each, options=each.options | {"threads": "1"}) for each in experiment.workloads
    )
    measuring = replace(experiment.measuring, seed=seed)
    draft = draft_run(replace(experiment, workloads=alone, measuring=measuring), say)
    plans = []
    for workload in draft.workloads:
        judged = [phase.name for phase in workload.phases if phase.primary]
        plans.append(CountPlan(events, max(1, events // 10), phase=judged[0] if judged else ""))
        check_countable(draft, workload, plans[-1])
    return CountToCome(draft, tuple(plans), find_valgrind(say))


def count_workload(given: CountContext) -> Count:
    """Counts the candidates on a workload, and writes the record into its folder."""
    draft, workload, plan = given.draft, given.workload, given.plan
    phase = choose_phase(workload, plan.phase)
    record = Count(
        name=f"{' vs '.join(each.name for each in draft.candidates)}, {workload.name}",
        created_utc=draft.run.created_utc,
        command=draft.experiment.command,
        seed=draft.run.seed,
        workload=workload.name,
        phase=phase.name,
        unit=phase.streams[0].unit,
        options=workload.options,
        short_operations=plan.before * phase.streams[0].units_per_event,
        long_operations=(plan.before + plan.events) * phase.streams[0].units_per_event,
        margin_percent=plan.margin_percent,
        candidates=draft.candidates,
        counts=tuple(count_candidate(candidate, given) for candidate in draft.candidates),
        valgrind=given.valgrind.version,
        host=draft.run.host,
        dyno=dyno.__version__,
        controls=draft.design.controls,
        series=draft.run.series,
    )
    write_json(given.folder / COUNT_RECORD, record)
    return record


def check_countable(draft: RunDraft, workload: WorkloadPlan, plan: CountPlan) -> None:
    """`UsageError` for a server that runs already, an engine without instructions, and a phase of
    several users or of a rate of its own.
    """
    phase = choose_phase(workload, plan.phase)
    if phase.connections != 1:
        hint = "count a workload with --set threads=1, or name another --phase"
        raise UsageError(
            f"{workload.name}, {phase.name} has {phase.connections} users, and one is counted",
            hint=hint,
        )
    if phase.paced:
        raise UsageError(f"{workload.name}, {phase.name} is paced, and cannot be counted")
    least, stop = plan.before + plan.events, phase.stop
    if stop.kind == "count" and 0 < (stop.events or 0) < least:
        hint = "count fewer events (--events and --before), or raise the script's own"
        message = f"{workload.name}, {phase.name} has {stop.events:,} events, not {least:,}"
        raise UsageError(message, hint=hint)
    for candidate in draft.candidates:
        build = draft.builds[candidate.name]
        if build.attached:
            hint = "name a build, which is started under valgrind"
            raise UsageError(f"{candidate.name} runs already, and cannot be counted", hint=hint)
        if not build.program.is_file():
            raise UsageError(f"{candidate.name} has no program whose instructions could be counted")


def choose_phase(workload: WorkloadPlan, name: str) -> Phase:
    """The workload's phase of that name, the first where it is empty."""
    phases = {phase.name: phase for phase in workload.phases}
    if name and name not in phases:
        raise build_unknown_error("phase", name, phases)
    return phases[name] if name else workload.phases[0]


def _make_folder(runs: Path, draft: RunDraft, workload: WorkloadPlan) -> Path:
    words = "-vs-".join(candidate.name for candidate in draft.candidates)
    path = make_run_folder(runs, draft.run.created_utc, f"count-{words}-{workload.name}")
    private_files.make_folder(path / COUNTED)
    return path


def _make_file_name(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", words)[:60].strip("-")
