"""Section: the verdict, in words first and then in numbers; and what a terminal shows of it.

The headline, its reasons and what it rests on are built once (`headline.py`, `basis.py`), for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from dyno import numbers
from dyno.judge.analysis.sentence import (
    choose_leading_doubt,
    describe_conditions,
    describe_slices,
)
from dyno.record import Candidate, Comparison, Doubt, Run, Verdict
from dyno.record.build_facts import read_build_facts
from dyno.report import Book, Section, words
from dyno.report import document as doc
from dyno.report.accepted import list_accepted, name_accepted
from dyno.report.basis import describe_clients, list_tiles
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
from dyno.report.sections import effects, spread, trust

#: Rows of the forest plot on a page and on a terminal; more stand in the table of all numbers.
_ROWS, _ROWS_FIRST = 24, 12
#: Candidates of which a first glance says what changed, and those of the whole verdict.
_CAUSES, _CAUSES_WHOLE = 2, 4
#: Candidates that are described, and notes of rows.
SIDES, NOTES = 3, 3
#: Dropped blocks that the terminal names; the page names all.
DROPPED_SHOWN = 5
#: Comparisons that are named beside the note that they share; more are counted.
NAMED_OF_NOTE = 4
CPU_EXPLORED = "Server CPU/op is explored: it never sets the exit code."


def choose_tone(verdict: Verdict) -> doc.Tone:
    return "doubt" if verdict.doubts else words.TONES[verdict.overall]


def build(book: Book) -> doc.Document:
    """Why it is not what one asked for, the intervals, what changed, and all numbers folded."""
    run, verdict = book.run, book.verdict
    named = name_measurements(run, list_decisive(verdict))
    seen = choose_rows(name_accepted(book.losses, named), _ROWS)
    tone = choose_tone(verdict)
    left = numbers.format_count(len(named) - len(seen), "more measurement")
    rest = (f"{left}, none of them worse, in ", doc.TextSpan("all numbers", link="#numbers"), ".")
    several = len(verdict.causes[:_CAUSES]) > 1
    causes = [
        (
            doc.TextSpan(f"What changed{f' on {it.candidate}' if several else ''}", "strong"),
            f": {shorten_cause(it, 'below')}. ",
            doc.TextSpan("All that changed", link="#cause"),
        )
        for it in verdict.causes[:_CAUSES]
    ]
    return [
        *(doc.Prose(it, tone, boxed=True) for it in list_reasons(verdict, named)),
        *(doc.Prose(it, boxed=True) for it in list_accepted(book.losses, verdict)),
        doc.Forest(run.candidates, seen, words.format_level(run).removesuffix(" interval")),
        *([doc.Prose(rest, "quiet")] if len(named) > len(seen) else []),
        *(doc.Prose(it, boxed=True) for it in causes),
        list_tiles(book),
        doc.Details("All numbers", list(_list_numbers(run, verdict)), anchor="numbers"),
    ]


def _list_numbers(run: Run, verdict: Verdict) -> Iterator[doc.Block]:
    yield doc.Prose(verdict.sentence, choose_tone(verdict), boxed=True)
    for it in verdict.findings:
        if it.soundness == "invalid":
            yield doc.Prose((doc.TextSpan("invalid", "bad"), f" {it.sentence}"))
    for doubt in _list_further_doubts(verdict):
        yield doc.Prose((doc.TextSpan("doubtful, too", "doubt"), f" {doubt.sentence}"))
    yield from build_numbers(run, verdict)


def _list_further_doubts(verdict: Verdict) -> list[Doubt]:
    doubts = verdict.doubts
    return [doubt for doubt in doubts if doubt != choose_leading_doubt(doubts)]


def build_numbers(run: Run, verdict: Verdict, everything: bool = False) -> Iterator[doc.Block]:
    """Tables by candidate, what their words mean, and notes. Primaries are shown, those of each
    phase with the server's CPU per operation; other exploratory metrics are counted, and shown too
    where `everything`.
    """
    main = words.list_main_comparisons(verdict.comparisons)
    main = [c for c in verdict.comparisons if c.primary] if run.factors else main
    shown = main + [c for c in verdict.comparisons if everything and c not in main]
    if run.design.quick:
        yield doc.Prose(words.QUICK, "doubt")
    if run.design.gate == "mean":
        yield doc.Items(words.format_mean_outcomes(verdict), words.GATE_MEAN)
    below = shown
    if run.factors:
        below = [c for c in shown if everything and not c.primary and len(c.levels) < 2]
    for candidate in dict.fromkeys(c.candidate for c in below):
        yield _build_table(run, [c for c in below if c.candidate == candidate], main)
    if shown:
        explored = any(c.metric.name == words.SERVER_CPU and not c.primary for c in shown)
        meanings = (words.SLOWDOWN, words.BLOCK, words.MDE80, CPU_EXPLORED * explored)
        yield from doc.list_prose(meanings, "quiet")
    if more := len(verdict.comparisons) - len(shown):
        yield doc.Prose(
            f"and {numbers.format_count(more, 'exploratory comparison')} not shown here", "quiet"
        )
    yield doc.Items(_list_row_notes(shown), "notes")


def _build_table(run: Run, found: Sequence[Comparison], main: Sequence[Comparison]) -> doc.RowTable:
    first = found[0]
    one_margin = len({c.margin_percent for c in found}) == 1
    margin = f", margin {first.margin_percent:g} %" if one_margin else ""
    counts = {_format_blocks(c) for c in found}
    one_count = f", {counts.pop()}" if len(counts) == 1 else ""
    names = [workload.name for workload in run.workloads]
    rows: list[doc.TableRow] = []

    def place(c: Comparison) -> tuple[bool, int]:
        return c not in main, names.index(c.metric.workload)

    for (explored, at), own in groupby(sorted(found, key=place), key=place):
        rows.append(doc.Group(f"{names[at]}, exploratory" if explored else names[at]))
        for c in own:
            name = f"{c.metric.phase} {words.format_metric(c.metric)}"
            blocks = () if one_count else (words.format_played(c),)
            told = (*blocks, numbers.format_percent(c.mde80_percent))
            verdict = words.tell_verdict(c, margin=not one_margin)
            rows.append((name, *words.format_values(c), *words.format_ends(c), *told, verdict))
    heads = ["base", "candidate", "slowdown", words.format_level(run)]
    heads += ["MDE80"] if one_count else ["blocks", "MDE80"]
    title = f"{first.candidate} against {first.base}{margin}{one_count}"
    return doc.RowTable(doc.make_columns("", *heads, after=("verdict",)), rows, title)


def _format_blocks(c: Comparison) -> str:
    """`6 blocks`, or `6 of 7 blocks` where some were dropped."""
    played = c.blocks + c.dropped
    return f"{c.blocks} of {played} blocks" if c.dropped else numbers.format_count(played, "block")


def _list_row_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """A note with the comparison that it is of; one that many share is said once."""
    sharing: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        for note in comparison.notes:
            sharing.setdefault(note, []).append(comparison)
    lines: list[str] = []
    for note, those in sharing.items():
        if len(those) > NAMED_OF_NOTE:
            lines.append(f"{len(those)} of {len(comparisons)} comparisons: {note}")
        else:
            lines += [f"{c.candidate}, {words.format_full_metric(c.metric)}: {note}" for c in those]
    return lines


def build_whole(book: Book, everything: bool = False) -> doc.Document:
    rests_on = [doc.Heading(trust.SECTION.title), *trust.build(book), doc.Prose("")]
    return list(list_whole(book.run, book.verdict, everything, rests_on))


def list_whole(
    run: Run, verdict: Verdict, everything: bool = False, rests_on: doc.Document = ()
) -> Iterator[doc.Block]:
    if run.factors:
        yield from effects.build_tables(run, verdict)
        yield doc.Heading(spread.SECTION.title)
        yield from spread.build_tables(run, verdict.spread)
    yield from build_numbers(run, verdict, everything)
    lines = [f"{each.workload}, block {each.block + 1}: {each.reason}" for each in verdict.dropped]
    more = len(lines) - DROPPED_SHOWN
    lines = lines[:DROPPED_SHOWN] + ([f"and {more} more, in report.html"] if more > 0 else [])
    noise = "" if any(each.standstill for each in verdict.dropped) else " for noise"
    yield doc.Items(lines, f"{numbers.format_count(len(verdict.dropped), 'block')} dropped{noise}")
    unsound = [f for f in verdict.findings if f.soundness in ("invalid", "doubtful")]
    yield doc.Items([f"{f.soundness}: {f.audit}: {f.sentence}" for f in unsound], "audits")
    yield from rests_on
    if not verdict.complete:
        yield doc.Prose("the run is not complete: this is what has been measured so far")
    yield doc.Prose(verdict.sentence, choose_tone(verdict))
    for cause in verdict.causes[:_CAUSES_WHOLE]:
        yield doc.Prose(f"what changed: {cause.sentence}")
    if (more := len(verdict.causes) - _CAUSES_WHOLE) > 0:
        others = numbers.format_count(more, "further candidate")
        yield doc.Prose(f"what changed on {others} is in report.html")


def build_first_screen(book: Book) -> doc.Document:
    run, verdict = book.run, book.verdict
    named = name_measurements(run, list_decisive(verdict))
    largest = describe_largest(verdict, named)
    below = [f"{largest[0].upper()}{largest[1:]}."] if largest else []
    return [
        doc.Prose(f"{build_headline(run.candidates, verdict)}.", choose_tone(verdict)),
        *(doc.Prose(it, indent=2) for it in (*below, *list_reasons(verdict, named))),
        doc.Prose(""),
        *_list_first_rows(named, book),
        *_list_causes(book),
        list_tiles(book),
        *(doc.Prose(it, indent=2) for it in (_describe_setting(run), describe_clients(book)) if it),
    ]


def _list_first_rows(named: Sequence[NamedRow], book: Book) -> Iterator[doc.Block]:
    if not named:
        return
    run = book.run
    shown = choose_rows(named, _ROWS_FIRST)
    level = words.format_level(run).removesuffix(" interval")
    yield doc.Forest(run.candidates, shown, level, book.verdict.comparisons)
    if left := [it for it in named if not any(it is each for each in shown)]:
        yield doc.Prose(
            f"{_count_words(left)} not shown: dyno show {book.folder.name}", "quiet", indent=2
        )
    yield from (doc.Prose(note, "quiet", indent=2) for note in _list_notes(shown))
    yield doc.Prose("")


def _count_words(rows: Sequence[NamedRow]) -> str:
    """`12 more rows (9 not slower, 3 faster)`."""
    found = [it.row.verdict for it in rows]
    each = ", ".join(f"{found.count(w)} {w}" for w in WORST_FIRST if w in found)
    return f"{numbers.format_count(len(rows), 'more row')} ({each})"


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


def _list_causes(book: Book) -> Iterator[doc.Block]:
    """What changed, of the first candidates; the page has all."""
    causes = book.verdict.causes
    for cause in causes[:_CAUSES]:
        whose = f" on {cause.candidate}" if len(causes) > 1 else ""
        yield doc.Prose(f"what changed{whose}: {shorten_cause(cause, 'in the report')}", indent=2)
    if (more := len(causes) - _CAUSES) > 0:
        told = numbers.format_count(more, "more candidate")
        yield doc.Prose(f"what changed on {told}: the report", indent=2)
    if causes:
        yield doc.Prose("")


def _describe_setting(run: Run) -> str:
    """Who was compared and how: builds, slices, connections."""
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


SECTION = Section("Verdict", 10, build)
