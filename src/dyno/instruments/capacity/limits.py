"""The words of a limit: `p99<10ms`, `mean<2ms, errors<0.1%`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal

from dyno.errors import UsageError
from dyno.record.capacity import LimitTerm

#: Nanoseconds in each unit of a limit.
UNITS_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
PERCENTILES = (50.0, 99.99)
HINT = "for instance p99<10ms, mean<2ms or errors<0.1%, several joined by a comma"
_TERM = re.compile(r"\s*+([a-z]++)([\d.]*+)\s*+<=?\s*+([\d.]++)\s*+([a-zµ%]*+)\s*+", re.IGNORECASE)


def parse_limits(words: str) -> tuple[LimitTerm, ...]:
    """The terms of `words`, joined by commas or `and`; `UsageError` for what is no limit."""
    parts = re.split(r",|\band\b", words)
    terms = tuple(_parse_term(part, words) for part in parts)
    names = [term.words.split("<")[0] for term in terms]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"the limit '{words}' gives {name} twice", hint="leave one out")
    return terms


def _parse_term(part: str, words: str) -> LimitTerm:
    match = _TERM.fullmatch(part)
    if match is None:
        raise UsageError(f"'{part.strip() or words}' is not a limit", hint=HINT)
    name, rank, number, unit = match[1].lower(), match[2], match[3], match[4].lower()
    if number.count(".") > 1 or number == "." or rank.count(".") > 1:
        raise UsageError(f"'{part.strip()}' is not a limit", hint=HINT)
    value = Decimal(number)
    if value <= 0:
        raise UsageError(f"the limit '{part.strip()}' must be above 0")
    if name == "errors" and not rank:
        return _make_error_term(part, value, unit)
    if unit not in UNITS_NS:
        raise UsageError(f"the limit '{part.strip()}' has no unit of time", hint="10ms or 200us")
    plain = f"{name}{rank}<{number}{unit}"
    limit_ns = float(value * UNITS_NS[unit])
    if name == "mean" and not rank:
        return LimitTerm("mean", limit_ns, plain)
    if name == "max" and not rank:
        return LimitTerm("max", limit_ns, plain)
    if name != "p" or not rank:
        raise UsageError(f"no limit is called '{name}{rank}'", hint=HINT)
    percentile = float(rank)
    least, most = PERCENTILES
    if not least <= percentile <= most:
        raise UsageError(
            f"the percentile is out of range (got p{rank})", hint=f"p{least:g} to p{most:g}"
        )
    return LimitTerm("percentile", limit_ns, plain, percentile)


def _make_error_term(part: str, value: Decimal, unit: str) -> LimitTerm:
    if unit != "%" or value >= 100:
        raise UsageError(f"'{part.strip()}' is no percentage below 100", hint="errors<0.1%")
    return LimitTerm("errors", float(value / 100), f"errors<{value}%")


#: How many requests a step is to have beyond a limited percentile: fewer bend the answer (bench
#: `capacity-truth`), and with fewer than the least nothing can be told.
BEYOND_WANTED, BEYOND_LEAST = 30, 5
#: Of errors a tenth as many are to be expected; and so many requests in any case.
ERRORS_SHARE, EVENTS_LEAST = 0.1, 100


def count_events_wanted(terms: Sequence[LimitTerm]) -> int:
    """How many events a step should have to judge the limits."""
    return max(EVENTS_LEAST, *(_count_events(term, BEYOND_WANTED) for term in terms))


def count_events_least(terms: Sequence[LimitTerm]) -> int:
    """With fewer events a step cannot judge them."""
    return max(EVENTS_LEAST, *(_count_events(term, BEYOND_LEAST) for term in terms))


def _count_events(term: LimitTerm, beyond: int) -> int:
    if term.kind == "percentile":
        return math.ceil(round(100.0 * beyond / (100.0 - term.percentile), 3))
    return math.ceil(max(1.0, ERRORS_SHARE * beyond) / term.limit) if term.kind == "errors" else 0
