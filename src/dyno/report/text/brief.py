"""What the verdict rests on, in a few lines for the terminal; the page has all of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dyno.judge.analysis.sentence import describe_pilot
from dyno.record import Observation, compute_host_score
from dyno.report import Book, basis, facts, words
from dyno.report.basis import (
    NONE,
    describe_clients,
    format_score,
    summarize_calibration,
    summarize_restarts,
)
from dyno.report.block_cost import describe_block_cost
from dyno.report.text import verdict

#: Of observations of the host, and of scores of the calibration.
SHOWN = 3


def build_brief_table(book: Book, everything: bool = False) -> Group:
    """The whole verdict (`build_verdict_table`) with these lines before its sentence."""
    return verdict.build_verdict_table(book.run, book.verdict, everything, build_brief_lines(book))


def build_brief_lines(book: Book) -> list[RenderableType]:
    """A heading and a line each for restarts, audits, pilot, conditions, host and calibration."""
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    for name, said in _list_rows(book):
        rows.add_row(f"  {name}", Text(said))
    return [Text("what it rests on", style="bold"), rows, Text()]


def _list_rows(book: Book) -> Iterator[tuple[str, str]]:
    found = summarize_restarts(book)
    lost = f"; {len(found.losses)} lost" if found.losses else "; nothing lost"
    yield "restarts", ", ".join(filter(None, (found.counted, found.loads))) + lost
    if found.spread:
        yield "", f"of one candidate {found.spread}"
    if cost := describe_block_cost(book):
        yield "", cost
    yield "audits", _describe_audits(book)
    yield from (("pilot" if not at else "", s) for at, s in enumerate(describe_pilot(book.run)))
    yield "conditions", _describe_conditions(book)
    yield "host", _describe_host(book.run.survey)
    if clients := describe_clients(book):
        yield "clients", clients.removeprefix("clients ")
    yield from (("by host" if not at else "", s) for at, s in enumerate(_list_host_effects(book)))
    yield from (
        ("calibration" if not at else "", line) for at, line in enumerate(_describe_errors(book))
    )


def _list_host_effects(book: Book) -> Iterator[str]:
    """`select rate, new: a +5.0 % [4.1, 5.9], b +4.8 % […]`, a line for each primary."""
    for row in book.verdict.comparisons:
        if row.primary and row.hosts:
            told = ", ".join(map(words.format_host_effect, row.hosts))
            yield f"{words.format_full_metric(row.metric)}, {row.candidate}: {told}"


def _describe_audits(book: Book) -> str:
    """`21 sound, 3 not checked (clock, noise, …), 11 do not apply`; the page says why."""
    findings = book.verdict.findings
    unchecked = dict.fromkeys(f.audit for f in findings if f.soundness == "not checked")
    told = [
        facts.format_count(word, number)
        + (f" ({', '.join(unchecked)})" if word == "not checked" else "")
        for word, number in facts.count_findings(findings).items()
    ]
    return ", ".join(told) or "none"


def _describe_conditions(book: Book) -> str:
    controls = basis.summarize_controls(book)
    refused = [f"{h.control}: {h.refused}" for h in controls if h.refused]
    return (
        "; ".join(filter(None, (basis.describe_controls(controls), *refused))) or "none on record"
    )


def _describe_host(survey: tuple[Observation, ...] | None) -> str:
    if survey is None:
        return "not surveyed: `dyno doctor` does it"
    against = [o for o in survey if o.points][:SHOWN]
    told = (
        f"{mark}: {', '.join(f'{o.name} ({o.found})' for o in group)}"
        for mark, group in groupby(against, key=lambda o: o.mark)
    )
    return "; ".join((f"{compute_host_score(survey)} of 100", *told))


def _describe_errors(book: Book) -> list[str]:
    known = summarize_calibration(book.run)
    if not known.when:
        return [NONE]
    stale = [f"STALE: {'; '.join(known.stale)}"] if known.stale else []
    without = [f"none on {', '.join(known.without)}: run `dyno calibrate`"] if known.without else []
    best = [*known.own, *([known.worst] if known.worst else [])][:SHOWN]
    return [f"{known.when}", *stale, *without, *map(format_score, best)]
