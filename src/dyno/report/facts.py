"""What the sections ask of a book: who played, which trials count, and their numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from dyno.analysis.measures import floor_key, floors, measures
from dyno.record import FLOOR, Finding, Metric, PhaseRecord, Tally, Trial
from dyno.report import Book


@dataclass(frozen=True)
class Stream:
    """A stream of a phase of a workload, as the tables and charts name it."""

    workload: str
    phase: str
    name: str
    unit: str

    @property
    def label(self) -> str:
        """`insert / qr100 / query`."""
        return f"{self.workload} / {self.phase} / {self.name}"


def candidates(book: Book) -> list[str]:
    """The candidates' names, the base first, the others as the user wrote them."""
    names = [candidate.name for candidate in book.run.candidates]
    return sorted(names, key=lambda name: name != book.run.design.base)


def compared(book: Book) -> list[str]:
    """The candidates; where factors are crossed, the base and then every main effect."""
    if not book.run.factors:
        return candidates(book)
    mains = (c.candidate for c in book.verdict.comparisons if len(c.levels) == 1)
    return [book.run.design.base, *dict.fromkeys(mains)]


def played(book: Book, workload: str = "") -> list[Trial]:
    """The trials of blocks (of one workload, or all) by number: no floor, torn ones included."""
    return [
        trial
        for trial in sorted(book.trials, key=lambda t: t.number)
        if trial.candidate != FLOOR and trial.block >= 0 and workload in ("", trial.workload)
    ]


def torn(book: Book) -> set[int]:
    """Numbers of the trials of a block that was begun anew afterwards."""
    last: dict[tuple[str, int], int] = defaultdict(int)
    for t in played(book):
        last[t.workload, t.block] = max(last[t.workload, t.block], t.attempt)
    return {t.number for t in played(book) if t.attempt < last[t.workload, t.block]}


def dropped(book: Book) -> set[tuple[str, int]]:
    """The blocks lost to noise, as (workload, block).

    The verdict names them in words that end with the block's number and begin with the workload.
    """
    found = set()
    names = [workload.name for workload in book.run.workloads]
    for key in book.verdict.dropped:
        number = re.search(r"(\d+)\D*$", key)
        if number:
            at = sorted((n for n in names if key.startswith(n)), key=len)[-1:] or names
            found |= {(name, int(number[1])) for name in at}
    return found


def counted(book: Book, workload: str) -> list[Trial]:
    """The trials that the verdict rests on: ended well, not torn, not in a dropped block."""
    lost, broken = dropped(book), torn(book)
    return [
        trial
        for trial in played(book, workload)
        if trial.status == "ok"
        and trial.number not in broken
        and (trial.workload, trial.block) not in lost
    ]


def streams(book: Book, workload: str) -> list[Stream]:
    """Every stream that a trial of `workload` played, in the order of the phases."""
    found: dict[Stream, None] = {}
    for trial in played(book, workload):
        for record in trial.phases:
            for tally in record.streams:
                found[Stream(workload, record.phase, tally.name, tally.unit)] = None
    return list(found)


def all_streams(book: Book) -> list[Stream]:
    """The streams of every workload, in the run's order."""
    return [s for workload in book.run.workloads for s in streams(book, workload.name)]


def tallies(trials: Iterable[Trial], stream: Stream) -> list[tuple[Trial, PhaseRecord, Tally]]:
    """What each of `trials` did in `stream`."""
    return [
        (trial, record, tally)
        for trial in trials
        for record in trial.phases
        if trial.workload == stream.workload and record.phase == stream.phase
        for tally in record.streams
        if tally.name == stream.name
    ]


def numbers_of(book: Book, trial: Trial) -> dict[Metric, float]:
    """The trial's numbers as the judge reads them.

    Where the engine lives in the driver's process, the driver's own CPU is taken off (METHOD.md,
    What is compared).
    """
    embedded = {c.name for c in book.run.candidates if c.embedded}
    floor = floors(book.trials).get(floor_key(trial)) if trial.candidate in embedded else None
    return measures(trial, floor)


def typical(book: Book, trials: Sequence[Trial]) -> dict[tuple[str, Metric], float]:
    """The median over `trials` of each number, by (candidate, metric)."""
    values: dict[tuple[str, Metric], list[float]] = defaultdict(list)
    for trial in trials:
        for metric, value in numbers_of(book, trial).items():
            values[trial.candidate, metric].append(value)
    return {key: median(found) for key, found in values.items()}


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Invalid, doubtful, sound."""
    return sorted(findings, key=lambda f: ("invalid", "doubtful", "sound").index(f.soundness))


def metric_order(book: Book, metric: Metric) -> tuple[int, int, str, str]:
    """Sorts metrics by workload and phase as played, then by stream and name."""
    names = [workload.name for workload in book.run.workloads]
    phases = [p["name"] for w in book.run.workloads if w.name == metric.workload for p in w.phases]
    at = names.index(metric.workload) if metric.workload in names else len(names)
    phase = phases.index(metric.phase) if metric.phase in phases else len(phases)
    return at, phase, metric.transaction, metric.name
