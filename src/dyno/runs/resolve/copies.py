"""The copy on which a log is played: that there is one, and that it has the tables.

Nobody's database is written to that was not named for it: one that is attached is played on only
where the user says so (`--in-place`), and read only unless that is said, too (`--writes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from dyno import driver
from dyno.builds import Build
from dyno.driver.plan import OutlinedText
from dyno.engines import Engine, ReachesDatabases, ReadsInPlace, find_engine
from dyno.errors import TrialFailed, UsageError
from dyno.runs.experiment.candidates import Spec, append_keys, parse_candidate
from dyno.runs.resolve.setup_files import ReadyFile
from dyno.workloads.replay.in_place import ServerRules
from dyno.workloads.replay.statements import compile_names, find_made_tables, strip_schema


@dataclass(frozen=True)
class Copy:
    """Where a log is played: on what the SQL file `data` makes, or in an attached database as it
    is (`in_place`), which `writes` may change. `beside`: databases of its servers that were not
    named.
    """

    data: ReadyFile | None
    in_place: bool
    writes: bool
    beside: Sequence[str] = ()


def with_access(words_in_place: bool, writes: bool, candidates: Sequence[str]) -> tuple[str, ...]:
    """The candidates' texts, those of servers that a log is only read in with `readonly=on`."""
    if not words_in_place or writes:
        return tuple(candidates)
    return tuple(_describe_reading(text) for text in candidates)


def _describe_reading(text: str) -> str:
    spec = parse_candidate(text)
    if not spec.is_url:
        return text
    if spec.keys.get("readonly") == "off":
        raise UsageError("readonly=off and --in-place without --writes contradict each other")
    if "readonly" in spec.keys:
        return text
    typed = text.strip()
    if "://" not in typed:  # a connection string is no URL, and takes no keys
        typed = spec.text.replace(spec.build, spec.with_password, 1)
    return append_keys(spec, typed, {"readonly": "on"})


def find_rules_in_place(candidates: Sequence[str], has_data: bool) -> list[ServerRules]:
    """What each server may be asked in which a log is only read; `UsageError` where that cannot be
    said, and where a candidate is none that runs already.
    """
    specs = [parse_candidate(text) for text in candidates]
    _check_attached([spec for spec in specs if spec.is_url], specs, has_data)
    return _find_rules(specs)


def find_rules_of_copies(candidates: Sequence[str]) -> list[ServerRules]:
    """What each server that runs already may be asked in whose database a copy is only read."""
    specs = [parse_candidate(text) for text in candidates]
    return _find_rules([spec for spec in specs if spec.is_url])


def _find_rules(specs: Sequence[Spec]) -> list[ServerRules]:
    found = []
    for spec in specs:
        engine, build = _find_attached(spec)
        if not isinstance(engine, ReadsInPlace):
            raise UsageError(f"a log cannot be played in place on {spec.engine}")
        found.append(engine.read_rules(build))
    return found


def find_databases_beside(specs: Iterable[Spec]) -> list[str]:
    """Databases of attached servers that nobody named, and that statements could reach."""
    found = set[str]()
    for spec in specs:
        if spec.is_url:
            engine, build = _find_attached(spec)
            if isinstance(engine, ReachesDatabases):
                found.update(engine.list_other_databases(build))
    return sorted(found)


#: What makes or drops a database, or brings a client there; and where statements reach others.
_DATABASES = r"(?:CREATE|DROP|ALTER)[ \t]+DATABASE\b|\\c(?:onnect)?[ \t]"
_REACHED = rf"{_DATABASES}|USE[ \t]+[`\"\w]|(?:CREATE|DROP)[ \t]+SCHEMA\b"
_OTHER = {
    reaches: re.compile(rf"^[ \t]*(?:/\*!\d+[ \t]*)?(?:{form}).*", re.IGNORECASE | re.MULTILINE)
    for reaches, form in ((False, _DATABASES), (True, _REACHED))
}
#: Words after which a script names what it writes to.
_WRITES_TO = "INTO|TABLE|EXISTS|UPDATE|VIEW|TRIGGER|PROCEDURE|FUNCTION|EVENT|FROM|ON|TABLES"


