"""A count in words: the sentence, and what it cannot see."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.record.build_facts import read_build_facts
from dyno.record.count import CandidateCount, Count, CountComparison, FunctionChange

#: What no count of instructions sees.
BLIND = (
    "A count of instructions sees no caches, no waits, no system calls and no parallelism: heavier "
    "is not slower. It is of one user, in user mode, for this seed."
)
#: What a function without a symbol is called, and the share of those that is told.
UNNAMED, UNNAMED_PERCENT = "(no symbol)", 5.0
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


def describe_cause(row: CountComparison) -> str:
    """Where the difference lies: the functions that changed most."""
    if not row.changes:
        return "No function changed."
    named = "; ".join(f"{each.name} ({each.layer}) {each.change:+,.1f}" for each in row.changes[:3])
    return f"Most changed, in instructions: {named}."


def format_ends(each: FunctionChange) -> str:
    """` [+7,540, +7,592]`; empty where the repetitions agree, or are not on record."""
    if each.low is None or each.high is None or each.high - each.low < 0.2:
        return ""
    return f" [{each.low:+,.0f}, {each.high:+,.0f}]"


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
