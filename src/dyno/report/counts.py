"""A count as a document: the sentence, what changed, and what it cannot see."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.judge.analysis.counts import judge_rows
from dyno.numbers import format_interval
from dyno.record import Comparison
from dyno.record.build_facts import read_build_facts
from dyno.record.count import (
    CallChange,
    CandidateCount,
    Count,
    CountComparison,
    FunctionChange,
)
from dyno.report import document as doc
from dyno.report.headline import build_headline
from dyno.report.names import NamedRow
from dyno.report.result import Result

#: What no count of instructions sees.
BLIND = (
    "A count of instructions sees no caches, no waits, no system calls and no parallelism: heavier "
    "is not slower. It is of one user, in user mode, for this seed."
)
#: The layer of functions that nothing places, and the share of those that is told.
UNKNOWN, UNKNOWN_PERCENT = "unknown", 5.0
#: Layers and functions of a first screen, and the fewest instructions that they changed by.
NAMED, TOLD = 5, 0.05
#: Rows of a table of functions or calls, and of functions of a layer.
SHOWN, FUNCTIONS = 40, 10
#: Repetitions that lie this far apart are told of.
SPREAD_PERCENT = 0.1


def build_count_headline(count: Count, rows: Sequence[CountComparison]) -> str:
    """`sqlite 3.54.1 is lighter than 3.46.0: it takes 4.3 % fewer instructions`, of each."""
    return build_headline(count.candidates, judge_rows(rows))


def name_count_rows(count: Count, rows: Sequence[Comparison]) -> list[NamedRow]:
    """Each comparison as a row of a first screen."""
    told = f"instructions, phase {count.phase}, per {count.unit}"
    return [NamedRow(count.workload, told, row) for row in rows]


def _describe_changes(found: Sequence[FunctionChange], what: str) -> str:
    told = [
        f"{it.name} ({it.layer}) {it.change:+,.1f}" if it.name else f"{it.layer} {it.change:+,.1f}"
        for it in found
        if abs(it.change) >= TOLD
    ]
    more = f"; {len(told) - NAMED} more changed" if len(told) > NAMED else ""
    return f"by {what}: {'; '.join(told[:NAMED]) or 'none changed'}{more}"


def build_first_screen(count: Count, rows: Sequence[CountComparison]) -> doc.Document:
    basis = [*describe_spread(count.counts), describe_builds(count), BLIND]
    blocks: list[doc.Block] = [
        doc.Prose(f"{build_count_headline(count, rows)}.", "strong"),
        doc.Prose(""),
    ]
    blocks += [
        doc.Forest(count.candidates, name_count_rows(count, rows), "restarts"),
        doc.Prose(""),
    ]
    for row in rows:
        if len(rows) > 1:
            blocks.append(doc.Prose(f"on {row.candidate}", indent=2))
        blocks.append(doc.Prose(_describe_changes(row.layers, "layer"), indent=2))
        blocks.append(doc.Prose(_describe_changes(row.changes, "function"), indent=2))
    return [*blocks, doc.Prose(""), doc.Prose(" ".join(filter(None, basis)), indent=2)]


def build_count(count: Count, rows: Sequence[CountComparison]) -> doc.Document:
    """All of a count: the verdict, what changed, and how it was counted."""
    columns = doc.make_columns("candidate", "instructions", "restarts apart, %", "others beside")
    sides = [
        (
            it.candidate,
            f"{it.instructions:,.1f}",
            f"{it.spread_percent:.4f}" if len(it.repeats) > 1 else "not known",
            f"{sum(it.beside) / len(it.beside):,.0f}",
        )
        for it in count.counts
    ]
    blocks: list[doc.Block] = [
        doc.Heading("Verdict", "verdict"),
        doc.Forest(count.candidates, name_count_rows(count, rows), "restarts"),
        doc.Prose(judge_rows(rows).sentence),
        doc.Prose(BLIND),
        doc.RowTable(columns, sides, f"Instructions per {count.unit}"),
    ]
    for at, row in enumerate(rows, 1):
        blocks += [
            doc.Heading(
                f"What changed: {row.base} → {row.candidate}", "cause" + f"-{at}" * (at > 1)
            ),
            *_build_changes(row, "By layer", [(it.layer, "", it) for it in row.layers]),
            *_build_changes(
                row,
                "Functions that changed",
                [(it.name, f"{it.layer} · {it.object}", it) for it in row.changes],
            ),
            *_build_changes(
                row,
                "Calls, with all that they call",
                [("\u2003" * it.depth + it.name, "", it) for it in row.tree],
            ),
        ]
    return [*blocks, doc.Heading("How it was counted", "basis"), *_build_basis(count)]


def _build_changes(
    row: CountComparison,
    title: str,
    found: Sequence[tuple[str, str, FunctionChange | CallChange]],
) -> list[doc.Block]:
    """A table of what changed; an interval where the repetitions do not agree."""
    rows = []
    for name, detail, it in found:
        low, high = (it.low, it.high) if isinstance(it, FunctionChange) else (None, None)
        is_exact = low is None or high is None or high - low < 0.2
        ends = "" if is_exact else f" {format_interval(low, high, '{:+,.0f}'.format)}"
        tone: doc.Tone = "bad" if it.change > 0 else "good" if it.change < 0 else ""
        share = f"{100.0 * it.change / row.base_value:+.2f}"
        changed = (
            doc.TableCell(f"{it.change:+,.1f}{ends}", tone=tone),
            doc.TableCell(share, tone=tone),
        )
        rows.append(
            (doc.TableCell(name, detail), f"{it.before:,.1f}", f"{it.after:,.1f}", *changed)
        )
    what = title.removeprefix("By ").partition(" ")[0].partition(",")[0].lower().removesuffix("s")
    columns = doc.make_columns(what, row.base, row.candidate, "change", "change, % of all")
    return doc.cut_table(doc.RowTable(columns, rows, title), SHOWN, f"{what}s")


def _build_basis(count: Count) -> list[doc.Block]:
    options = " ".join(f"{name}={value}" for name, value in count.options.items())
    sentences = [
        f"{count.valgrind}'s callgrind, {count.workload}, phase {count.phase}, one user: the "
        f"count of {count.long_operations:,} operations less that of {count.short_operations:,}, "
        f"from the same data and seed ({count.seed}). Options: {options or 'none'}.",
        *describe_spread(count.counts),
        *(describe_others(count, each) for each in count.counts),
        *(*map(describe_unnamed, count.counts), describe_builds(count)),
        f"For KCachegrind: {', '.join(file for each in count.counts for file in each.files)}.",
    ]
    return [*doc.list_prose(sentences), doc.Listing(count.command, "to repeat")]


def build_functions(count: Count) -> doc.Document:
    """Each candidate's functions by layer, the heaviest first."""
    blocks: list[doc.Block] = []
    for each in count.counts:
        rows: list[tuple[str, str]] = []
        for layer, instructions in sorted(each.layers.items(), key=lambda it: -it[1]):
            rows.append((layer, f"{instructions:,.1f}"))
            own = [it for it in each.functions if it.layer == layer][:FUNCTIONS]
            rows += [(f"  {it.name}", f"{it.instructions:,.1f}") for it in own]
        columns = doc.make_columns("layer and function", f"per {count.unit}")
        blocks += [
            doc.Heading(f"{each.candidate}: {each.instructions:,.1f}"),
            doc.RowTable(columns, rows),
        ]
    return blocks


