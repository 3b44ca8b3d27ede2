"""Section: how fast data were loaded, and what they take on the disk.

A workload has a table here where its script counted bytes (`dyno.count("data_bytes", …)`): a row
for each candidate, with its primary numbers and each counter of bytes, as the engine says them, and
the files of all its data, as the file system does.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from dyno import numbers
from dyno.judge.analysis.effect_words import format_metric_name
from dyno.record import Metric, Trial, WorkloadPlan
from dyno.report import Book, Section, facts
from dyno.report.document import Document, Prose, RowTable, TableCell, TableRow, make_columns

MEDIANS = (
    "Medians over the valid blocks; beside them candidate ÷ base. Data and index are what the "
    "engine says of the tables; files are those of all its data at the trial's end, with what the "
    "engine keeps beside the tables, logs left out."
)
ENDING = "_bytes"


def build(book: Book) -> Document:
    """A table per workload whose script counted bytes."""
    found = [table for w in book.run.workloads if (table := _build_table(book, w))]
    return [*found, Prose(MEDIANS, "quiet")] if found else []


def _build_table(book: Book, workload: WorkloadPlan) -> RowTable | None:
    trials = book.view.list_counted(workload.name)
    counters = list(dict.fromkeys(n for t in trials for n in t.counters if n.endswith(ENDING)))
    if not counters:
        return None
    typical = facts.compute_medians(book, trials)
    metrics = sorted(
        {metric for _, metric in typical if _is_primary(workload, metric)},
        key=lambda metric: facts.make_sort_key(book, metric),
    )
    base = book.run.design.base
    rows: list[TableRow] = []
    for candidate in book.view.candidates:
        own = [trial for trial in trials if trial.candidate == candidate]
        bases = [trial for trial in trials if trial.candidate == base]
        cells = [
            _format_cell(
                typical.get((candidate, m)), typical.get((base, m)), m.unit, candidate == base
            )
            for m in metrics
        ]
        for name in (*counters, ""):
            sizes = _compute_bytes(own, name), _compute_bytes(bases, name)
            cells.append(_format_cell(*sizes, "B", candidate == base))
        rows.append((candidate, *cells))
    heads = [f"{metric.phase}, {format_metric_name(metric.name)}" for metric in metrics]
    sizes_heads = [name.removesuffix(ENDING).replace("_", " ") for name in counters]
    return RowTable(make_columns("candidate", *heads, *sizes_heads, "files"), rows, workload.name)


def _is_primary(workload: WorkloadPlan, metric: Metric) -> bool:
    return any(
        (phase.name, primary.stream, primary.metric)
        == (metric.phase, metric.transaction, metric.name)
        for phase in workload.phases
        for primary in phase.primary
    )


def _compute_bytes(trials: Sequence[Trial], counter: str) -> float | None:
    """The median of a counter, or without a name of the files' size; None where nobody said it."""
    if counter:
        found = [trial.counters.get(counter) for trial in trials]
    else:
        held = [trial.conditions.data for trial in trials]
        found = [data.size_bytes if data else None for data in held]
    known = [size for size in found if size is not None]
    return median(known) if known else None


def _format_cell(
    value: float | None, reference: float | None, unit: str, is_base: bool
) -> TableCell:
    if value is None:
        return TableCell(numbers.DASH)
    text = numbers.format_quantity(value, unit)
    if is_base or not reference:
        return TableCell(text)
    return TableCell(text, beside=f"{numbers.format_ratio(value / reference)}×")


SECTION = Section("Loads and sizes", 58, build)