_CHANGES = r"INTO|TABLE|EXISTS|UPDATE|VIEW|TRIGGER|PROCEDURE|FUNCTION|EVENT|DELETE\s+FROM|TABLES"


def _check_own_database(data: ReadyFile, others: Sequence[str]) -> None:
    """`UsageError` where a script would leave the database that was named for it."""
    named = compile_names(others, _WRITES_TO)
    for each in (it for outline in data.outlines for it in outline.texts):
        if found := _OTHER[bool(others)].search(each.text) or (named and named.search(each.text)):
            _refuse_other_database(data, each, found)


def _refuse_other_database(data: ReadyFile, text: OutlinedText, found: re.Match[str]) -> NoReturn:
    line = text.line + text.text.count("\n", 0, found.start())
    raise UsageError(
        f"{data.named.name} names a database",
        cause=f"line {line} says '{found[0].strip()[:60]}'",
        hint="dump one database without its name: no USE, no database before a dot",
    )


def check_setup(data: ReadyFile, specs: Sequence[Spec]) -> None:
    """`UsageError` where a file would change another database of a server that runs already. It may
    read there, and a `USE` of it is not played.
    """
    if not any(spec.is_url for spec in specs):
        return
    named = compile_names(find_databases_beside(specs), _CHANGES)
    for each in (it for outline in data.outlines for it in outline.texts):
        if named and (found := named.search(each.text)) and "." in found[0]:
            _refuse_other_database(data, each, found)


def check_copy(copy: Copy, candidates: Sequence[str]) -> None:
    """`UsageError` where a candidate has no copy to play a log on."""
    specs = [parse_candidate(text) for text in candidates]
    attached = [spec for spec in specs if spec.is_url]
    if copy.in_place:
        _check_attached(attached, specs, copy.data is not None)
    if copy.data is not None:
        if attached:
            _check_own_database(copy.data, copy.beside)
    elif attached and not copy.in_place:
        raise UsageError(
            "a log on a server that runs already needs --data or --in-place",
            cause=f"{attached[0].name} may be in use",
            hint="--data DUMP.sql fills an empty database of it; --in-place only reads in this one",
        )


def find_tables(copy: Copy, candidates: Sequence[str], tables: Iterable[str]) -> set[str]:
    """Those of the tables that every candidate's copy has, without schema and in lower case;
    `UsageError` where there is no copy."""
    if copy.data is not None:
        return _find_made(copy.data)
    needed = sorted(tables)
    if not needed:
        return set()
    if not copy.in_place:
        hint = "--data DUMP.sql makes the copy: an SQL dump of the database"
        name = strip_schema(needed[0])
        raise UsageError(f"there is no table '{name}' to play the log on", hint=hint)
    found = [_find_existing(spec, needed) for spec in map(parse_candidate, candidates)]
    return set.intersection(*found)


def _check_attached(attached: Sequence[Spec], specs: Sequence[Spec], has_data: bool) -> None:
    if has_data or len(attached) < len(specs):
        hint = "--data FILE makes the copy for engines that Dyno starts, and in an empty database"
        raise UsageError(
            "--in-place is for servers that run already, and their own data", hint=hint
        )


def _find_made(data: ReadyFile) -> set[str]:
    texts = (it.text for outline in data.outlines for it in outline.texts)
    return {name for text in texts for name in find_made_tables(text)}


def _find_attached(spec: Spec) -> tuple[Engine, Build]:
    """An attached candidate's engine, and its build by the flags of its URL."""
    engine = find_engine(spec.engine, driver.ask)
    flags = {name: value for name, value in spec.keys.items() if name in engine.flags}
    return engine, engine.program(spec.with_password, flags, lambda _: None)


def _find_existing(spec: Spec, tables: Iterable[str]) -> set[str]:
    """Those of the tables that statements can name there, views and all; nothing is read."""
    engine, build = _find_attached(spec)
    session = engine.start(build, Path(), {}).session
    found = set()
    for name in tables:
        with suppress(TrialFailed):
            driver.ask(session, [f"SELECT 1 FROM {name} WHERE 1 = 0"])
            found.add(strip_schema(name))
    return found
