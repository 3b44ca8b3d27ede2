"""Runs and trials for the tests of audits: clean ones, to be spoiled in one thing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fakes import make_phase, make_record, make_run, make_tally, make_trial, make_workload
from msgspec import structs

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import (
    CLIENT_BASELINE,
    Candidate,
    Evidence,
    Finding,
    LedgerEntry,
    Phase,
    PhaseRecord,
    Run,
    Trial,
    Usage,
)

COUNT = "SELECT count(*) FROM t"


def engine(name: str, engine: str = "real", *, embedded: bool = True) -> Candidate:
    return Candidate(name, f"{engine}@1", engine, embedded, {}, {}, {})


OLD, NEW = engine("old"), engine("new")


def a_run(
    *sides: Candidate, primary: Sequence[str] = ("rate_per_s",), phase: dict[str, Any] | None = None
) -> Run:
    """`old` and `new` where none are named, with a workload `select` of one phase `run`."""
    ledger = (LedgerEntry("rows", COUNT, {"inserted": 1}),)
    plain = make_workload("select", [phase or make_phase(primary=primary)])
    workload = structs.replace(plain, ledger=ledger)
    return make_run(sides or (OLD, NEW), [workload])


def a_trial(number: int, candidate: str, *, cpu_ns: float = 10_000, **tally: Any) -> Trial:
    """1000 events a second for 10 s, at `cpu_ns` each, the engine agreeing that 7 rows exist."""
    usage = Usage(round(cpu_ns * 10_000), 0, 0, 0, 0)
    record = structs.replace(make_record([make_tally(1000, **tally)]), usage=usage)
    block = -1 if candidate == CLIENT_BASELINE else number
    evidence = () if candidate == CLIENT_BASELINE else (Evidence("rows", COUNT, 7, "7"),)
    return make_trial(number, candidate, block, 1, phases=(record,), evidence=evidence)


CLEAN = (a_trial(1, CLIENT_BASELINE, cpu_ns=1_000), a_trial(2, "old"), a_trial(3, "new"))


def with_margin(run: Run, percent: float) -> Run:
    """`run` whose primaries have a margin of their own, and not the run's 2 %."""

    def change(phase: Phase) -> Phase:
        own = tuple(structs.replace(each, margin_percent=percent) for each in phase.primary)
        return structs.replace(phase, primary=own)

    workloads = tuple(
        structs.replace(plan, phases=tuple(map(change, plan.phases))) for plan in run.workloads
    )
    return structs.replace(run, workloads=workloads)


def recorded(trial: Trial, **changes: Any) -> Trial:
    """`trial` with its only phase changed."""
    phase: PhaseRecord = structs.replace(trial.phases[0], **changes)
    return structs.replace(trial, phases=(phase,))


def findings(name: str, run: Run, *trials: Trial) -> list[Finding]:
    found = load_audits()[name].judge(RunView(run, trials))
    told = [f.sentence for f in found if f.soundness == "sound"]
    assert all(re.search(r"\d| as was asked$", words) for words in told), "of how much is it told?"
    return found


def only(name: str, run: Run, *trials: Trial) -> Finding:
    """The audit's one finding, but for what it did not judge beside it."""
    found = findings(name, run, *trials)
    unjudged = ("not checked", "does not apply")
    (finding,) = [f for f in found if f.soundness not in unjudged] or found
    return finding


def faults(name: str, run: Run, *trials: Trial) -> list[Finding]:
    """What the audit blames: its invalid and doubtful findings."""
    found = findings(name, run, *trials)
    return [f for f in found if f.soundness in ("invalid", "doubtful")]
