"""The SQL file that makes a workload's tables, made ready for its candidates: unpacked, whole, of
their server's kind, and known for what of it is not loaded."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno import driver
from dyno.builds import Say
from dyno.driver.plan import Outline, OutlinedText
from dyno.engines import ReadsSql, find_engine, find_plain_dump
from dyno.errors import UsageError
from dyno.printable import escape_line
from dyno.record import LeftOut
from dyno.runs.experiment.candidates import Spec
from dyno.workloads.replay.statements import compile_names

#: The session that takes any statement and answers none.
_ANY = "null"
#: A database that is loaded, where a file has several: all, as they are named.
_ALL = "*"
#: What the driver calls the end that a file put together by hand lacks.
NO_END = "the line that ends such a dump"
#: Names that are told, and letters of a statement.
_TOLD, _SHOWN = 5, 60
#: What makes a database, or sets something for it.
_OF_DATABASES = re.compile(
    r"\s*(?:ALTER|COMMENT\s+ON|(?P<makes>CREATE))\s+DATABASE\b", re.IGNORECASE
)


@dataclass(frozen=True)
class ReadyFile:
    """A plain SQL file, made of the one that the user `named`; `outlines` of its content, one for
    each kind of session that plays it, and `database`: which of several is loaded, `""` for the
    only one, `*` for all.
    """

    path: Path
    named: Path
    outlines: tuple[Outline, ...]
    database: str

    def list_options(self) -> dict[str, str]:
        """The script's options that say so."""
        both = {"setup": str(self.path), "setup_database": self.database}
        return {name: value for name, value in both.items() if value}

    def list_left_out(self) -> Iterator[LeftOut]:
        """What is not loaded, by what it is; a file without its end may lack more."""
        for outline in self.outlines[:1]:
            for what, it in outline.left_out.items():
                why = f"it ends without {NO_END}" if what == NO_END else what
                yield LeftOut("dump", it.count, why, f"line {it.line}")
            if self.database != _ALL and (own := _find_databases(outline)):
                where = f"line {own[0].line}: {escape_line(own[0].text)[:_SHOWN]}"
                yield LeftOut("dump", len(own), "what it says of databases", where)

    def describe(self) -> Iterator[str]:
        """What is not loaded as the file says it, a sentence each."""
        for outline in self.outlines[:1]:
            yield from self._describe_databases(outline)
            left = [
                f"{it.count:,} {what} (line {it.line})"
                for what, it in outline.left_out.items()
                if what != NO_END
            ]
            if left:
                yield (
                    f"left out of {self.named.name}: {', '.join(left)}; "
                    "what it makes belongs to the account that loads it"
                )
            if self.database != _ALL and (own := _find_databases(outline)):
                yield (
                    f"left out of {self.named.name}: what it says of databases "
                    f"({len(own):,} times; line {own[0].line}: {escape_line(own[0].text)[:_SHOWN]})"
                    "; the candidate has one of its own"
                )
            if end := outline.left_out.get(NO_END):
                yield (
                    f"note: {self.named.name} ends on line {end.line} without {NO_END}: if it was "
                    "cut, tables or rows are missing"
                )
            if outline.events:
                yield (
                    f"note: {self.named.name} makes {outline.events:,} events, which the server's "
                    "scheduler plays beside the workload where it is on"
                )

    def _describe_databases(self, outline: Outline) -> Iterator[str]:
        names = [name for name in outline.databases if name]
        if self.database == _ALL:
            yield f"{self.named.name} makes the databases {_join(names)}, as they are named"
        elif names:
            loaded = self.database or names[0]
            others = [name for name in names if name != loaded]
            rest = f"; {_join(others)} of it is left out" if others else ""
            if self.database:
                rest = f"; '{loaded}.' before names is left out{rest}"
            yield (
                f"the database {loaded} of {self.named.name} is loaded into the candidate's own"
                f"{rest}"
            )


def _find_databases(outline: Outline) -> list[OutlinedText]:
    """The statements of databases; those that make one only where no name of one is told."""
    is_named = any(outline.databases)
    found = [(it, _OF_DATABASES.match(it.text)) for it in outline.texts]
    return [it for it, match in found if match and not (is_named and match["makes"])]


def make_ready(named: Path, candidates: Sequence[Spec], say: Say) -> ReadyFile:
    """The file for these candidates; `UsageError` where one of them could not load it whole."""
    path = find_plain_dump(named, say)
    engines = [find_engine(spec.engine, driver.ask) for spec in candidates]
    reading = [engine for engine in engines if isinstance(engine, ReadsSql)]
    kinds = dict.fromkeys(engine.session_kind for engine in reading) or [_ANY]
    outlines = tuple(driver.outline(path, kind) for kind in kinds)
    moves = not any(spec.is_url for spec in candidates) and all(it.has_use for it in reading)
    servers = frozenset[str]().union(*(it.own_databases for it in reading))
    database = _choose_database(named, outlines[0], servers, moves)
    if any(it.has_use for it in reading):
        database = database or _find_named(outlines[0])
    return ReadyFile(path, named, outlines, database)


def _find_named(outline: Outline) -> str:
    """The file's only database if statements may name it before tables, views or routines, which
    the driver then takes out; else "".
    """
    names = [name for name in outline.databases if name]
    form = compile_names(names)
    found = (it for text in outline.texts for it in form.finditer(text.text)) if form else ()
    return names[0] if any("." in it[0] for it in found) else ""


def _choose_database(named: Path, outline: Outline, servers: Collection[str], moves: bool) -> str:
    """Which database is loaded. `servers`: databases of the servers' own; `moves`: a connection may
    go to another one, and all are ours.
    """
    named_in_it = [name for name in outline.databases if name]
    filled = [name for name in named_in_it if outline.databases[name]]
    own = [name for name in filled if name not in servers] or filled
    is_outside = outline.databases.get("", 0) > 0
    if len(named_in_it) <= 1 and not (is_outside and filled):
        return ""
    if len(own) == 1 and not is_outside:
        return own[0]
    if moves:
        return _ALL
    raise UsageError(
        f"{named.name} holds {len(own) + is_outside} databases",
        cause=_join(own) or "none of them has a table",
        hint="a copy is one database: dump the one that is wanted",
    )


def _join(names: Sequence[str]) -> str:
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return ", ".join(names[:_TOLD]) + more
