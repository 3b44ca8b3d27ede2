"""A PostgreSQL database as a dump: the schema by `pg_dump`, a share of each table's rows by `COPY`
blocks of our own, both of one exported snapshot.

`pg_dump` is that of a build here whose release is the server's or newer, the oldest of these: what
a newer one writes may be unknown to OLD. It is told the login by libpq's variables, and like our
own session it is opened read-only. Its libpq older than 16 knows no `require_auth`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from dyno import subprocesses
from dyno.access import url
from dyno.builds import Build
from dyno.driver import Conversation
from dyno.engines import Ask
from dyno.engines.postgres import attached
from dyno.engines.postgres.client_programs import build_command, list_programs, read_release
from dyno.errors import UsageError
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
from dyno.tails import extract_last_lines

PROGRAM = "pg_dump"
#: What it may take: it waits for locks, and schemas may be large.
SCHEMA_S = 3600.0
_BEGIN = (
    "SET extra_float_digits = 3; SET DateStyle = ISO; SET IntervalStyle = postgres;"
    " SET row_security = off; SET idle_in_transaction_session_timeout = 0",
    "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
)
_OWN = (
    "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND NOT EXISTS (SELECT FROM"
    " pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')"
)
_TABLES = (
    "SELECT c.oid, format('%I.%I', n.nspname, c.relname), c.relkind FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm', 'f') AND"
    f" c.relpersistence <> 't' AND (c.relkind <> 'm' OR c.relispopulated) AND {_OWN} ORDER BY c.oid"
)
_COLUMNS = (
    "SELECT a.attrelid, quote_ident(a.attname) FROM pg_attribute a WHERE a.attnum > 0"
    " AND NOT a.attisdropped AND coalesce(to_jsonb(a)->>'attgenerated', '') = ''"
    " ORDER BY a.attrelid, a.attnum"
)
_KEYS = (
    "SELECT i.indrelid, i.indexrelid, quote_ident(a.attname) FROM pg_index i"
    " CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(number, at)"
    " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number"
    " WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL"
    " ORDER BY i.indrelid, NOT i.indisprimary, i.indexrelid, k.at"
)
_REFERENCES = (
    "SELECT k.oid, quote_ident(k.conname), k.conrelid, k.confrelid, quote_ident(a.attname),"
    " quote_ident(b.attname) FROM pg_constraint k"
    " CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY u(own, other, at)"
    " JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.own"
    " JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.other"
    " WHERE k.contype = 'f' ORDER BY k.oid, u.at"
)
_SEQUENCES = (
    "SELECT format('SELECT pg_catalog.setval(%L, %s, true);', format('%I.%I', schemaname,"
    " sequencename), last_value) FROM pg_sequences WHERE last_value IS NOT NULL"
)
_ESCAPES = {ord(sign): f"\\{word}" for sign, word in zip("\\\n\r\t", "\\nrt", strict=True)}


def write_copy(ask: Ask, spec: Spec, most: int, out: TextIO) -> list[LeftOut]:
    """Write the database of a URL, at most `most` rows of a table; return what is left out.

    `UsageError` or `TrialFailed` where the server refuses the login, a session that only reads, or
    a question, and where no `pg_dump` here reads its release.
    """
    flags = {**spec.keys, "readonly": "on"}
    build = attached.locate_server(spec.with_password, flags)
    session = attached.make_session(build)
    attached.check_kept(ask, session)
    ((number,),) = ask(session, ["SELECT current_setting('server_version_num')::int / 10000"])[0]
    program = _choose_program(int(number or 0))
    with Conversation() as talk:

        def read(*questions: str) -> list[Rows]:
            return talk(session, questions)

        begun = read(attached.STILL_READING, *_BEGIN, "SELECT pg_export_snapshot()")
        words = ["--schema-only", "--no-owner", "--no-privileges", f"--snapshot={begun[-1][0][0]}"]

        def read_schema(section: str) -> str:
            return _run([*build_command(program), *words, f"--section={section}"], build)

        out.write(read_schema("pre-data"))
        found, columns, keys, pairs, sequences = read(
            _TABLES, _COLUMNS, _KEYS, _REFERENCES, _SEQUENCES
        )
        tables = _describe_tables(found, columns, keys)
        references = _describe_references(pairs, {str(oid): str(name) for oid, name, _ in found})
        broken = choose_shares(tables, references, most, lambda it: int(read(it)[0][0][0] or 0))
        for table in tables:
            _write_rows(table, read, out)
        out.writelines(f"{made}\n" for (made,) in sequences)
        out.write(_leave_out(read_schema("post-data"), broken))
        refreshed = (name for _, name, kind in found if kind == "m")
        out.writelines(f"REFRESH MATERIALIZED VIEW {name};\n" for name in refreshed)
    left = [*list_cut(tables, broken, most, "left out")]
    if foreign := [str(name) for _, name, kind in found if kind == "f"]:
        left.append(LeftOut("dump", len(foreign), "rows of foreign tables", name_first(foreign)))
    return left


def _choose_program(release: int) -> Path:
    """Return the oldest `pg_dump` of those here that read this release."""
    found = [it for it in list_programs(PROGRAM) if read_release(it) >= release]
    if not found:
        hint = f"install PostgreSQL's client {release}, or name a dump instead"
        raise UsageError(f"no {PROGRAM} here reads PostgreSQL {release}", hint=hint)
    return min(found, key=read_release)


def _run(command: Sequence[str], build: Build) -> str:
    login = url.read_login(build)
    host, port = login.host, str(login.port)
    if host.startswith("/"):  # the socket's own path, which libpq makes of folder and port
        host, _, port = host.rpartition("/.s.PGSQL.")
    words = {
        **{"PGHOST": host, "PGPORT": port, "PGUSER": login.user, "PGDATABASE": login.database},
        **{"PGSSLMODE": login.tls, "PGSSLROOTCERT": login.ca, "PGPASSWORD": login.password},
        "PGOPTIONS": "-c default_transaction_read_only=on",
        "PGREQUIREAUTH": ",".join(login.proof.get("require_auth", ())),
        "PGCHANNELBINDING": login.proof.get("channel_binding"),
    }
    own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    own |= {name: value for name, value in words.items() if value}
    limit_s = url.find_time_limit_s(build)
    waits = f"--lock-wait-timeout={limit_s}s"
    try:
        done = subprocesses.run([*command, waits], SCHEMA_S, environment=own)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{PROGRAM} does not read the schema", cause=str(error)) from error
    if done.returncode:
        cause = extract_last_lines(done.stderr, 2) or "it failed"
        hint = "name an account that may read all tables, or a dump instead"
        raise UsageError(f"{PROGRAM} does not read the schema", cause=cause, hint=hint)
    return done.stdout


def _describe_tables(found: Rows, columns: Rows, keys: Rows) -> list[CopiedTable]:
    tables = {
        oid: CopiedTable(str(name), f"ONLY {name}") for oid, name, kind in found if kind == "r"
    }
    for oid, column in columns:
        if oid in tables:
            tables[oid].columns.append(str(column))
    indexes = dict[str | None, str | None]()
    for oid, index, column in keys:
        # the first index of a table is its primary key, if it has one
        if oid in tables and indexes.setdefault(oid, index) == index:
            tables[oid].key += (str(column),)
    return [replace(it, reads=it.columns) for it in tables.values()]


def _describe_references(pairs: Rows, names: dict[str, str]) -> list[Reference]:
    """Return those of plain tables; a partitioned one has none of its own rows."""
    found = dict[str | None, Reference]()
    for oid, name, table, parent, column, named in pairs:
        own = found.get(oid) or Reference(
            *(str(name), names.get(str(table), "")), names.get(str(parent), ""), (), ()
        )
        found[oid] = replace(
            own, columns=(*own.columns, str(column)), named=(*own.named, str(named))
        )
    return [it for it in found.values() if it.table]


def _write_rows(table: CopiedTable, read: Reader, out: TextIO) -> None:
    if not (table.rows and table.columns):
        return
    asked = f"SELECT {', '.join(table.columns)} FROM {table.source}"  # in the table's own order
    if table.is_cut:
        order = f" ORDER BY {', '.join(table.key)}" if table.key else ""
        asked = f"SELECT * FROM ({table.build_share(table.columns)}) share{order}"
    read(f"DECLARE share NO SCROLL CURSOR FOR {asked}")
    out.write(f"COPY {table.name} ({', '.join(table.columns)}) FROM stdin;\n")
    for rows in read_pages(lambda size: read(f"FETCH FORWARD {size} FROM share")[0]):
        for row in rows:
            cells = (r"\N" if it is None else it.translate(_ESCAPES) for it in row)
            out.write("\t".join(cells) + "\n")
    out.write("\\.\n")
    read("CLOSE share")


def _leave_out(made: str, broken: Sequence[Reference]) -> str:
    """Return the statements without those that make these foreign keys."""
    for it in broken:
        form = rf"ALTER TABLE [^;]*?\n    ADD CONSTRAINT {re.escape(it.name)} FOREIGN KEY [^\n]*;\n"
        made = re.sub(form, "", made)
    return made
