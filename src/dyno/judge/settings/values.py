"""How values that engines report are compared: as numbers, without the place that they came from.

Sizes, times and switches are compared however they are spelled; where one side only has a unit, the
two are not comparable (8192 pages and 64MB may be the same).
"""

from __future__ import annotations

import math
import re

from dyno import numbers

QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-zµ]*)")
SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
SWITCHES = {"on": 1.0, "true": 1.0, "yes": 1.0, "off": 0.0, "false": 0.0, "no": 0.0}
#: A switch that became a list is empty where it was off (`log_connections` of PostgreSQL 18).
NOTHING = {"", "off"}
#: Where a value came from, as one engine adds it.
SOURCE = re.compile(r" \([a-z, ]+\)$")


def strip_source(told: str) -> str:
    """The value without its source: `on (configuration file)` is `on`."""
    return SOURCE.sub("", told)


def parse_quantity(text: str) -> tuple[str, float] | None:
    """A number and its kind (`bytes`, `seconds`, or none); None for words."""
    word = text.strip().casefold()
    if word in SWITCHES:
        return "", SWITCHES[word]
    match = QUANTITY.fullmatch(word)
    if match is None:
        return None
    number, unit = float(match[1]), match[2]
    if unit in SECONDS:
        return "seconds", number * SECONDS[unit]
    if unit and (size := numbers.parse_size_bytes(word.lstrip("-"))) is not None:
        return "bytes", math.copysign(size, number)
    return None if unit else ("", number)


def is_same_value(one: str, other: str) -> bool:
    """Do both mean the same, however each is spelled and wherever it came from?"""
    one, other = strip_source(one).casefold(), strip_source(other).casefold()
    return (
        one == other
        or {one, other} == NOTHING
        or ((found := parse_quantity(one)) is not None and found == parse_quantity(other))
    )
