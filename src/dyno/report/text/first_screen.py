"""The first screen of a run on a terminal: verdict, intervals as a forest plot, what it rests on.

It says as much without colour (NO_COLOR, a pipe) as with it. The whole verdict is `brief`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dyno.judge.analysis.sentence import describe_conditions, describe_slices
from dyno.record import (
    Candidate,
    Comparison,
    Finding,
    Run,
    Soundness,
    compute_host_score,
)
from dyno.record.build_facts import read_build_facts
from dyno.report import Book, facts, words
from dyno.report.basis import describe_clients, summarize_calibration, summarize_restarts
from dyno.report.headline import (
    WORST_FIRST,
    build_headline,
    choose_rows,
    describe_largest,
    list_decisive,
    list_reasons,
    shorten_cause,
)
from dyno.report.names import NamedRow, describe_candidate, name_measurements
from dyno.report.text.plotted_table import Paragraph, PlottedTable
from dyno.report.text.verdict import STYLES

#: Rows that are shown at most.
ROWS = 12
#: Candidates that are described, causes that are told, and notes of rows.
SIDES, CAUSES, NOTES = 3, 2, 3


def build_first_screen(book: Book, width: int) -> Group:
    """Verdict, table, cause, and a line or two of what it rests on, in `width` columns."""
    run, verdict = book.run, book.verdict
    style = STYLES["doubtful" if verdict.doubts else verdict.overall]
    headline = f"{build_headline(run, verdict)}."
    parts: list[RenderableType] = [Paragraph(headline, style, indent=0)]
    if largest := describe_largest(run, verdict):
        parts.append(Paragraph(f"{largest[0].upper()}{largest[1:]}."))
    parts += [Paragraph(each) for each in list_reasons(run, verdict)]
    parts += [Text(), *_build_table(run, list_decisive(verdict), book, width)]
    parts += _build_causes(book)
    parts += [Paragraph(line) for line in describe_basis(book)]
    return Group(*parts)


def _build_table(
    run: Run, rows: Sequence[Comparison], book: Book, width: int
) -> Iterator[RenderableType]:
    if not rows:
        return
    named = name_measurements(run, rows)
    shown = choose_rows(named, ROWS)
    level = f"{100 * (1 - run.design.alpha):g} %"
    table = PlottedTable(run.candidates, shown, level, width)
    yield from table.build_lines(book.verdict.comparisons)
    if left := [it for it in named if not any(it is each for each in shown)]:
        yield Text(f"  {_count_words(left)} not shown: dyno show {book.folder.name}", style="dim")
    yield from (Paragraph(note, "dim") for note in _list_notes(shown))
    yield Text()


def _count_words(rows: Sequence[NamedRow]) -> str:
    """`12 more rows (9 not slower, 3 faster)`."""
    found = [it.row.verdict for it in rows]
    each = ", ".join(f"{found.count(w)} {w}" for w in WORST_FIRST if w in found)
    return f"{words.format_count(len(rows), 'more row')} ({each})"


def _list_notes(rows: Sequence[NamedRow]) -> list[str]:
    """What is to be known of rows, once each, the most common first."""
    notes: dict[str, list[str]] = {}
    for it in rows:
        for note in it.row.notes:
            notes.setdefault(note, []).append(it.title)
    found = sorted(notes.items(), key=lambda pair: -len(pair[1]))
    told = [
        note if len(titles) == len(rows) else f"{', '.join(dict.fromkeys(titles))}: {note}"
        for note, titles in found
    ]
    more = len(told) - NOTES
    return told[:NOTES] + ([f"and {more} more notes, in the report"] if more > 0 else [])


def _build_causes(book: Book) -> Iterator[RenderableType]:
    """What changed, of the first candidates; the page has all."""
    causes = book.verdict.causes
    for cause in causes[:CAUSES]:
        whose = f" on {cause.candidate}" if len(causes) > 1 else ""
        yield Paragraph(f"what changed{whose}: {shorten_cause(cause, 'in the report')}")
    if (more := len(causes) - CAUSES) > 0:
        yield Paragraph(f"what changed on {words.format_count(more, 'more candidate')}: the report")
    if causes:
        yield Text()


def describe_basis(book: Book) -> list[str]:
    """What the verdict rests on, a line each; with losses, doubts and lacks by name."""
    told = (_describe_soundness, _describe_setting, describe_clients, _describe_quick)
    return [line for describe in told if (line := describe(book))]


def _describe_soundness(book: Book) -> str:
    """`decided at 6 blocks, none dropped · audits: 22 sound, 7 not checked · host 83 of 100 …`."""
    findings, survey = book.verdict.findings, book.run.survey
    applying = [it for it in findings if it.soundness != "does not apply"]
    counts = facts.count_findings(applying)
    audits = ", ".join(_count_audits(applying, *each) for each in counts.items()) or "none"
    poor = [o.name for o in survey or () if o.mark == "poor"]
    host = "host not surveyed" if survey is None else f"host {compute_host_score(survey)} of 100"
    if hosts := {trial.host for trial in book.view.counted_trials if trial.host}:
        host = f"{words.format_count(len(hosts), 'host')}, the worst: {host}"
    parts = (
        _describe_blocks(book),
        f"audits: {audits}",
        host + (f" (poor: {', '.join(poor)})" if poor else ""),
        _describe_calibration(book.run),
    )
    return " · ".join(parts)


def _count_audits(findings: Sequence[Finding], word: Soundness, count: int) -> str:
    """`27 sound`; of what is not to be relied on with the names: `3 doubtful (noise)`."""
    if word not in ("invalid", "doubtful"):
        return f"{count} {word}"
    names = dict.fromkeys(it.audit for it in findings if it.soundness == word)
    return f"{count} {word} ({', '.join(names)})"


def _describe_blocks(book: Book) -> str:
    """`decided at 6 blocks, none dropped`, or `4 blocks, 4 dropped (foreign CPU 79.7 % > 30 %)`."""
    blocks = {t.block for t in book.view.counted_trials}
    dropped = book.verdict.dropped
    lost = len(summarize_restarts(book).losses) - len(dropped)
    told = (
        words.format_count(len(blocks), "block")
        if len(book.run.workloads) == 1
        else (f"{words.format_count(len(list(book.view.counted_trials)), 'restart')}")
    )
    if book.verdict.complete and book.verdict.overall in ("slower", "not slower", "faster"):
        told = f"decided at {told}"
    gone = f"{len(dropped)} dropped ({dropped[-1].reason})" if dropped else "none dropped"
    return f"{told}, {gone}" + (f", {lost} lost" if lost > 0 else "")


def _describe_calibration(run: Run) -> str:
    known = summarize_calibration(run)
    if not known.when:
        return "error rates not tried on this host (dyno calibrate)"
    return "calibration stale" if known.stale else f"calibrated {known.when}"


def _describe_setting(book: Book) -> str:
    """Who was compared and how: builds, slices, connections."""
    run = book.run
    slices = describe_slices(run)
    conditions = describe_conditions(run).strip(" ()")
    interleaved = f"slices of {slices}" if slices else "one after the other"
    return " · ".join(filter(None, (*describe_sides(run), interleaved, conditions)))


def describe_sides(run: Run) -> list[str]:
    """`sqlite 3.24.0 and sqlite 3.54.1, both gcc 12.2.0 -O2`; nothing of crossed factors, and of
    more candidates than a line holds.
    """
    if run.factors or len(run.candidates) > SIDES:
        return []
    builds = {str(read_build_facts(side.build)) for side in run.candidates}
    shared = builds.pop() if len(builds) == 1 else ""
    told = [_describe_side(side, shared) for side in run.candidates]
    if not shared:
        return told
    who = "both" if len(told) == 2 else "all"
    return [f"{', '.join(told[:-1])} and {told[-1]}, {who} {shared}"]


def _describe_side(side: Candidate, shared: str) -> str:
    told = describe_candidate(side, with_build=not shared)
    is_said = side.name == f"{side.engine}@{side.build.get('version', '')}"
    return told if is_said else f"{side.name} is {told}"


def _describe_quick(book: Book) -> str:
    if not book.run.design.quick:
        return ""
    rows = list_decisive(book.verdict)
    if not (shares := [row.share_unseen_percent for row in rows if row.share_unseen_percent]):
        return "shortened by --quick"
    unseen = f"a slow mode in under {max(shares):.0f} % of restarts could be missed"
    return f"shortened by --quick: {unseen}"
