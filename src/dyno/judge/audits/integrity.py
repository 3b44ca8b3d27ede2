"""Audit `integrity`: is what an engine holds whole after the last phase?

A build that skips the check of a key, or that breaks its own pages, may be faster and still answer
every question of the workload. So each engine is asked in a run's first block, after the last phase
and untimed: SQLite for its structure (`PRAGMA quick_check`) and its foreign keys, and every engine
for rows that share a unique key and for rows whose foreign key refers to nothing, by one question a
key. With `--check full` it is also asked to check every page, and every index against its rows, by
its own means: SQLite by `PRAGMA integrity_check`, MySQL and MariaDB by `CHECK TABLE … EXTENDED`,
PostgreSQL by amcheck (indexes since 11, rows since 14). A fault is *invalid*, and so is an answer
that the data are damaged. *Not checked*: what only `--check full` looks at, a question that was
refused, a key over an expression or a part of a column, DuckDB's foreign keys and pages, servers
that run already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    KEEPS_NOTHING,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    keeps_data,
)
from dyno.record import Finding, Trial


class Integrity:
    """Structure, unique and foreign keys, as the engine itself answers for them."""

    summary = "structure, unique and foreign keys are whole after the last phase"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each question that found faults; else a sound one with their number."""
        asked = [trial for trial in view.trials if trial.status == "ok" and trial.integrity]
        findings = [
            Finding(
                "integrity",
                "invalid",
                f"{trial.workload} on {trial.candidate}: {check.name} is broken "
                f"(trial {trial.number}: {'; '.join(check.faults)})",
                (trial.number,),
            )
            for trial in asked
            for check in trial.integrity
            if check.faults
        ]
        return conclude("integrity", findings, _describe_sound(asked), _list_unjudged(view, asked))


def _describe_sound(asked: Sequence[Trial]) -> str:
    checks = [it for trial in asked for it in trial.integrity if not it.unchecked]
    if not checks:
        return ""
    spent_s = sum(it.duration_s for it in checks)
    return f"{len(checks)} questions after {len(asked)} trials found no fault, in {spent_s:.1f} s"


def _list_unjudged(view: RunView, asked: Sequence[Trial]) -> Iterator[Unjudged]:
    for trial in asked:
        for check in trial.integrity:
            if check.unchecked:
                name = f"{check.name}, {trial.workload} on {trial.candidate}"
                yield Unchecked(check.unchecked, name)
    known = {trial.candidate for trial in asked}
    for side in view.run.candidates:
        if not keeps_data(side):
            yield Inapplicable(KEEPS_NOTHING, side.name)
        elif side.name not in known:
            yield Unchecked("the engine was not asked", side.name)


AUDIT = Integrity()
