"""Audit `ledger`: was the work really done?

The engine's own numbers must equal what the script counted as done: of rows (`SELECT count(*)`) and
of values, where a workload declares them (a sum that updates add to, rows whose values are in their
range, rows that break a condition: none). So must sums of the script's counters alone. Of values
that are written over, the last one of each sampled key must be there: of its writes one that was
answered after all others had begun. What no statement covers is *not checked*, by name. Whether the
driver's counts agree with one another is judged by `counters`, how many events failed by `errors`,
statements that nothing is expected of by `results`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno.answers import matches_number
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    KEEPS_NOTHING,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    keeps_data,
)
from dyno.record import Evidence, Finding, LedgerEntry, Run, Soundness, Trial

#: What is wrong with a trial: how badly, in words that other trials may share, and its own numbers.
_Fault = tuple[Soundness, str, str]


class Ledger:
    """Compares what the engine holds with what the script counted."""

    summary = "the engine's rows and values equal what the script counted"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each fault, with all the trials that share it; else one that is sound."""
        run, trials = view.run, view.trials
        played = [trial for trial in trials if trial.status == "ok"]
        faults: dict[tuple[Soundness, str], dict[int, str]] = {}
        for trial in played:
            for soundness, words, numbers in _find_faults(run, trial):
                faults.setdefault((soundness, words), {}).setdefault(trial.number, numbers)
        found = [_make_finding(*fault, seen) for fault, seen in faults.items()]
        return conclude("ledger", found, _describe_sound(played), _list_unjudged(run, played))


def _make_finding(soundness: Soundness, words: str, seen: dict[int, str]) -> Finding:
    """One finding for the trials that share a fault, with the numbers of the first."""
    first, numbers = next(iter(seen.items()))
    example = f" (trial {first}: {numbers})" if numbers else ""
    return Finding("ledger", soundness, words + example, tuple(seen))


def _find_faults(run: Run, trial: Trial) -> Iterator[_Fault]:
    yield from _check_evidence(run, trial)
    streams = [tally for phase in trial.phases for tally in phase.streams]
    if not any(tally.done or tally.is_outlasted for tally in streams):
        yield "invalid", f"{_name_trial(trial)} did nothing at all", ""


def _check_evidence(run: Run, trial: Trial) -> Iterator[_Fault]:
    for entry in trial.evidence:
        if not entry.digest and not is_as_expected(entry):
            words = f"{_name_trial(trial)} lost or made up work in '{entry.name}'"
            said = "the engine says" if entry.sql else "its counters add up to"
            numbers = f"{entry.expected} expected, {said} {entry.found or 'nothing'}"
            yield "invalid", words, numbers
    declared = [entry for entry in _list_declared(run, trial) if not entry.unchecked]
    if declared and not trial.evidence and not _keeps_nothing(run, trial):
        words = f"{_name_trial(trial)} left no evidence, though the workload declares a ledger"
        yield "doubtful", words, ""


def _list_declared(run: Run, trial: Trial) -> Sequence[LedgerEntry]:
    plans = (each for each in run.workloads if each.name == trial.workload)
    return next((each.with_options(trial.options).ledger for each in plans), ())


def _keeps_nothing(run: Run, trial: Trial) -> bool:
    """`null` holds no data that could be asked for; the client-only baseline is played on it."""
    null = {side.name for side in run.candidates if not keeps_data(side)}
    return trial.is_client_baseline or trial.candidate in null


def is_as_expected(entry: Evidence) -> bool:
    """As numbers: one engine's 10 is another's `10.0` or `1e1`; NULL counts as no number."""
    return matches_number(entry.found, entry.expected)


def _name_trial(trial: Trial) -> str:
    return f"{trial.workload} on {trial.candidate}"


def _list_unjudged(run: Run, played: Sequence[Trial]) -> Iterator[Unjudged]:
    """Trials of which nothing was asked, and what no statement of the ledger covers."""
    for trial in played:
        yield from _list_uncovered(run, trial)
        if not trial.is_client_baseline and all(entry.digest for entry in trial.evidence):
            why = KEEPS_NOTHING if _keeps_nothing(run, trial) else "no ledger is declared"
            yield Inapplicable(why, _name_trial(trial))


def _list_uncovered(run: Run, trial: Trial) -> Iterator[Unjudged]:
    if trial.is_client_baseline or _keeps_nothing(run, trial):
        return
    asked = {entry.name: entry.expected for entry in trial.evidence}
    for entry in _list_declared(run, trial):
        if entry.unchecked:
            yield Unchecked(entry.unchecked, f"{entry.name} of {trial.workload}")
        elif entry.written and asked.get(entry.name) == 0:
            yield Unchecked("no sampled key was written for certain", _name_trial(trial))


def _describe_sound(played: Sequence[Trial]) -> str:
    asked = sum(not entry.digest for trial in played for entry in trial.evidence)
    if not asked:
        return ""
    return f"all {asked} numbers that the engines of {len(played)} trials were asked are as counted"


AUDIT = Ledger()
