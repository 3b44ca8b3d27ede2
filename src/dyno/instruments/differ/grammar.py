"""What two builds understand alike: types, literals, expressions and features, by their versions;
and which differences between them release notes explain. Each engine's are in `dialects/`.

A template of an expression has sorts in braces: `({int} + {int})`. Two engines share what both of
their files have, letter by letter, so that one text is sent to both.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from dyno.errors import UsageError
from dyno.record.schema import Record

HERE = Path(__file__).parent / "dialects"
_SORT = re.compile(r"\{(\w+)\}")
#: Sorts that columns may have.
COLUMN_SORTS = ("int", "text", "real", "any", "exact", "date", "json")


class KnownChange(Record):
    """A difference that is meant: between a version before `since` and one from it on, statements
    that match `pattern`, and where it is refused, in words that match `error`. `against`: it is one
    between this engine and that; `answer` matches the rows that are shown, the base's before the
    other's. Without these two only reduced scripts are held against it. Without a `source` it is
    named and its differences are one, but none says that it is meant: it stays open.
    """

    what: str
    source: str = ""
    pattern: str = ""
    since: str = ""
    error: str = ""
    answer: str = ""
    against: str = ""
    classes: tuple[str, ...] = ()


class DialectPart(Record):
    """What an engine understands from a version on; `until` is the first that does not."""

    since: str = ""
    until: str = ""
    features: tuple[str, ...] = ()
    types: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    literals: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    grammar: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


class DialectFile(Record):
    """An engine's file: what makes an empty database (`fresh`), what replaces fields of the
    driver's session, and settings of a server that holds nothing worth keeping. Where a session is
    a process, the server may outlive its crash, and the session ends with one of `crashed_states`.
    """

    fresh: tuple[str, ...]
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    session: dict[str, Any] = msgspec.field(default_factory=dict)
    crashed_states: tuple[str, ...] = ()
    part: tuple[DialectPart, ...] = ()
    change: tuple[KnownChange, ...] = ()


@dataclass(frozen=True)
class DialectSide:
    """An engine's name and version, and its file."""

    engine: str
    version: str
    file: DialectFile

    @property
    def number(self) -> tuple[int, ...]:
        """The version as it is compared."""
        return parse_version(self.version)

    @property
    def parts(self) -> list[DialectPart]:
        """Those of its version."""
        return [
            part
            for part in self.file.part
            if parse_version(part.since) <= self.number
            and not (part.until and self.number >= parse_version(part.until))
        ]


@dataclass(frozen=True)
class SharedDialect:
    """What both sides understand."""

    features: frozenset[str]
    types: dict[str, tuple[str, ...]]
    literals: dict[str, tuple[str, ...]]
    grammar: dict[str, tuple[str, ...]]

    @cached_property
    def sorts(self) -> list[str]:
        """The sorts that a column may have."""
        return [sort for sort in COLUMN_SORTS if sort in self.types and sort in self.literals]

    @cached_property
    def templates(self) -> dict[str, list[tuple[str, ...]]]:
        """The grammar's, cut at their braces: text, sort, text, sort, …, text."""
        return {
            sort: [tuple(_SORT.split(text)) for text in texts]
            for sort, texts in self.grammar.items()
        }


def parse_version(text: str) -> tuple[int, ...]:
    """Return a version's numbers: `10.11.5-MariaDB` is (10, 11, 5)."""
    return tuple(int(it) for it in re.findall(r"\d+", text.partition("-")[0])[:3])


def read_side(engine: str, version: str) -> DialectSide:
    """Return what is known of an engine; `UsageError` where nothing is."""
    path = HERE / f"{engine}.toml"
    if not path.is_file():
        known = ", ".join(sorted(it.stem for it in HERE.glob("[!_]*.toml")))
        hint = f"statements are made for {known}"
        raise UsageError(f"dyno differ knows no SQL of {engine}", hint=hint)
    return DialectSide(engine, version, _read_file(path))


def _read_file(path: Path) -> DialectFile:
    data = tomllib.loads(path.read_text("utf-8"))
    if like := data.pop("like", ""):
        other = tomllib.loads((HERE / f"{like}.toml").read_text("utf-8"))
        alike = [it for it in other["part"] if "since" not in it]
        data = {**other, "change": [], **data, "part": alike + data["part"]}
    return msgspec.convert(data, DialectFile)


def join_sides(one: DialectSide, other: DialectSide) -> SharedDialect:
    """Return what both understand; `UsageError` where that is too little to ask anything."""
    mine, theirs = (_collect(side) for side in (one, other))
    types, literals, grammar = (
        _keep_shared(getattr(mine, name), getattr(theirs, name))
        for name in ("types", "literals", "grammar")
    )
    # of what both name and only one can write down, nothing is made
    lacking = {it for it in (*mine.literals, *theirs.literals) if it not in literals}
    grammar = {
        sort: kept
        for sort, texts in grammar.items()
        if (kept := tuple(it for it in texts if lacking.isdisjoint(_SORT.findall(it))))
    }
    made = SharedDialect(mine.features & theirs.features, types, literals, grammar)
    if not made.sorts or "id" not in types or "bool" not in grammar:
        hint = "two builds of one engine share most, then engines that speak one protocol"
        raise UsageError(f"{one.engine} and {other.engine} share too little SQL", hint=hint)
    return made


def _collect(side: DialectSide) -> SharedDialect:
    def gather(name: str) -> dict[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = {}
        for part in side.parts:
            for sort, texts in getattr(part, name).items():
                found.setdefault(sort, {}).update(dict.fromkeys(texts))
        return {sort: tuple(texts) for sort, texts in found.items()}

    features = frozenset(name for part in side.parts for name in part.features)
    return SharedDialect(features, gather("types"), gather("literals"), gather("grammar"))


def _keep_shared(
    mine: dict[str, tuple[str, ...]], theirs: dict[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    shared = {
        sort: tuple(text for text in texts if text in theirs.get(sort, ()))
        for sort, texts in mine.items()
    }
    return {sort: texts for sort, texts in shared.items() if texts}


def list_changes(one: DialectSide, other: DialectSide) -> list[KnownChange]:
    """Return the changes that lie between two sides."""
    if one.engine != other.engine:
        pairs = ((one, other), (other, one))
        return [it for a, b in pairs for it in a.file.change if it.against == b.engine]
    low, high = sorted((one.number, other.number))
    return [
        change
        for change in one.file.change
        if not change.against and low < parse_version(change.since) <= high
    ]
