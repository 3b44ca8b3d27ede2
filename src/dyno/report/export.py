"""What other programs read of a run: `trials.csv`, and the result that `--json` writes.

`trials.csv` has every number of every trial, to be judged by others; a row of
`--json` is one comparison, flat, with plain names.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dyno.judge.analysis.effect_words import describe_verdict
from dyno.numbers import format_count, keep_finite
from dyno.record import Comparison, Metric, Trial, Verdict
from dyno.record.decode import encode
from dyno.report import Book
from dyno.report.accepted import AcceptedLoss, describe_accepted
from dyno.report.basis import summarize_restarts
from dyno.report.headline import build_headline, shorten_cause
from dyno.report.html.page import replace_file
from dyno.report.names import name_measurements
from dyno.report.rehearsal import build_rehearsal
from dyno.report.result import Cell, Result


def build_result(book: Book) -> Result:
    """Return a comparison, or a rehearsal, as formats tell it."""
    run, verdict = book.run, book.verdict
    rows = [it for it in verdict.comparisons if it.primary]
    primary = {row.metric for row in rows}
    values: dict[tuple[str, Metric], list[float]] = {}
    for trial in (each for plan in run.workloads for each in book.view.list_counted(plan.name)):
        for metric, value in book.view.compute_numbers(trial).items():
            if metric in primary:
                values.setdefault((trial.candidate, metric), []).append(value)
    numbers = (list_columns(book), list(list_trial_rows(book)))
    return Result(
        noun="a rehearsal" if verdict.rehearsal else "a comparison",
        name=run.name,
        headline=verdict.sentence
        if verdict.rehearsal
        else f"{build_headline(run.candidates, verdict)}.",
        verdict=verdict,
        sides=run.candidates,
        workloads=[plan.name for plan in run.workloads],
        rows=name_measurements(run, rows),
        values=values,
        numbers=numbers,
        causes=[shorten_cause(it, "in the report") for it in verdict.causes],
        warnings=[] if verdict.rehearsal else list(_list_warnings(book)),
        basis=[f"{summarize_restarts(book).counted}, seed {run.seed}"],
        command=run.command,
        document=build_rehearsal(book) if verdict.rehearsal else (),
    )


def _list_warnings(book: Book) -> Iterator[str]:
    """What was not measured, and what failed."""
    measured = {it.metric.workload for it in book.verdict.comparisons if it.primary}
    for plan in book.run.workloads:
        if plan.name not in measured:
            yield f"{plan.name} was not measured"
    failed = [it for it in book.view.played_trials if it.failure]
    if failed:
        first, told = failed[0], format_count(len(failed), "trial")
        yield f"{told} failed, the first on {first.candidate}: {first.why_failed}"


def to_json_result(verdict: Verdict, losses: tuple[AcceptedLoss, ...] = ()) -> dict[str, Any]:
    """What `--json` writes, ready for `json.dump`: the verdict as a whole, and its rows.

    `overall` is the word of the run (`record/verdict.py`), `sentence` says it, and `doubts` are the
    audits that doubt it, each with its sentence; `complete` is false where a run was interrupted.
    `rehearsal` has the classes of a rehearsal (`record/rehearsal.py`).
    `comparisons` are the rows of `to_json_rows`; one whose loss is one of `losses` has `accepted`:
    until when and why. What a failed run writes is `to_json_failure`.
    """
    found = verdict.rehearsal
    classes = {"rehearsal": encode(found)} if found else {}
    return {
        "overall": verdict.overall,
        "sentence": verdict.sentence,
        "complete": verdict.complete,
        "doubts": [encode(doubt) for doubt in verdict.doubts],
        **classes,
        "comparisons": to_json_rows(verdict, losses),
    }


def to_json_failure(sentence: str, hint: str, exit_code: int) -> dict[str, Any]:
    """What `--json` writes of a run that failed: `overall` is `failed`, `sentence` says why, `hint`
    what to do, and `exit_code` is that of the command; `comparisons` is empty.
    """
    return {
        "overall": "failed",
        "sentence": sentence,
        "hint": hint,
        "exit_code": exit_code,
        "complete": False,
        "doubts": [],
        "comparisons": [],
    }


def to_json_rows(verdict: Verdict, losses: tuple[AcceptedLoss, ...] = ()) -> list[dict[str, Any]]:
    """One dict per comparison, primaries first, ready for `json.dump`.

    `base` and `candidate` are the sides' names. `change_percent`, `low_percent` and
    `high_percent` are all slowdowns in percent (the candidate's time ÷ the base's − 1, so a rate
    that falls by a half is +100, and positive is worse whatever the direction): the change lies
    in its interval. `blocks` counts the valid ones, `dropped` those lost to noise. A number that
    is not known (an interval from one block) is None. `levels` is empty but where factors are
    crossed: there it maps the factors of the effect to their levels; several make an interaction.
    `base_value` and `candidate_value` are in `unit`, geometric means over the blocks that count.
    `verdict` is one of five words whatever the metric, `word` the same in the metric's own (of a
    size *faster* is `smaller`), and `notes` say what is to be known of it.
    `doubts` lists the audits that doubt the row, each with its sentence; it is empty where none do.
    `hosts`, in rows of a gathered run alone, has each host's slowdown (`record/verdict.py`).
    `cause` says what changed on the candidate (plans, CPU time by layer, server counters,
    instructions); empty where nothing of that is on record. `layers` has the CPU time of an
    operation in the row's phase by layer, in ns, all of it first; empty where it was not sampled,
    and in rows that decide nothing. `instructions` has the count of the row's phase where one was
    made (`record/cause.py`, `InstructionChange`), else None.
    """
    ordered = sorted(verdict.comparisons, key=lambda c: not c.primary)
    causes = {cause.candidate: cause.sentence for cause in verdict.causes}
    return [
        _to_json_row(row)
        | {
            "cause": causes.get(row.candidate, ""),
            "layers": _to_layer_rows(verdict, row),
            "instructions": _find_instructions(verdict, row),
        }
        | ({"accepted": told} if (told := describe_accepted(losses, row)) else {})
        for row in ordered
    ]


def _to_layer_rows(verdict: Verdict, row: Comparison) -> list[dict[str, Any]]:
    cpu = [
        each
        for cause in verdict.causes
        for each in cause.cpu
        if row.primary
        and (each.candidate, each.workload, each.phase)
        == (row.candidate, row.metric.workload, row.metric.phase)
    ]
    layers = [layer for each in cpu for layer in (each.total, *each.layers)]
    return [{k: v for k, v in encode(layer).items() if k != "functions"} for layer in layers]


def _find_instructions(verdict: Verdict, row: Comparison) -> dict[str, Any] | None:
    return next(
        (
            encode(each)
            for cause in verdict.causes
            for each in cause.instructions
            if cause.candidate == row.candidate
            if (each.workload, each.phase) == (row.metric.workload, row.metric.phase)
        ),
        None,
    )


def _to_json_row(comparison: Comparison) -> dict[str, Any]:
    metric = comparison.metric
    return {
        "workload": metric.workload,
        "phase": metric.phase,
        "metric": f"{metric.transaction}.{metric.name}".lstrip("."),
        "unit": metric.unit,
        "direction": metric.better,
        "primary": comparison.primary,
        "base": comparison.base,
        "candidate": comparison.candidate,
        "base_value": keep_finite(comparison.base_value),
        "candidate_value": keep_finite(comparison.candidate_value),
        "change_percent": keep_finite(comparison.slowdown_percent),
        "low_percent": keep_finite(comparison.low_percent),
        "high_percent": keep_finite(comparison.high_percent),
        "blocks": comparison.blocks,
        "dropped": comparison.dropped,
        "mde80_percent": keep_finite(comparison.mde80_percent),
        "margin_percent": comparison.margin_percent,
        "verdict": comparison.verdict,
        "word": describe_verdict(comparison),
        "notes": list(comparison.notes),
        "levels": comparison.levels,
        "doubts": [encode(doubt) for doubt in comparison.doubts],
        **({"hosts": [encode(each) for each in comparison.hosts]} if comparison.hosts else {}),
    }


#: How a cell begins that Excel, LibreOffice and others compute.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)")
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


def write_csv(book: Book) -> Path:
    """Writes `trials.csv` into the run's folder: a row per trial × metric, identity first.

    A gathered run has a column `host`; where factors are crossed, a column `level_NAME` for each is
    added at the end.
    Blocks count from 1, as in the report and on the terminal; the client-only baseline is in none.
    CPU of an engine in the driver's process comes without the driver's own (METHOD.md, What is
    compared).
    A trial without numbers (it failed at once) still has one row, with empty metric columns. A
    name that a spreadsheet would take for a formula stands behind an apostrophe.
    """
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(map(_escape_formula, list_columns(book)))
    for row in list_trial_rows(book):
        rows.writerow(_escape_formula(_format_cell(cell)) for cell in row)
    return replace_file(book.folder / "trials.csv", out.getvalue())


def _format_cell(cell: Cell) -> str | int:
    """A number with all its digits; what is not known as nothing."""
    return "" if cell is None else repr(cell) if isinstance(cell, float) else cell


def list_columns(book: Book) -> list[str]:
    """The names of a row's cells: a gathered run's have their host, those of factors' levels are
    last.
    """
    hosts = ["host"] if book.run.gathered else []
    return [*COLUMNS, *hosts, *(f"level_{factor.name}" for factor in book.run.factors)]


def list_trial_rows(book: Book) -> Iterator[tuple[Cell, ...]]:
    """A row for each trial × metric, by `list_columns`; `value` is a float, None without one."""
    factors = [factor.name for factor in book.run.factors]
    levels = {side.name: side.levels for side in book.run.candidates}
    for trial in book.trials:
        own = levels.get(trial.candidate, {})
        hosts = (trial.host,) if book.run.gathered else ()
        more = (*hosts, *(own.get(name, "") for name in factors))
        yield from ((*row, *more) for row in _build_trial_rows(book, trial))


def _escape_formula(cell: object) -> object:
    """The cell; a text that begins as a formula does, behind an apostrophe. Numbers, which come as
    text where all their digits count, stay.
    """
    text = cell if isinstance(cell, str) else ""
    begins = text.startswith(_FORMULA)
    return f"'{text}" if begins and not _NUMBER.fullmatch(text) else cell


def _build_trial_rows(book: Book, trial: Trial) -> Iterator[tuple[Cell, ...]]:
    block = trial.block + 1 if trial.block >= 0 else None  # as everywhere that a person reads
    who = (trial.workload, block, trial.attempt, trial.order, trial.number)
    what = (trial.candidate, trial.status, trial.started_utc)
    found = sorted(book.view.compute_numbers(trial).items())
    for m, value in found:
        yield (*who, *what, m.phase, m.transaction, m.name, m.unit, m.better, float(value))
    if not found:
        yield (*who, *what, "", "", "", "", "", None)
