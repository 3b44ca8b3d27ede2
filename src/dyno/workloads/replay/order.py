"""A log as its server received it: one statement after the other, each in its own session; as bytes
of a file that the driver plays (`crates/driver/src/script/recording.rs` reads it).

The files lie beside the script that replays the log (`layout.py`). `order.events` has the form of
a connection's file, without names, with a session's number instead of a type's; `order.numbers`
says of each statement its class and its line; `order.json` names the classes.
"""

from __future__ import annotations

import heapq
import json
import struct
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple

from dyno.workloads.replay.logs import OTHERS, PREPARED, UnplayedStatement, insert_values
from dyno.workloads.replay.sessions import LogSession, Selection
from dyno.workloads.replay.spool import SpoolRecord
from dyno.workloads.replay.statements import Statement

EVENTS, NUMBERS, CLASSES = "order.events", "order.numbers", "order.json"
#: Executions of a class that are planned, of how many different ones, and letters of such a one.
VALUES, LOOKED_AT, LETTERS = 5, 100, 4000
#: In the place of a statement: its session has ended (crates/driver/src/commands/lockstep.rs).
END = b"/* the session ends */"


@dataclass(frozen=True)
class StatementClass:
    """Statements that are alike but for their literals; a timed play counts them under `name`, or
    with others if it is empty. `tables` are those that it names. A server was sent `calls` of it
    (0: as many as the log has).
    """

    digest: str
    kind: str
    name: str
    tables: tuple[str, ...]
    calls: int = 0

    @property
    def is_only_prepared(self) -> bool:
        """Return whether its values are unknown."""
        return self.digest.startswith(PREPARED)


class OrderedStatement(NamedTuple):
    """A statement in its place; `values` are those of its parameters, `number` is its class's."""

    session: int
    sql: str
    values: tuple[str | None, ...]
    number: int
    line: int


@dataclass(frozen=True)
class OrderedLog:
    """A log that was laid out in its order; `began_s` is when its first statement was sent, in
    seconds since 1970. `unplayed` are statements that a server has counted, and not kept.
    """

    folder: Path
    began_s: float
    classes: tuple[StatementClass, ...]
    unplayed: tuple[UnplayedStatement, ...] = ()

    @property
    def events(self) -> Path:
        return self.folder / EVENTS

    def list_statements(self) -> Iterator[OrderedStatement]:
        with self.events.open("rb") as events, (self.folder / NUMBERS).open("rb") as numbers:
            events.read(LENGTH.size)
            while head := events.read(EVENT.size):
                _, session, length, marked = EVENT.unpack(head)
                text = events.read(length)
                if text == END:
                    continue
                values = tuple(_read_value(events) for _ in range(marked))
                pair = array("i", numbers.read(2 * array("i").itemsize))
                yield OrderedStatement(session, text.decode(errors="replace"), values, *pair)


@lru_cache(maxsize=1)
def list_executions(log: OrderedLog) -> dict[str, list[str]]:
    """Up to `VALUES` different executions of each class with a name, spread over the log."""
    found = defaultdict[str, dict[str, None]](dict)
    for it in log.list_statements():
        known = found[log.classes[it.number].name]
        if len(known) < LOOKED_AT and len(it.sql) <= LETTERS:
            known[insert_values(it.sql.rstrip("; \n"), it.values)] = None
    found.pop("", None)
    return {name: _choose_spread([*texts]) for name, texts in found.items()}


def _choose_spread(texts: list[str]) -> list[str]:
    if len(texts) <= VALUES:
        return texts
    return [texts[at * (len(texts) - 1) // (VALUES - 1)] for at in range(VALUES)]


def _read_value(events: IO[bytes]) -> str | None:
    (length,) = LENGTH.unpack(events.read(LENGTH.size))
    return None if length < 0 else events.read(length).decode(errors="replace")


def write_order(
    folder: Path,
    selection: Selection,
    names: dict[int, str],
    unplayed: Sequence[UnplayedStatement] = (),
) -> None:
    """Write the files; `names` are those of classes that a timed play counts by themselves."""
    different = selection.different
    calls = different.calls
    found = [
        StatementClass(
            *(it.digest, it.kind, names.get(number, ""), tuple(sorted(it.tables)), calls[number])
        )
        for number, it in enumerate(different.statements)
    ]
    found.append(StatementClass(OTHERS, "unknown", "", ()))
    written = {
        "began_s": selection.began_s,
        "classes": [[it.digest, it.kind, it.name, list(it.tables), it.calls] for it in found],
        "unplayed": [*unplayed],
    }
    (folder / CLASSES).write_text(json.dumps(written))
    with (folder / EVENTS).open("wb") as events, (folder / NUMBERS).open("wb") as numbers:
        events.write(LENGTH.pack(0))
        for session, record in _merge(selection, selection.sessions):
            at_ns = round((record.at_s - selection.began_s) * 1e9) if record else 0
            text = encode(record.sql) if record else END
            marked = len(record.values) if record and record.values else -1
            events.write(EVENT.pack(at_ns, session, len(text), marked) + text)
            if record:
                events.write(encode_values(record.values))
                number = record.number if record.number >= 0 else len(found) - 1
                array("i", [number, record.line]).tofile(numbers)


def _merge(
    selection: Selection, sessions: Sequence[LogSession]
) -> Iterator[tuple[int, SpoolRecord | None]]:
    """Yield the records of all sessions by time, then by line; None when a session has ended."""

    def follow(
        session: int, records: Iterator[tuple[SpoolRecord, Statement]]
    ) -> Iterator[tuple[float, int, int, SpoolRecord | None]]:
        key = 0.0, 0
        for record, _ in records:
            key = record.at_s, record.line
            yield *key, session, record
        yield *key, session, None

    chains = [follow(at, selection.find_records(each)) for at, each in enumerate(sessions)]
    for _, _, session, record in heapq.merge(*chains, key=lambda it: it[:2]):
        yield session, record


def read_order(script: Path) -> OrderedLog | None:
    """Return the log that a script replays, in its order; None if it was not laid out so."""
    file = script.parent / CLASSES
    if not file.is_file():
        return None
    said = json.loads(file.read_text())
    classes = tuple(
        StatementClass(digest, kind, name, tuple(tables), *calls)
        for digest, kind, name, tables, *calls in said["classes"]
    )
    unplayed = tuple(UnplayedStatement(*it) for it in said.get("unplayed", ()))
    return OrderedLog(script.parent, said["began_s"], classes, unplayed)


#: An event: ns from the first statement of all; number of its type; bytes of its text, which
#: follows; number of its values, -1 where it has no parameters, each with its bytes, -1 for NULL.
EVENT, LENGTH = struct.Struct("<QIIi"), struct.Struct("<i")


def encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def encode_values(values: Sequence[str | None]) -> bytes:
    parts = list[bytes]()
    for value in values:
        said = encode(value) if value is not None else b""
        parts += (LENGTH.pack(-1 if value is None else len(said)), said)
    return b"".join(parts)
