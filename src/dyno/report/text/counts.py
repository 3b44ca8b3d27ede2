"""A count in words: the sentence, and what it cannot see."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from dyno.numbers import format_percent
from dyno.record import Comparison, Metric, VerdictName
from dyno.record.build_facts import read_build_facts
from dyno.record.count import (
    CallChange,
    CandidateCount,
    Count,
    CountComparison,
    CountWord,
    FunctionChange,
)
from dyno.report.names import NamedRow, name_pair

#: The shape and colour of a count's word: those of time's.
_VERDICTS: dict[CountWord, VerdictName] = {
    "heavier": "slower",
    "lighter": "faster",
    "not heavier": "not slower",
    "inconclusive": "inconclusive",
}

#: What no count of instructions sees.
BLIND = (
    "A count of instructions sees no caches, no waits, no system calls and no parallelism: heavier "
    "is not slower. It is of one user, in user mode, for this seed."
)
#: What a function without a symbol is called, and the share of those that is told.
UNNAMED, UNNAMED_PERCENT = "(no symbol)", 5.0
#: Layers of a first screen, and the fewest instructions that they changed by.
LAYERS, TOLD = 5, 0.05
#: Repetitions that lie this far apart are told of.
SPREAD_PERCENT = 0.1


def describe_comparison(count: Count, row: CountComparison) -> str:
    """The verdict on one candidate; the interval is over inputs where there are several, else over
    restarts.
    """
    exact = row.low_percent == row.high_percent
    interval = "" if exact else f" [{row.low_percent:+.3f}, {row.high_percent:+.3f}]"
    return (
        f"{row.candidate} is {row.word}: {row.candidate_value:,.0f} instructions "
        f"{'an' if count.unit[0] in 'aeiou' else 'a'} {count.unit}, {row.base} "
        f"{row.base_value:,.0f}: {row.change_percent:+.3f} %{interval} (margin "
        f"{row.margin_percent:g} %)."
    )


def build_count_headline(count: Count, rows: Sequence[CountComparison]) -> str:
    """`sqlite 3.54.1 is lighter than 3.46.0: 4.3 % fewer instructions an event`, of each."""
    return "; ".join(_describe_row(count, row) for row in rows)


def _describe_row(count: Count, row: CountComparison) -> str:
    who, whom = name_pair(count.candidates, row.candidate, row.base)
    article = "an" if count.unit[0] in "aeiou" else "a"
    size = format_percent(abs(row.change_percent))
    change = f"{size} {'more' if row.change_percent > 0 else 'fewer'} instructions"
    if row.word == "inconclusive":
        told = f"Inconclusive: {who} may be heavier than {whom} or not"
        return f"{told}; more repetitions (--repeat) or inputs (--inputs) narrow the interval"
    return f"{who} is {row.word} than {whom}: {change} {article} {count.unit}"


def name_count_rows(count: Count, rows: Sequence[CountComparison]) -> list[NamedRow]:
    """Each comparison as a row of a first screen."""
    metric = Metric(count.workload, count.phase, "", "instructions", "", "lower")
    told = f"phase {count.phase}, per {count.unit}"
    return [
        NamedRow(count.workload, f"instructions, {told}", _convert_row(metric, row), row.word)
        for row in rows
    ]


def _convert_row(metric: Metric, row: CountComparison) -> Comparison:
    """A count has no blocks; what it has not is left at nothing. A lone count has no interval."""
    is_lone = row.word == "inconclusive" and row.low_percent == row.high_percent
    low, high = (nan, nan) if is_lone else (row.low_percent, row.high_percent)
    return Comparison(
        metric=metric,
        primary=True,
        base=row.base,
        candidate=row.candidate,
        base_value=row.base_value,
        candidate_value=row.candidate_value,
        change_percent=row.change_percent,
        slowdown_percent=row.change_percent,
        low_percent=low,
        high_percent=high,
        margin_percent=row.margin_percent,
        blocks=0,
        dropped=0,
        sd_percent=0.0,
        mde80_percent=0.0,
        p_value=0.0,
        verdict=_VERDICTS[row.word],
    )


def describe_cause(row: CountComparison) -> str:
    """Where the difference lies: the functions that changed most."""
    if not row.changes:
        return "No function changed enough to be told."
    return f"Most changed, in instructions: {list_changes(row)}."


def list_layers(row: CountComparison) -> str:
    """The layers that changed most, each with its instructions."""
    found = [f"{it.layer} {it.change:+,.1f}" for it in row.layers if abs(it.change) >= TOLD]
    more = f"; {len(found) - LAYERS} more changed" if len(found) > LAYERS else ""
    return ("; ".join(found[:LAYERS]) or "none changed") + more


def list_changes(row: CountComparison) -> str:
    """The functions that changed most, each with its layer and instructions."""
    found = (f"{each.name} ({each.layer}) {each.change:+,.1f}" for each in row.changes[:3])
    return "; ".join(found) or "no function"


def format_change(each: FunctionChange | CallChange) -> tuple[str, str, str]:
    """Before, after, and the change, as `+7,566.0 [+7,540, +7,592]`; without an interval where the
    repetitions agree, or are not on record.
    """
    cells = f"{each.before:,.1f}", f"{each.after:,.1f}", f"{each.change:+,.1f}"
    low, high = (each.low, each.high) if isinstance(each, FunctionChange) else (None, None)
    if low is None or high is None or high - low < 0.2:
        return cells
    return *cells[:2], f"{cells[2]} [{low:+,.0f}, {high:+,.0f}]"


def format_spread(each: CandidateCount) -> str:
    """How far its restarts lie apart, in percent; a lone one says nothing of that."""
    return f"{each.spread_percent:.4f}" if len(each.repeats) > 1 else "not known"


def describe_rest(what: str, count: int, shown: int) -> str:
    """How many rows a table leaves out; empty where it has all."""
    return f"… and {count - shown:,} more ({what})" if count > shown else ""


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
        line = f"{each.candidate}: {len(each.repeats)} restarts lie {format_spread(each)} % "
        line += "apart"
        if each.spread_percent > SPREAD_PERCENT and each.varied:
            line += f", most in {', '.join(each.varied[:3])}"
        told.append(f"{line}.")
    return told


def describe_unnamed(each: CandidateCount) -> str:
    """How much of a stripped build has no symbol, hence no layer; empty where it is little."""
    unnamed = sum(it.instructions for it in each.functions if it.name == UNNAMED)
    percent = 100.0 * unnamed / each.instructions
    if percent < UNNAMED_PERCENT:
        return ""
    return (
        f"{each.candidate}: {percent:.0f} % of the instructions are in functions without a symbol "
        "(a stripped build), whose layer is not known."
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
