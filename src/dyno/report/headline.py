"""The verdict in one line, and what a reader has to know beside it: the largest effect, or why the
run found less than it should have, or why it is not to be relied on.

The judge's own sentence (`Verdict.sentence`) says all of it at once, for logs and programs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dyno.judge.analysis.cpu_time import BLIND
from dyno.judge.analysis.effect_words import (
    describe_bound,
    describe_claim,
    describe_passed,
    describe_range,
    describe_ratio,
    describe_size,
    describe_verdict,
    is_gain,
    is_told_whole,
)
from dyno.judge.analysis.measures import CPU_PER_OP
from dyno.judge.analysis.sentence import OPEN_WORDS, describe_guess, find_worst_verdict
from dyno.numbers import format_count, format_percent
from dyno.record import Candidate, Cause, Comparison, Verdict
from dyno.report.names import NamedRow, name_pair
from dyno.report.words import format_metric

#: A row that is left out of many is never worse than one that is shown.
WORST_FIRST = ("invalid", "slower", "inconclusive", "faster", "not slower")
#: Candidates that a headline names, reasons that are told in full, and clauses of a cause.
NAMED, REASONS, CLAUSES = 3, 3, 3


def choose_rows(rows: Sequence[NamedRow], most: int) -> list[NamedRow]:
    """At most `most` of them in their own order: the worst, then the largest."""

    def rank(it: NamedRow) -> tuple[int, bool, float]:
        row = it.row
        return WORST_FIRST.index(row.verdict), not row.is_doubtful, -abs(row.slowdown_percent)

    kept = sorted(rows, key=rank)[:most]
    return [it for it in rows if any(it is each for each in kept)]


def list_decisive(verdict: Verdict) -> list[Comparison]:
    """What the verdict rests on: the means where they decide, else the primaries."""
    return list(verdict.means) or [row for row in verdict.comparisons if row.primary]


def build_headline(sides: Sequence[Candidate], verdict: Verdict) -> str:
    """`sqlite 3.54.1 is faster than 3.24.0 in 3 of 4 measurements; 1 is inconclusive`."""
    rows = list_decisive(verdict)
    if verdict.overall == "invalid":
        return "Invalid: the figures say nothing"
    if verdict.overall not in WORST_FIRST:
        return verdict.sentence.rstrip(".")
    if not rows:
        return f"Inconclusive: {verdict.reason or 'no primary metric was measured'}"
    pairs: dict[tuple[str, str], list[Comparison]] = {}
    for row in rows:
        pairs.setdefault((row.candidate, row.base), []).append(row)
    in_order = sorted(pairs.values(), key=_rank_side)
    if len(pairs) > 1 and all(row.verdict in OPEN_WORDS for row in rows):
        return _describe_all_open(sides, in_order)
    told = "; ".join(_describe_side(sides, own) for own in in_order[:NAMED])
    if (more := len(in_order) - NAMED) > 0:
        told = f"{told}; {_describe_others(in_order[NAMED:], more)}"
    if verdict.overall == "inconclusive" and all(row.verdict not in OPEN_WORDS for row in rows):
        told = f"inconclusive, since a primary metric was not measured: {told}"
    if verdict.doubts:
        return f"Doubtful: {told}"
    return f"{told[0].upper()}{told[1:]}" if told.startswith("inconclusive") else told


def _describe_all_open(sides: Sequence[Candidate], pairs: Sequence[Sequence[Comparison]]) -> str:
    """What is said once where nothing is settled of any candidate."""
    count = max(map(len, pairs))
    where = f" in all {count} measurements" if count > 1 else ""
    names = [name_pair(sides, own[0].candidate, own[0].base)[0] for own in pairs]
    more = len(names) - NAMED
    shown = names[:NAMED] if more <= 0 else [*names[:NAMED], f"{more} more"]
    whom = name_pair(sides, pairs[0][0].candidate, pairs[0][0].base)[1]
    told = describe_claim([row for own in pairs for row in own], "maybe slower", whom)
    return f"Inconclusive{where}: {', '.join(shown[:-1])} and {shown[-1]} {told} or not"


def _rank_side(own: Sequence[Comparison]) -> int:
    order = ("slower", "inconclusive", "invalid", "faster", "not slower")
    word = find_worst_verdict(own, len(own), invalid=False)
    gains = word == "not slower" and any(is_gain(row) for row in own)
    return order.index("faster" if gains else word)


def _describe_others(sides: Sequence[Sequence[Comparison]], count: int) -> str:
    words = [find_worst_verdict(own, len(own), invalid=False) for own in sides]
    each = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    return f"{format_count(count, 'more candidate')}: {each}"


def _describe_side(sides: Sequence[Candidate], own: Sequence[Comparison]) -> str:
    who, whom = name_pair(sides, own[0].candidate, own[0].base)
    if len(own) == 1:
        return _describe_row(own[0], who, whom)
    losses = [row for row in own if row.verdict == "slower"]
    gains = [row for row in own if is_gain(row)]
    still_open = [row for row in own if row.verdict in OPEN_WORDS]
    if losses or gains:
        first, word = (losses, "slower") if losses else (gains, "faster")
        told = f"{who} {describe_claim(first, word, whom)} in {_count_of(first, own)}"
        if losses and gains:
            told = f"{told}, {_choose_word(gains)} in {len(gains)}"
        return told if not still_open else f"{told}; {_count_open(len(still_open))}"
    if still_open:
        all_open = len(still_open) == len(own)
        where = "" if all_open else f" in {len(still_open)} of {len(own)} measurements"
        rest = "" if all_open else f"; {describe_passed(own)} in the rest"
        return f"inconclusive{where}: {who} {describe_guess(still_open, whom)}{rest}"
    return f"{who} {describe_claim(own, 'not slower', whom)} in any of {len(own)} measurements"


def _count_of(rows: Sequence[Comparison], own: Sequence[Comparison]) -> str:
    """`all 4 measurements`, `3 of 4 measurements`."""
    if len(rows) == len(own):
        return f"all {len(own)} measurements"
    return f"{len(rows)} of {len(own)} measurements"


def _count_open(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'} inconclusive"


def _choose_word(rows: Sequence[Comparison]) -> str:
    """The metrics' own word where they share one: `larger`; else `slower` or `faster`."""
    words = {describe_verdict(row) for row in rows}
    return words.pop() if len(words) == 1 else rows[0].verdict


