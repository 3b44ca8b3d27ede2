"""Section: the insert benchmark's own tables: the rate of each phase, absolute and relative.

The form is Mark Callaghan's (mytools, bench/ibench): a rate of less than 0.95 of the base's is
marked, one of more than 1.05 too; a phase in which a paced writer missed 95 % of its target is
grey, its readers with it, who had an easier time than they should.
"""

from __future__ import annotations

import math
from statistics import median

from dyno import numbers
from dyno.report import Book, Section, facts
from dyno.report import document as doc

SLOWER, FASTER, TARGET = 0.95, 1.05, 0.95

MEDIANS: doc.Words = (
    "Medians over the valid blocks. Relative: candidate ÷ base; marked as ",
    doc.TextSpan("low", "bad"),
    " below 0.95, as ",
    doc.TextSpan("high", "good"),
    " above 1.05, and as ",
    doc.TextSpan("missed", "quiet"),
    " where a paced stream of the phase missed 95 % of its target. No error rate stands behind "
    "these colours: the verdict is above.",
)


def build(book: Book) -> doc.Document:
    """Two tables per workload, a row per stream, a column per candidate."""
    names = [w.name for w in book.run.workloads if book.view.list_counted(w.name)]
    found = [table for name in names for table in _build_rates(book, name)]
    return [*found, doc.Prose(MEDIANS, "quiet")] if found else []


def _build_rates(book: Book, workload: str) -> list[doc.RowTable]:
    names = book.view.candidates
    absolute: list[doc.TableRow] = []
    relative: list[doc.TableRow] = []
    for stream in facts.list_streams(book, workload):
        rates = {name: _compute_rate(book, stream, name) for name in names}
        missed = {name: _describe_missed_target(book, stream, name) for name in names}
        label = f"{stream.phase} {stream.name}"
        cells = [_format_absolute(rates[name], missed[name]) for name in names]
        absolute.append((doc.TableCell(label, f"{stream.unit}/s"), *cells))
        base = rates[names[0]] or math.nan
        others = [_format_relative(rates[n] / base, missed[n]) for n in names[1:]]
        relative.append((label, *others))
    return [
        doc.RowTable(doc.make_columns("phase and stream", *names), absolute, f"{workload}: rate"),
        doc.RowTable(
            doc.make_columns("phase and stream", *names[1:]),
            relative,
            f"{workload}: rate relative to {names[0]}",
        ),
    ]


def _compute_rate(book: Book, stream: facts.StreamFacts, candidate: str) -> float:
    """The median rate in units per second; NaN where the candidate has no valid trial."""
    found = facts.collect_tallies(book.view.list_counted(stream.workload), stream)
    rates = [
        tally.done * tally.units_per_event / record.duration_s
        for trial, record, tally in found
        if trial.candidate == candidate and record.duration_s > 0
    ]
    return median(rates) if any(rates) else math.nan


def _describe_missed_target(book: Book, stream: facts.StreamFacts, candidate: str) -> str:
    """Why the cell is grey, or nothing: the share of its target that a paced stream kept.

    Every stream of the phase is grey with it: readers beside a late writer had less to bear.
    """
    for beside in facts.list_streams(book, stream.workload):
        kept = (
            _compute_target_share(book, beside, candidate)
            if beside.phase == stream.phase
            else math.nan
        )
        if kept < TARGET:
            return f"{beside.name} kept {100 * kept:.0f} % of its target"
    return ""


def _compute_target_share(book: Book, stream: facts.StreamFacts, candidate: str) -> float:
    """The median share of its target that a paced stream kept; NaN where it has none."""
    found = facts.collect_tallies(book.view.list_counted(stream.workload), stream)
    kept = [
        tally.done / record.duration_s / tally.target_per_s
        for trial, record, tally in found
        if trial.candidate == candidate and tally.target_per_s and record.duration_s > 0
    ]
    return median(kept) if kept else math.nan


def _format_absolute(rate: float, missed: str) -> doc.TableCell:
    tone: doc.Tone = "quiet" if missed else ""
    return doc.TableCell(doc.TextSpan(numbers.format_quantity(rate, "/s"), why=missed), tone=tone)


def _format_relative(share: float, missed: str) -> doc.TableCell:
    tone: doc.Tone = "bad" if share < SLOWER else "good" if share > FASTER else ""
    told = doc.TextSpan(numbers.format_ratio(share), why=missed)
    return doc.TableCell(told, tone="quiet" if missed else tone)


SECTION = Section("Rates", 60, build)