def build_count_result(count: Count, rows: Sequence[CountComparison]) -> Result:
    """Return what a count came to."""
    whose = [f" on {row.candidate}" if len(rows) > 1 else "" for row in rows]
    return Result(
        noun="a count",
        name=count.name,
        headline=f"{build_count_headline(count, rows)}.",
        created_utc=count.created_utc,
        question="How many instructions does an operation take?",
        command=count.command,
        verdict=judge_rows(rows),
        sides=count.candidates,
        workloads=[count.workload],
        rows=name_count_rows(count, rows),
        values={(each.candidate, count.metric): each.repeats for each in count.counts},
        causes=[
            f"{_describe_changes(found, what)}{on}"
            for row, on in zip(rows, whose, strict=True)
            for found, what in ((row.changes, "function"), (row.layers, "layer"))
        ],
        warnings=[it for it in (describe_builds(count),) if it],
        basis=[*describe_spread(count.counts), BLIND],
        document=build_count(count, rows),
    )


def describe_spread(counts: Sequence[CandidateCount]) -> list[str]:
    """How well the repetitions agree, and which functions differ where they do not."""
    told = []
    for each in counts:
        if each.inputs > 1:
            means = [sum(own) / len(own) for own in each.by_input]
            apart = 100.0 * (max(means) - min(means)) / each.instructions
            told.append(f"{each.candidate}: {each.inputs} inputs lie {apart:.3f} % apart.")
        if each.inputs == len(each.repeats) > 1:
            continue
        if len(each.repeats) < 2:
            told.append(
                f"{each.candidate}: counted once, so nothing says how far it varies, and nothing "
                "is claimed: --repeat 2 tells."
            )
            continue
        line = f"{each.candidate}: {len(each.repeats)} restarts lie {each.spread_percent:.4f} % "
        line += "apart"
        if each.spread_percent > SPREAD_PERCENT and each.varied:
            line += f", most in {', '.join(each.varied[:3])}"
        told.append(f"{line}.")
    return told


def describe_unnamed(each: CandidateCount) -> str:
    """How much of a stripped build has no symbol, hence no layer; empty where it is little."""
    unnamed = sum(it.instructions for it in each.functions if it.layer == UNKNOWN)
    percent = 100.0 * unnamed / each.instructions
    if percent < UNKNOWN_PERCENT:
        return ""
    return (
        f"{each.candidate}: {percent:.0f} % of the instructions are in functions without a symbol "
        "(a stripped build), of unknown layer."
    )


def describe_builds(count: Count) -> str:
    """Who compiled the sides, and how, where that differs between builds; else empty."""
    facts = {each.name: read_build_facts(each.build) for each in count.candidates}
    told = {name: str(each) for name, each in facts.items() if each.tells_how}
    first = next(iter(facts.values()), None)
    if first is None or not any(first.list_differences(each) for each in facts.values()):
        return ""
    built = "; ".join(f"{name} by {how}" for name, how in told.items() if how)
    return f"The builds differ in compiler or flags, which a count sees as well: {built}."


def describe_others(count: Count, each: CandidateCount) -> str:
    """What of an engine was left out, per operation: its other threads, waits for the client, what
    works by the clock; empty where there is none.
    """
    left = []
    for what, values in (
        ("other threads and processes", each.beside),
        ("waits for its client and work by the clock", each.waiting),
    ):
        mean = sum(values) / len(values) if values else 0.0
        if mean >= 0.5:
            left.append(f"{what}: {mean:,.0f}")
    if not left:
        return ""
    return f"{each.candidate}, not counted, per {count.unit}: {', '.join(left)}."
