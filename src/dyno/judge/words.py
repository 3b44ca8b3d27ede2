"""The word for a line, and the notes beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from dyno.judge.case import Case, Seen
from dyno.record import VerdictName
from dyno.stats.percent import to_log, to_percent
from dyno.stats.robust import BLOCKS_LEAST, hodges_lehmann, sign_flip_p
from dyno.stats.verdict import FASTER, NOT_SLOWER, OPEN, verdicts


def word(case: Case, seen: Seen) -> tuple[VerdictName, tuple[str, ...]]:
    """The verdict and the notes; what condemns a line or greys it comes before any figure."""
    line, n = seen.line, seen.line.logs.size
    if sentence := case.condemned(line):
        return "invalid", (sentence,)
    if line.grey:
        return "inconclusive", (line.grey,)
    first = case.looks.blocks[0]
    if n < first:
        return "inconclusive", (f"so far: {n} of the {first} blocks of the first look",)
    said = verdicts(
        seen.interval,
        to_log(line.margin_percent),
        last=n >= case.looks.maximum,
        significant=seen.p <= case.looks.alpha,
    )
    return cast("VerdictName", str(said)), tuple(_notes(case, seen, str(said)))


def _notes(case: Case, seen: Seen, word: str) -> Iterator[str]:
    interval, margin = seen.interval, f"{seen.line.margin_percent:g} %"
    if word == FASTER:
        yield "so not slower either"
    if word == NOT_SLOWER and interval.low > 0.0:
        yield f"slower, but by less than {margin}"
    if word == OPEN and interval.low > 0.0 and seen.p > case.looks.alpha:
        yield f"alone it would be above 0, but not among {_family(case, seen)} (p = {seen.p:.2g})"
    yield from _second_opinion(seen, case.looks.level(seen.line.logs.size))


def _family(case: Case, seen: Seen) -> str:
    """Among what a p value was adjusted."""
    return f"{case.primaries} primaries" if seen.line.primary else "all that was explored"


def _second_opinion(seen: Seen, level: float) -> Iterator[str]:
    """Where the tests without a normal distribution say something else: a flag, not a vote."""
    logs, interval = seen.line.data, seen.interval
    if logs.size < BLOCKS_LEAST:
        return
    p_value = sign_flip_p(logs)
    if (p_value <= level) != bool(interval.p <= level):
        yield f"the sign-flip test disagrees: p = {p_value:.2g}, t test p = {float(interval.p):.2g}"
    middle = hodges_lehmann(logs)
    if not interval.low <= middle <= interval.high:
        yield f"the Hodges-Lehmann estimate, {to_percent(middle):+.2f} %, lies outside the interval"
