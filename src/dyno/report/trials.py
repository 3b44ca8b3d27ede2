"""`trials.csv`: every number of every trial, for whoever wants to judge for himself."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from dyno.record import Trial
from dyno.report import Book, facts
from dyno.report.files import replace

COLUMNS = (
    "workload",
    "block",
    "attempt",
    "order",
    "trial",
    "candidate",
    "status",
    "started_utc",
    "phase",
    "transaction",
    "metric",
    "unit",
    "better",
    "value",
)


def write(book: Book) -> Path:
    """Writes `trials.csv` into the run's folder: a row per trial × metric, identity first.

    Where factors are crossed, a column `level_NAME` for each is added at the end.
    CPU of an engine in the driver's process comes without the driver's own (METHOD 10).
    A trial without numbers (it failed at once) still has one row, with empty metric columns.
    """
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    factors = [factor.name for factor in book.run.factors]
    levels = {side.name: side.levels for side in book.run.candidates}
    rows.writerow((*COLUMNS, *(f"level_{name}" for name in factors)))
    for trial in book.trials:
        own = levels.get(trial.candidate, {})
        more = tuple(own.get(name, "") for name in factors)
        rows.writerows((*row, *more) for row in _rows(book, trial))
    return replace(book.folder / "trials.csv", out.getvalue())


def _rows(book: Book, trial: Trial) -> Iterator[tuple[object, ...]]:
    who = (trial.workload, trial.block, trial.attempt, trial.order, trial.number)
    what = (trial.candidate, trial.status, trial.started_utc)
    found = sorted(facts.numbers_of(book, trial).items())
    for m, value in found:
        yield (*who, *what, m.phase, m.transaction, m.name, m.unit, m.better, repr(value))
    if not found:
        yield (*who, *what, "", "", "", "", "", "")
