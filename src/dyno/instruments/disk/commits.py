"""What the commits of a comparison asked of its disk: fsyncs and log of an operation, by the
engine's own count (probe `work`), and the operations a second that came of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from dyno.errors import UsageError
from dyno.judge.analysis.measures import count_operations
from dyno.record import PhaseRecord, Run
from dyno.record.disk import RunCommits
from dyno.runs.run_folder import RunFolder

FSYNCS, LOG_BYTES = "fsyncs", "log_bytes"
#: An operation that reads has less than this of an fsync: a checkpoint's.
LEAST = 0.02


def read_commits(folder: RunFolder) -> tuple[RunCommits, ...]:
    """Each candidate in each phase that commits; `UsageError` where the run counted no fsyncs."""
    run = folder.read_run()
    records: dict[tuple[str, str, str], list[PhaseRecord]] = defaultdict(list)
    for trial in folder.read_trials():
        if trial.status == "ok" and trial.block >= 0:
            for record in trial.phases:
                if _read_value(record, FSYNCS) is not None:
                    records[trial.candidate, trial.workload, record.phase].append(record)
    found = [_summarize(run, *key, phases) for key, phases in records.items()]
    told = tuple(each for each in found if each.rate > 0 and each.fsyncs >= LEAST)
    if not told:
        hint = "name a run of a server that counts its own, with a phase that commits"
        raise UsageError(f"{folder.path.name} counted no fsyncs", hint=hint)
    return told


def _summarize(
    run: Run, candidate: str, workload: str, phase: str, records: Sequence[PhaseRecord]
) -> RunCommits:
    operations = sum(count_operations(record) for record in records)
    fsyncs, log = (
        [value for record in records if (value := _read_value(record, name)) is not None]
        for name in (FSYNCS, LOG_BYTES)
    )
    plan = next(each for each in run.workloads if each.name == workload)
    users = [each.connections for each in plan.phases if each.name == phase]
    return RunCommits(
        candidate=candidate,
        workload=workload,
        phase=phase,
        users=users[0] if users else 1,
        rate=fmean(map(_compute_rate, records)),
        fsyncs=sum(fsyncs) / operations if operations else 0.0,
        log_bytes=sum(log) / operations if operations and log else None,
    )


def _read_value(record: PhaseRecord, name: str) -> float | None:
    return next((it.value for it in record.readings if it.name == name), None)


def _compute_rate(record: PhaseRecord) -> float:
    done = sum(tally.done * tally.units_per_event for tally in record.streams)
    return done / record.duration_s if record.duration_s > 0 else 0.0
