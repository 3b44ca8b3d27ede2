"""Audit `ledger`: was the work really done?

Three accounts must agree. The engine's own number (`SELECT count(*)`) must equal what the script
counted as done; a stream's events must add up, to the last one, in its counts, its histogram and
its seconds; and the events that failed must be few, since an error answers faster than the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation

from dyno.record import FLOOR, Finding, PhaseRecord, Run, Soundness, Tally, Trial

#: Failed events in percent of those begun. A retry or a deadlock now and then belongs to a
#: workload; beyond one in a hundred the failures move the tail, beyond half they are the load.
DOUBTFUL_PERCENT = 1.0
INVALID_PERCENT = 50.0

#: What is wrong with a trial: how badly, in words that other trials may share, and its own numbers.
_Fault = tuple[Soundness, str, str]


class Ledger:
    """Compares what the engine holds, what the script counted and what the driver tallied."""

    summary = "the engine's rows equal the script's counts, events add up, few of them failed"

    def judge(self, run: Run, trials: Sequence[Trial]) -> list[Finding]:
        """A finding for each fault, with all the trials that share it; else one that is sound."""
        played = [trial for trial in trials if trial.status == "ok"]
        faults: dict[tuple[Soundness, str], dict[int, str]] = {}
        for trial in played:
            for soundness, words, numbers in _faults(run, trial):
                faults.setdefault((soundness, words), {}).setdefault(trial.number, numbers)
        if not faults:
            return [Finding("ledger", "sound", _checked(played))]
        return [_finding(*fault, seen) for fault, seen in faults.items()]


def _finding(soundness: Soundness, words: str, seen: dict[int, str]) -> Finding:
    """One finding for the trials that share a fault, with the numbers of the first."""
    first, numbers = next(iter(seen.items()))
    example = f" (trial {first}: {numbers})" if numbers else ""
    return Finding("ledger", soundness, words + example, tuple(seen))


def _faults(run: Run, trial: Trial) -> Iterator[_Fault]:
    yield from _evidence(run, trial)
    if not any(tally.done for phase in trial.phases for tally in phase.streams):
        yield "invalid", f"{_who(trial)} did nothing at all", ""
        return
    for phase in trial.phases:
        for tally in phase.streams:
            yield from _accounts(trial, phase, tally)
            yield from _failures(trial, phase, tally)


def _evidence(run: Run, trial: Trial) -> Iterator[_Fault]:
    for entry in trial.evidence:
        if not _equal(entry.found, entry.expected):
            words = f"{_who(trial)} lost or made up work in '{entry.name}'"
            numbers = f"{entry.expected} counted, the engine says {entry.found or 'nothing'}"
            yield "invalid", words, numbers
    declared = next((each.ledger for each in run.workloads if each.name == trial.workload), ())
    if declared and not trial.evidence and not _keeps_nothing(run, trial):
        words = f"{_who(trial)} left no evidence, though the workload declares a ledger"
        yield "doubtful", words, ""


def _accounts(trial: Trial, phase: PhaseRecord, tally: Tally) -> Iterator[_Fault]:
    """The events of a stream, counted in four ways that share no code in the driver."""
    where = f"{_who(trial)}, {phase.phase}/{tally.name}"
    parts = tally.done + tally.failed + tally.skipped
    if tally.intended != parts:
        numbers = f"{tally.intended} intended, {parts} accounted for"
        yield "invalid", f"{where}: events are missing", numbers
    accounts = {"histogram": tally.latency.count, "seconds": sum(tally.series.done)}
    if tally.transactions:
        accounts["types"] = sum(each.count for each in tally.transactions.values())
    for name, count in accounts.items():
        if count != tally.done:
            words = f"{where}: the stream's {name} and its count differ"
            yield "invalid", words, f"{count} and {tally.done} events"


def _failures(trial: Trial, phase: PhaseRecord, tally: Tally) -> Iterator[_Fault]:
    begun = tally.done + tally.failed
    percent = 100 * tally.failed / begun if begun else 0.0
    where = f"{_who(trial)}, {phase.phase}/{tally.name}"
    codes = f" with {', '.join(sorted(tally.errors))}" if tally.errors else ""
    numbers = f"{percent:.1f} %{codes}"
    if percent > INVALID_PERCENT:
        yield "invalid", f"{where}: more than {INVALID_PERCENT:.0f} % of the events failed", numbers
    elif percent > DOUBTFUL_PERCENT:
        words = f"{where}: more than {DOUBTFUL_PERCENT:.0f} % of the events failed"
        yield "doubtful", words, numbers
    elif not begun and tally.intended:
        yield "doubtful", f"{where}: none of the events that were due was begun", ""


def _keeps_nothing(run: Run, trial: Trial) -> bool:
    """`null` holds no data that could be asked for; the floor is played on it."""
    null = {side.name for side in run.candidates if side.engine == "null"}
    return trial.candidate in {FLOOR, *null}


def _equal(found: str, expected: int) -> bool:
    """As numbers: one engine's 10 is another's `10.0` or `10.000`; NULL counts as no number."""
    try:
        return Decimal(found) == expected
    except InvalidOperation:
        return False


def _who(trial: Trial) -> str:
    return f"{trial.workload} on {trial.candidate}"


def _checked(played: Sequence[Trial]) -> str:
    asked = sum(len(trial.evidence) for trial in played)
    counts = f"the events of {len(played)} trials add up and few failed"
    if not asked:
        return f"{counts}; no engine was asked, since none keeps data or no ledger is declared"
    return f"{counts}; all {asked} numbers asked of the engines are as counted"


AUDIT = Ledger()
