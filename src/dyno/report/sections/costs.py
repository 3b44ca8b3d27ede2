"""Section: where the time went: what an operation of each phase cost the engine.

The columns are whatever the probes gave for a whole phase, and the longest answer; the form is
again the insert benchmark's, where cost per operation explains a rate.
"""

from __future__ import annotations

import math

from dyno import numbers
from dyno.judge.analysis.effect_words import format_metric_name
from dyno.judge.analysis.measures import find_client_baselines
from dyno.record import Metric, Tally
from dyno.report import Book, Section, facts
from dyno.report import document as doc

MEDIANS = (
    "Medians over the valid blocks; beside them candidate ÷ base. Counters are divided by the "
    "operations of the phase, sizes are those at its end, and the longest response is that of all "
    "trials."
)
EMBEDDED = (
    " Engines that live in the driver's process have the driver's own CPU, as measured without "
    "them, taken off."
)


def build(book: Book) -> doc.Document:
    """A table per workload, a row per phase and candidate."""
    names = [w.name for w in book.run.workloads if book.view.list_counted(w.name)]
    embedded = bool(find_client_baselines(book.trials)) and any(
        c.embedded for c in book.run.candidates
    )
    found = [_build_costs(book, name) for name in names]
    told = doc.Prose(MEDIANS + (EMBEDDED if embedded else ""), "quiet")
    return [*found, told] if found else []


def _build_costs(book: Book, workload: str) -> doc.RowTable:
    trials = book.view.list_counted(workload)
    numbers_of = facts.compute_medians(book, trials)
    costs = sorted({m for _, m in numbers_of if m.transaction == ""}, key=lambda m: m.name)
    names = list(dict.fromkeys(metric.name for metric in costs))
    phases = list(dict.fromkeys(stream.phase for stream in facts.list_streams(book, workload)))
    rows: list[doc.TableRow] = []
    for phase in phases:
        own = {m.name: m for m in costs if m.phase == phase}
        rows.append(doc.Group(phase))
        for candidate in book.view.candidates:
            base = book.run.design.base
            cells = [_format_cost(numbers_of, (candidate, base), own.get(name)) for name in names]
            cells.append(_find_longest(book, workload, phase, candidate))
            rows.append((candidate, *cells))
    columns = [*map(_format_heading, names), "max response"]
    return doc.RowTable(doc.make_columns("phase", *columns), rows, workload)


def _format_heading(name: str) -> str:
    return format_metric_name(name).removesuffix("/op")


def _format_cost(
    numbers_of: dict[tuple[str, Metric], float], sides: tuple[str, str], metric: Metric | None
) -> doc.TableCell:
    candidate, base = sides
    if metric is None or (candidate, metric) not in numbers_of:
        return doc.TableCell(numbers.DASH)
    value, reference = numbers_of[candidate, metric], numbers_of.get((base, metric), math.nan)
    text = numbers.format_quantity(value, metric.unit)
    if candidate == base or not reference > 0:
        return doc.TableCell(text)
    return doc.TableCell(text, beside=f"{numbers.format_ratio(value / reference)}×")


def _find_longest(book: Book, workload: str, phase: str, candidate: str) -> doc.TableCell:
    found: list[Tally] = [
        tally
        for trial in book.view.list_counted(workload)
        if trial.candidate == candidate
        for record in trial.phases
        if record.phase == phase
        for tally in record.streams
    ]
    longest = max((float(tally.latency.max_ns) for tally in found), default=math.nan)
    return doc.TableCell(numbers.format_quantity(longest, "ns"))


SECTION = Section("Cost of an operation", 62, build)
