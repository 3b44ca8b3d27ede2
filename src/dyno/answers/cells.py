"""All that a statement is answered with, as data, and what a comparison of two answers says; and a
cell's value by the type of its column: one form for each value, however it is spelled.

Forms are exact: no digit is rounded away, so that equal forms are equal values and may be hashed.
A cell that cannot be read as its type says keeps its text as its form.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Context, Decimal
from typing import Literal

#: What a column's type is to a comparison; `unknown` where no engine named it.
Family = Literal["float", "exact", "boolean", "time", "char", "text", "unknown"]


def _split_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: By the type's name in lower case, without what stands in parentheses.
_FAMILIES: dict[Family, frozenset[str]] = {
    "float": _split_words("float float4 float8 double real"),
    "exact": _split_words(
        "int int1 int2 int4 int8 integer tinyint smallint mediumint bigint hugeint uhugeint "
        "utinyint usmallint uinteger ubigint oid year decimal numeric"
    ),
    "boolean": frozenset(["bool", "boolean"]),
    "time": _split_words(
        "timestamp timestamptz datetime time timetz timestamp_s timestamp_ms timestamp_ns"
    ),
    "char": frozenset(["bpchar", "char", "character", "nchar"]),
    "unknown": _split_words("null unknown invalid number mixed"),
}
_BY_NAME: dict[str, Family] = {
    name: family for family, names in _FAMILIES.items() for name in names
}
NUMBERS: frozenset[Family] = frozenset({"float", "exact", "boolean"})
_SWITCHES = {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}
#: A number as engines write it; `007` is a text.
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,4})?", re.IGNORECASE | re.ASCII
)
_EXACT = Context(prec=1000)
_LONG_FRACTION = re.compile(r"\.\d{7}")
#: What two doubles that agree to 15 digits may differ by: half of the 15th of 1.00000000000000.
DIGITS_15 = 5e-15
#: Whole numbers below are written with all their digits wherever 15 are.
WHOLE = 1e15


def find_family(name: str) -> Family:
    """Return the family of a type by the engine's name of it: `DECIMAL(10,2)` is `exact`."""
    plain = re.sub(r"\([^()]*+\)", "", name).strip().lower()
    if not plain:
        return "unknown"
    if plain.endswith("[]"):
        return "text"
    words = plain.split()
    if words[:2] == ["double", "precision"]:
        return "float"
    if words[:2] in (["character", "varying"], ["char", "varying"]):
        return "text"
    return _BY_NAME.get(words[0], "text")


def join_families(one: Family, other: Family) -> Family | None:
    """Return the family that two engines' types of a column are compared by; None if there is none,
    as of a number and a text.
    """
    if one == other or other == "unknown":
        return one
    if one == "unknown":
        return other
    if (one in NUMBERS) != (other in NUMBERS):
        return None
    order: tuple[Family, ...] = ("float", "boolean", "exact", "time", "char", "text")
    return min(one, other, key=order.index)


def make_form(family: Family) -> Callable[[str], Hashable]:
    """Return what makes the form of a cell of such a column."""
    return _FORMS[family]


def guess_form(text: str) -> Hashable:
    """Return the form of a cell of unknown type, by its looks: to say that a difference may be one
    of spelling, never that there is none.
    """
    number = parse_number(text)
    if number is None:
        return _read_time(text)
    # whole numbers that a double's 15 digits would hold equal to others stay exact
    is_long = number == number.to_integral_value() and number.adjusted() >= 14
    return _read_exact(text) if is_long else float(number)


def matches_number(text: str, number: int) -> bool:
    """Return whether a cell that should hold this number does, however it is spelled: `10`,
    `10.0`, `1e1`; as a float also to 15 digits.
    """
    found = parse_number(text)
    if found is None or found == number:
        return found is not None
    return found != found.to_integral_value() and are_close(float(found), float(number), DIGITS_15)


def parse_number(text: str) -> Decimal | None:
    """Return the number that a text is; None if it is none, or is written as no engine does."""
    if (
        len(text) > _EXACT.prec
        or not _NUMBER.fullmatch(text)
        or not re.search(r"^[+-]?\.?\d", text)
    ):
        return None
    return Decimal(text)