def _describe_row(row: Comparison, who: str, whom: str) -> str:
    """The only measurement, with its size or bound; with neither, why."""
    is_open = row.verdict in OPEN_WORDS
    if math.isnan(row.low_percent):
        told = describe_guess([row], whom) if is_open else describe_claim([row], row.verdict, whom)
        return f"{'inconclusive: ' * is_open}{': '.join((f'{who} {told}', *row.notes))}"
    subject = "it" if is_told_whole(row.metric) else f"its {format_metric(row.metric)}"
    margin = f"margin {row.margin_percent:g} %"
    if is_open:
        between = f"{subject} {describe_range(row)} ({margin})"
        return f"inconclusive: {who} {describe_guess([row], whom)}: {between}"
    if row.verdict == "slower" or is_gain(row):
        claim = describe_claim([row], row.verdict, whom)
        return f"{who} {claim}: {subject} {_describe_size(row)}"
    told = f"{who} {describe_claim([row], 'not slower', whom)}"
    if row.high_percent <= 0:
        return f"{told}: {subject} {describe_size(row)} ({margin})"
    return f"{told}: {subject} {describe_bound(row)} ({margin})"


def _describe_size(row: Comparison) -> str:
    """`takes 34 % less time [28, 39], 1.5× faster`."""
    ratio = "" if row.bound else describe_ratio(row)
    return ", ".join(filter(None, (describe_size(row), ratio)))


def describe_largest(verdict: Verdict, named: Sequence[NamedRow]) -> str:
    """The largest loss, else the largest gain, with its size, where a candidate has more than one
    measurement: `largest gain: load in key order takes … less time`; empty without any.
    """
    sides = [(it.row.candidate, it.row.base) for it in named]
    if len(set(sides)) == len(sides) or verdict.overall == "invalid":
        return ""
    for kind, rows in (
        ("largest loss", [it for it in named if it.row.verdict == "slower"]),
        ("largest gain", [it for it in named if is_gain(it.row)]),
    ):
        if rows:
            most = max(rows, key=lambda it: abs(it.row.slowdown_percent))
            who = f" of {most.row.candidate}" if len(set(sides)) > 1 else ""
            return f"{kind}{who}: {most.title} {_describe_size(most.row)}"
    return ""


def list_reasons(verdict: Verdict, named: Sequence[NamedRow]) -> list[str]:
    """Why the verdict is not what one asked for, the first `REASONS` in full: of an invalid one
    what made it so, of a doubtful one what casts doubt, of an inconclusive or unfinished one what
    stood in its way. Empty for a plain one.
    """
    found: list[str] = []
    if verdict.overall == "invalid":
        found += [f"{f.audit}: {f.sentence}" for f in verdict.findings if f.soundness == "invalid"]
        found += [
            _begin_sentence(n)
            for row in list_decisive(verdict)
            if row.verdict == "invalid"
            for n in row.notes
        ]
    found += [f"{doubt.audit}: {doubt.sentence}" for doubt in verdict.doubts]
    if verdict.reason and named:
        found.append(_begin_sentence(verdict.reason))
    elif not verdict.complete:
        found.append("The run is not complete: this is what has been measured so far")
    elif verdict.overall == "inconclusive" and not found:
        found += _explain_open(named)
    if any(it.row.metric.name == CPU_PER_OP for it in named):
        found.append(_begin_sentence(BLIND))
    found = list(dict.fromkeys(found))
    more = len(found) - REASONS
    return found[:REASONS] + ([f"and {more} more reasons, in the report"] if more > 0 else [])


def _begin_sentence(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _explain_open(named: Sequence[NamedRow]) -> list[str]:
    rows = [it for it in named if it.row.verdict in OPEN_WORDS]
    if not rows:
        return []
    most = max(rows, key=lambda it: it.row.high_percent - it.row.low_percent)
    widest = most.row
    blocks, margin = format_count(widest.blocks, "block"), f"{widest.margin_percent:g} %"
    least = format_percent(widest.mde80_percent)
    return [
        f"{_begin_sentence(most.title)}: {blocks} tell a slowdown of {least} or "
        f"more, four times in five, and the margin is {margin}; more blocks, or a quieter host "
        "(`dyno doctor`), tell smaller ones"
    ]


def shorten_cause(cause: Cause, where: str) -> str:
    """Its first clauses, which say most; instructions, if they were counted;
    and that all of it does not explain the difference; `where` the others stand.
    """
    clauses = cause.clauses
    if len(clauses) <= CLAUSES:
        return cause.sentence
    kept = (it for it in clauses[CLAUSES:] if it.table in ("", "instructions"))
    shown = [*clauses[:CLAUSES], *kept]
    told = "; ".join(it.text for it in shown)
    more = len(clauses) - len(shown)
    return f"{told}; {more} more {where}" if more else told
