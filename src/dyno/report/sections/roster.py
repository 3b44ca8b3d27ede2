"""Section: every trial by its number; links to trials lead here."""

from __future__ import annotations

from dyno.numbers import format_count
from dyno.record import Trial
from dyno.report import Book, Section
from dyno.report import document as doc


def build(book: Book) -> doc.Document:
    """A folded row per trial, the client-only baseline's too; a link to a row opens the fold."""
    trials = sorted(book.trials, key=lambda trial: trial.number)
    counted = {t.number for t in book.view.counted_trials}
    rows: list[doc.TableRow] = [
        (
            doc.TableCell(str(t.number), anchor=f"trial-{t.number}"),
            t.workload,
            str(t.block + 1) if t.block >= 0 else "",
            *(str(t.attempt), str(t.order + 1), t.candidate, t.started_utc),
            _describe_count(book, t, t.number in counted),
        )
        for t in trials
    ]
    after = ("candidate", "began", "counts")
    columns = doc.make_columns("workload", "block", "attempt", "place", after=after)
    table = doc.RowTable((doc.TableColumn("trial", "number"), *columns), rows, searched=True)
    return [doc.Details(format_count(len(trials), "trial"), [table])] if trials else []


def _describe_count(book: Book, trial: Trial, counted: bool) -> str:
    if trial.block < 0:
        return "the client-only baseline"
    if counted or trial.status != "ok":
        return "yes" if counted else f"no: {trial.status}"
    if any((it.workload, it.block) == (trial.workload, trial.block) for it in book.view.dropped):
        return "no: its block was dropped"
    begun_anew = trial.number in book.view.torn_numbers
    return "no: begun anew" if begun_anew else "no: its block is not whole"


SECTION = Section("Trials by number", 72, build)
