"""A count from its experiment to its record: every candidate's data loaded once, then each
repetition a restart that plays few operations and one that plays many.

What both do (opening, first statements, closing) falls out of their difference.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import dyno
from dyno import private_files
from dyno.builds import Say
from dyno.compare.count.candidate import CountContext, CountPlan, count_candidate
from dyno.compare.resolve.draft import RunDraft
from dyno.compare.run_folder import write_json
from dyno.errors import UsageError, build_unknown_error
from dyno.profile.valgrind import find_valgrind
from dyno.record import Candidate, Phase, WorkloadPlan
from dyno.record.count import Count

#: The file of a count's record in its folder.
RECORD = "count.json"


def count_run(draft: RunDraft, plan: CountPlan, runs: Path, say: Say) -> tuple[Path, Count]:
    """Counts the candidates of `draft` on its workload; the new run folder, and the record in it.

    `UsageError` for a workload of which no operations can be counted, and for an engine that has
    none, `HostError` where there is no valgrind, `TrialFailed` where an operation fails.
    """
    for candidate in draft.candidates:
        check_countable(draft, candidate)
    valgrind = find_valgrind(say)
    workload = draft.workloads[0]
    phase = choose_phase(workload, plan.phase)
    folder = _make_folder(runs, draft, workload)
    given = CountContext(draft, plan, valgrind, folder, say)
    counts = [count_candidate(candidate, given) for candidate in draft.candidates]
    record = Count(
        name=f"{' vs '.join(each.name for each in draft.candidates)}, {workload.name}",
        created_utc=draft.created_utc,
        command=draft.experiment.command,
        seed=draft.seed,
        workload=workload.name,
        phase=phase.name,
        unit=phase.streams[0].unit,
        options=workload.options,
        short_operations=plan.before * phase.streams[0].units_per_event,
        long_operations=(plan.before + plan.events) * phase.streams[0].units_per_event,
        margin_percent=plan.margin_percent,
        candidates=draft.candidates,
        counts=tuple(counts),
        valgrind=valgrind.version,
        host=draft.host,
        dyno=dyno.__version__,
    )
    write_json(folder / RECORD, asdict(record))
    return folder, record


def check_countable(draft: RunDraft, candidate: Candidate) -> None:
    """`UsageError` for a server that runs already, and for an engine without instructions."""
    build = draft.builds[candidate.name]
    if build.attached:
        hint = "name a build: dyno count starts it under valgrind"
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
    stamp = re.sub(r"[-:]|\.\d+", "", draft.created_utc)
    words = "-vs-".join(candidate.name for candidate in draft.candidates)
    name = re.sub(r"[^A-Za-z0-9._@-]+", "-", f"count-{words}-{workload.name}")[:60].strip("-")
    for number in range(1, 1000):
        path = runs / (f"{stamp}-{name}" + (f"-{number}" if number > 1 else ""))
        if not path.exists():
            private_files.make_folder(path)
            private_files.make_folder(path / "callgrind")
            return path
    raise UsageError(f"too many counts are named {name}")
