"""A verdict by CPU time: who can be judged so, what it is blind to, and where it is offered.

On a host where others take most of the CPU time, an operation takes as long as its turn is in
coming; what it costs the engine in CPU time changes far less. So a run can be judged by the CPU
time of an operation, its own or, from its records, one that was judged by the time. No block is
dropped then: what others had, and who stood still, is no part of that cost. What others do to
caches and to a core's second thread is, so it counts in the interval, and audit `noise_effect`
looks whether it bears on the difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean

from msgspec.structs import replace

from dyno.errors import UsageError
from dyno.judge.analysis.blocks import compute_noise_shares
from dyno.judge.analysis.run_view import RunView
from dyno.record import Candidate, Run, Trial

BLIND = (
    "by CPU time: waits for I/O, locks and the network count for nothing, and what neighbours do "
    "to shared caches and cores is in it"
)
#: The probe's reading that it rests on, of which an engine's trial may have none.
READING = "server_cpu_us"
#: Percent of all CPU time that others had: below that the time would have told, too.
BUSY_PERCENT = 10.0


def explain_refusal(candidates: Iterable[Candidate], trials: Iterable[Trial]) -> str:
    """Return why these cannot be judged by CPU time, or empty words."""
    if why := next(filter(None, (side.without_cpu for side in candidates)), ""):
        return why
    for trial in trials:
        for record in trial.phases if trial.status == "ok" else ():
            if not any(reading.name == READING for reading in record.readings):
                return f"trial {trial.number} has no CPU time of the engine's processes"
    return ""


def judge_by_cpu(run: Run, trials: Iterable[Trial]) -> Run:
    """Return the run as one that rests on CPU time; raise `UsageError` if its records lack it."""
    why = explain_refusal(run.candidates, trials)
    if run.design.untimed or run.design.rehearses:
        why = "a rehearsal compares statements, each by its time"
    if why:
        hint = "the time of an operation is on record"
        raise UsageError("this run cannot be judged by CPU time", cause=why, hint=hint)
    return _set_by_cpu(run)


def _set_by_cpu(run: Run) -> Run:
    """The run, and each of a gathered one's shares, without noise limits."""
    gathered = run.gathered
    if gathered:
        gathered = replace(gathered, shares=tuple(map(_set_by_cpu, gathered.shares)))
    return replace(run, design=replace(run.design, by="cpu", limits={}), gathered=gathered)


def describe_offer(view: RunView) -> str:
    """Return how a run without a verdict by the time can be judged all the same, in a clause; empty
    where the host was not busy, or where there is no CPU time to go by.
    """
    design, trials = view.run.design, view.played_trials
    if design.by == "cpu" or design.untimed or design.rehearses:
        return ""
    plans = {plan.name: plan.phase_names for plan in view.run.workloads}
    shares = [compute_noise_shares(trial, plans[trial.workload]) for trial in trials]
    others = [sum(each.values()) for each in shares if each]
    if not others or mean(others) < BUSY_PERCENT or explain_refusal(view.run.candidates, trials):
        return ""
    return (
        f"the host was busy (others had {mean(others):.0f} % of its CPU time): `dyno report RUN "
        "--by cpu` judges these blocks by the CPU time of an operation, which knows no waits, and "
        "`dyno compare --by cpu` plays as many as that needs"
    )
