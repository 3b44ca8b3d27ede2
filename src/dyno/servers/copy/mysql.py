"""A database of MySQL's family as a dump: tables with a share of their rows, views, routines and
triggers in the server's own words (`SHOW CREATE`).

The session's transactions are read-only (1792 refuses writes), and the copy is one of them, with a
consistent snapshot. A savepoint lets go of each table's metadata lock once it is read, as
`mysqldump --single-transaction` does. Not in the snapshot are tables of other storage engines than
InnoDB and MyRocks, and what the schema is changed to meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TextIO

from dyno.driver import Conversation
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.mysql import attached
from dyno.engines.mysql.attached import quote_name
from dyno.record import LeftOut
from dyno.runs.experiment.candidates import Spec
from dyno.servers.copy.shares import (
    CopiedTable,
    Reader,
    Reference,
    Rows,
    choose_shares,
    list_cut,
    name_first,
    read_pages,
)

#: Types that are written as hexadecimal digits: their bytes are no text.
_BYTES = re.compile(
    r"(?:tiny|medium|long)?blob|(?:var)?binary|bit|vector|(?:multi)?(?:point|linestring|polygon)"
    r"|geometry|geom(?:etry)?collection"
)
_GENERATED = re.compile(r"\b(?:GENERATED|VIRTUAL|PERSISTENT)\b", re.IGNORECASE)
_TABLES = (
    "SELECT table_name, table_type, engine FROM information_schema.tables"
    " WHERE table_schema = DATABASE() ORDER BY table_name"
)
_COLUMNS = (
    "SELECT table_name, column_name, data_type, extra FROM information_schema.columns"
    " WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position"
)
_KEYS = (
    "SELECT table_name, index_name, column_name, sub_part, nullable"
    " FROM information_schema.statistics WHERE table_schema = DATABASE() AND non_unique = 0"
    " ORDER BY table_name, index_name <> 'PRIMARY', index_name, seq_in_index"
)
_REFERENCES = (
    "SELECT constraint_name, table_name, referenced_table_name, column_name, referenced_column_name"
    " FROM information_schema.key_column_usage WHERE table_schema = DATABASE()"
    " AND referenced_table_schema = DATABASE() ORDER BY table_name, constraint_name,"
    " ordinal_position"
)
_ROUTINES = (
    "SELECT routine_type, routine_name FROM information_schema.routines"
    " WHERE routine_schema = DATABASE() ORDER BY routine_type, routine_name"
)
_TRIGGERS = (
    "SELECT 'TRIGGER', trigger_name FROM information_schema.triggers"
    " WHERE trigger_schema = DATABASE() ORDER BY event_object_table, event_manipulation,"
    " action_timing, action_order"
)
_EVENTS = "SELECT event_name FROM information_schema.events WHERE event_schema = DATABASE()"
_BEGIN = (
    "SET SESSION sql_mode = '', time_zone = '+00:00', sql_quote_show_create = 1",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    "SAVEPOINT dyno",
)
#: What the file sets: rows come in any order of tables, and as they are.
_HEAD = """\
SET NAMES utf8mb4;
SET TIME_ZONE = '+00:00', SQL_MODE = 'NO_AUTO_VALUE_ON_ZERO';
SET UNIQUE_CHECKS = 0, FOREIGN_KEY_CHECKS = 0;
"""
_ESCAPES = {ord(sign): f"\\{word}" for sign, word in zip("\\'\0\n\r\x1a", "\\'0nrZ", strict=True)}
#: Letters of an INSERT.
_INSERT = 64 << 10


def write_copy(ask: Ask, spec: Spec, most: int, out: TextIO) -> list[LeftOut]:
    """Write the database of a URL, at most `most` rows of a table; return what is left out.

    `UsageError` or `TrialFailed` where the server refuses the login, a session that only reads, or
    a question.
    """
    flags = {**spec.keys, "readonly": "on"}
    build = attached.locate_server(spec.engine, spec.with_password, flags)
    ((version,),) = ask(attached.make_session(build), ["SELECT VERSION()"])[0]
    session = attached.make_session(replace(build, version=str(version)))
    database = quote_name(str(session["database"]))
    out.write(f"CREATE DATABASE IF NOT EXISTS {database};\nUSE {database};\n{_HEAD}")
    with Conversation() as talk:

        def read(*questions: str) -> list[Rows]:
            return talk(session, questions)

        read(attached.build_probe(str(version)), *_BEGIN)
        copied = _Copy(read, out)
        left = copied.write_tables(most)
        left += copied.write_programs(_ROUTINES)
        left += copied.write_views(session)
        left += copied.write_programs(_TRIGGERS)
        if events := [str(name) for (name,) in read(_EVENTS)[0]]:
            left.append(LeftOut("dump", len(events), "events", name_first(events)))
    return left


class _Copy:
    """A database under way into a file; `tables` are names, types and storage engines."""

    def __init__(self, read: Reader, out: TextIO) -> None:
        self._read, self._out = read, out
        (self.tables,) = read(_TABLES)

    def write_tables(self, most: int) -> list[LeftOut]:
        """Write sequences and tables with their rows."""
        for name in (str(it[0]) for it in self.tables if it[1] == "SEQUENCE"):
            quoted = quote_name(name)
            made, at = self._read(
                f"SHOW CREATE SEQUENCE {quoted}", f"SELECT next_not_cached_value FROM {quoted}"
            )
            self._out.write(f"{made[0][1]};\nSELECT SETVAL({quoted}, {at[0][0]}, 0);\n")
        tables, references = self._describe_tables()
        broken = choose_shares(tables, references, most, self._count)
        for table in tables:
            self._write_table(table)
        left = [*list_cut(tables, broken, most, "not checked when it is loaded")]
        loose = [
            str(name)
            for name, kind, engine in self.tables
            if "VIEW" not in str(kind) and engine and engine.lower() not in ("innodb", "rocksdb")
        ]
        if loose:
            why = "tables of a storage engine without snapshots, read as they were then"
            left.append(LeftOut("dump", len(loose), why, name_first(loose)))
        return left

    def _count(self, question: str) -> int:
        return int(self._read(question)[0][0][0] or 0)

    def _describe_tables(self) -> tuple[list[CopiedTable], list[Reference]]:
        real = [str(it[0]) for it in self.tables if it[1] in ("BASE TABLE", "SYSTEM VERSIONED")]
        tables = {name: CopiedTable(quote_name(name), quote_name(name)) for name in real}
        columns, keys, references = self._read(_COLUMNS, _KEYS, _REFERENCES)
        for name, column, kind, extra in columns:
            if name in tables and not _GENERATED.search(str(extra)):
                quoted = quote_name(str(column))
                tables[name].columns.append(quoted)
                kind = str(kind).lower()
                # FLOAT shows six digits by itself
                read = f"{quoted} + 0e0" if kind == "float" else quoted
                tables[name].reads.append(f"HEX({quoted})" if _BYTES.fullmatch(kind) else read)
        uniques = dict[tuple[str, str], list[str | None]]()
        for name, index, column, part, nullable in keys:
            usable = column if not part and nullable != "YES" else None
            uniques.setdefault((str(name), str(index)), []).append(usable)
        for (name, _), found in uniques.items():
            if name in tables and all(found) and not tables[name].key:
                tables[name].key = tuple(quote_name(str(it)) for it in found)
        grouped = dict[tuple[str, str, str], list[tuple[str, str]]]()
        for constraint, name, parent, column, named in references:
            own = (str(constraint), quote_name(str(name)), quote_name(str(parent)))
            pair = quote_name(str(column)), quote_name(str(named))
            grouped.setdefault(own, []).append(pair)
        found_references = [
            Reference(*own, tuple(it for it, _ in pairs), tuple(it for _, it in pairs))
            for own, pairs in grouped.items()
        ]
        return list(tables.values()), found_references

    def _write_table(self, table: CopiedTable) -> None:
        ((_, made, *_),) = self._read(f"SHOW CREATE TABLE {table.name}")[0]
        self._out.write(f"{made};\n")
        head = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES\n"
        is_bytes = [it.startswith("HEX(") for it in table.reads]
        for rows in self._read_rows(table) if table.rows else ():
            values = (f"({','.join(map(_write_value, row, is_bytes))})" for row in rows)
            held = 0
            for value in values:
                self._out.write(f"{',' if held else head}{value}\n")
                held += len(value)
                if held > _INSERT:
                    self._out.write(";\n")
                    held = 0
            self._out.write(";\n" * bool(held))
        self._read("ROLLBACK TO SAVEPOINT dyno")

    def _read_rows(self, table: CopiedTable) -> Iterator[Rows]:
        """Yield its rows; the order of the key is told backwards, and turned again here."""
        if not table.key:
            yield self._read(table.build_share(table.reads))[0]
            return
        left = table.rows

        def ask_page(size: int) -> Rows:
            nonlocal left
            size, left = min(size, left), max(0, left - size)
            if not size:
                return []
            limit = f"LIMIT {size} OFFSET {left}"
            return self._read(table.build_share(table.reads, limit=limit))[0][::-1]

        yield from read_pages(ask_page)

    def write_views(self, session: Session) -> list[LeftOut]:
        """Write views, each at first as one of constants: they may name each other."""
        names = [str(name) for name, kind, _ in self.tables if "VIEW" in str(kind)]
        if not names:
            return []
        with Conversation() as beside:  # a refusal ends a transaction, and some may be invalid
            shown = beside.ask_whole(
                session, [f"SHOW CREATE VIEW {quote_name(it)}" for it in names]
            )
        texts = {
            name: str(it.answer.rows[0][1])
            for name, it in zip(names, shown, strict=True)
            if it.answer.rows
        }
        columns = dict[str, list[str]]()
        for name, column, *_ in self._read(_COLUMNS)[0]:
            columns.setdefault(str(name), []).append(f"1 AS {quote_name(str(column))}")
        for name in texts:
            constants = ", ".join(columns[name])
            self._out.write(f"CREATE VIEW {quote_name(name)} AS SELECT {constants};\n")
        for text in texts.values():
            self._out.write(f"{text.replace('CREATE', 'CREATE OR REPLACE', 1)};\n")
        hidden = [name for name in names if name not in texts]
        why = "views that the server does not show"
        return [LeftOut("dump", len(hidden), why, name_first(hidden))] if hidden else []

    def write_programs(self, listed: str) -> list[LeftOut]:
        """Write routines or triggers as they were made, by the name and kind that `listed` says."""
        hidden = list[str]()
        for kind, name in self._read(listed)[0]:
            ((_, mode, text, *_),) = self._read(f"SHOW CREATE {kind} {quote_name(str(name))}")[0]
            if not text:
                hidden.append(str(name))
                continue
            self._out.write(f"SET SQL_MODE = '{mode}';\nDELIMITER ;;\n{text} ;;\nDELIMITER ;\n")
        why = "routines that the account may not see"
        return [LeftOut("dump", len(hidden), why, name_first(hidden))] if hidden else []


def _write_value(value: str | None, is_bytes: bool) -> str:
    if value is None:
        return "NULL"
    return f"0x{value}" if is_bytes and value else f"'{value.translate(_ESCAPES)}'"