def _read_exact(text: str) -> Hashable:
    number = parse_number(text)
    return text if number is None else number.normalize(_EXACT) + 0


def _read_float(text: str) -> Hashable:
    """The double; NaN has no equal, so its form is a word."""
    try:
        value = float(text)
    except ValueError:
        return text
    return "NaN" if math.isnan(value) else value


def _read_boolean(text: str) -> Hashable:
    return _SWITCHES.get(text.lower(), text)


def _read_time(text: str) -> Hashable:
    """The instant, where the text has an offset; else the time without zeros at the fraction's end.
    What has more digits than a datetime holds, or another spelling, stays a text.
    """
    if _LONG_FRACTION.search(text):
        return text
    try:
        read = datetime.fromisoformat(text) if "-" in text[:6] else time.fromisoformat(text)
    except ValueError:
        return text
    if isinstance(read, datetime) and len(text) > len("2026-01-01"):
        return read.astimezone(UTC) if read.tzinfo else read
    return read if isinstance(read, time) else text


def _read_char(text: str) -> Hashable:
    return text.rstrip(" ")


def _read_text(text: str) -> Hashable:
    return text


_FORMS: dict[Family, Callable[[str], Hashable]] = {
    "float": _read_float,
    "exact": _read_exact,
    "boolean": _read_boolean,
    "time": _read_time,
    "char": _read_char,
    "text": _read_text,
    "unknown": _read_text,
}


def strip_case(text: str) -> str:
    """Return a text without what a collation may ignore: case, accents, blanks at the end."""
    plain = unicodedata.normalize("NFKD", text.rstrip(" ").casefold())
    return "".join(it for it in plain if not unicodedata.combining(it))


def are_close(one: Hashable, other: Hashable, tolerance: float) -> bool:
    """Return whether two forms of floats differ by no more than such a part of the larger. Whole
    numbers of up to 15 digits are added and written without a loss: they are equal or not.
    """
    if isinstance(one, float) and isinstance(other, float):
        if one.is_integer() and other.is_integer() and max(abs(one), abs(other)) < WHOLE:
            return one == other
        return math.isclose(one, other, rel_tol=tolerance)
    return one == other


def is_cut(one: str, other: str) -> bool:
    """Return whether one side writes a float with 15 digits where the other writes more, as SQLite
    did before it wrote 17.
    """
    fewer, more = sorted(_count_digits(each) for each in (one, other))
    return fewer <= 15 < more


def _count_digits(text: str) -> int:
    return len(re.sub(r"[eE].*|\D", "", text).strip("0"))


def describe_spelling(family: Family, one: str, other: str) -> str:
    why = {
        "exact": "a number has another scale",
        "float": "a float has other digits of the same value",
        "boolean": "a switch has another word",
        "time": "one time in another zone or with another fraction",
        "char": "a CHAR has other blanks at its end",
    }.get(family, "one value")
    if family == "float" and float(one) == 0:
        why = "zero has another sign or spelling"
    return f"{why}: {one} and {other}"


Word = Literal["same", "differs", "undecidable", "not compared"]


@dataclass(frozen=True)
class Column:
    """A column of an answer; `type` is the engine's own name of it, "" if unknown."""

    name: str
    type: str = ""


@dataclass(frozen=True)
class Notice:
    """A warning or a notice beside an answer: its level, its code and its text."""

    level: str
    code: str
    text: str


@dataclass(frozen=True)
class Refusal:
    """The error that a statement ended with; its class is `code`: SQLSTATE, or the engine's own."""

    code: str
    text: str


@dataclass(frozen=True)
class Answer:
    """All that a statement is answered with. A cell is as the engine spells it; None is NULL.

    `cut` says why the rows are not all here: rows that are not whole are not compared. What the
    engine does not report (rows changed, an insert id) is None.
    """

    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    rows_changed: int | None = None
    insert_id: int | None = None
    notices: tuple[Notice, ...] = ()
    refusal: Refusal | None = None
    cut: str = ""


@dataclass(frozen=True)
class Sameness:
    """The word and why; `kind` is what differs (error, columns, rows, …); the first rows that
    differ: `ours` are of the base, `theirs` of the other.
    """

    word: Word
    why: str = ""
    kind: str = ""
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
