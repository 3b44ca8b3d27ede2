"""A new data folder, made once per build and copied for each trial; one of an older release,
upgraded by the `pg_upgrade` of a newer one; the pause between writes and reads, as the insert
benchmark defines it; and warming the cache.

Tables and indexes are read into the shared buffers by pg_prewarm, which comes with the server. A
plain scan would not do: of a table larger than a quarter of the buffers it keeps only the last
256 kB there. Where the extension is missing (or the server is not ours, and has not got it), the
tables are scanned all the same, which leaves them in the kernel's cache, and the record says that
the buffers were not filled.

`pg_upgrade` wants the database template0, which our clusters lack, and connects as the server's own
user, which these two clusters allow in their private folder for as long as it runs.
"""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from dyno import numbers
from dyno.access import account
from dyno.builds import Build, cache, compute_sha256
from dyno.engines import MISSED, Ask, Server, _builds
from dyno.engines._server import libraries, process
from dyno.engines.postgres.client_programs import build_command
from dyno.errors import DynoError, TrialFailed

#: All tables, and who speaks: what only speaks the protocol has ANALYZE, and no VACUUM.
TABLES = [
    "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
    "WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1",
    "SELECT version()",
    "SHOW server_version_num",
]
#: Vacuum marks a page as visible to all only once the log has its last commit on disk, and commits
#: that do not wait get there late: one that waits, and has something to log, takes them along.
COMMITTED = [
    "SET synchronous_commit = on",
    "SELECT pg_logical_emit_message(true, 'dyno', 'settle')",
]
#: Below this, VACUUM has no word for cleaning the indexes whatever it costs.
INDEX_CLEANUP_SINCE = 12


def settle(ask: Ask, server: Server) -> None:
    """Vacuums and analyses every table, then writes all changed pages.

    A server that runs already writes its pages in its own time: a checkpoint is for all its
    databases, of which we have one; one that lists no tables is left alone.
    """
    if "pg_tables" in server.lacks:
        return
    tables, said, number = ask(server.session, TABLES)
    names = [str(name) for (name,) in tables]
    if not str(said[0][0]).startswith("PostgreSQL"):
        ask(server.session, [f"ANALYZE {name}" for name in names])
        return
    cleanup = int(number[0][0] or 0) >= INDEX_CLEANUP_SINCE * 10_000
    how = "ANALYZE, INDEX_CLEANUP ON" if cleanup else "ANALYZE"
    checkpoint = ["CHECKPOINT"] if server.handle else []
    ask(server.session, [*COMMITTED, *(f"VACUUM ({how}) {name}" for name in names), *checkpoint])


#: Is the extension there to be made, or made already? Ours is made where it is not.
EXTENSION = (
    "SELECT installed_version IS NOT NULL FROM pg_available_extensions WHERE name = 'pg_prewarm'"
)
#: Tables, their indexes, and what they keep apart because it is long; not the server's own, which
#: have smaller numbers (FirstNormalObjectId), nor what another user has in this database.
RELATIONS = (
    "SELECT oid::regclass::text, relkind FROM pg_class WHERE oid >= 16384"
    " AND relkind IN ('r', 'i', 't', 'm') AND pg_relation_size(oid) > 0"
    " AND pg_has_role(relowner, 'USAGE') ORDER BY relkind, 1"
)
UNFILLED = "the tables were scanned into the kernel's cache: the database has no pg_prewarm"
#: Where the long values lie, and the index of that.
APART = "pg_toast."


def preload(ask: Ask, server: Server) -> dict[str, str]:
    """Read all; return how many tables and indexes that were, and how they were read."""
    extension, relations = ask(server.session, [EXTENSION, RELATIONS])
    warmed = bool(extension) and (extension[0][0] == "t" or server.handle is not None)
    if warmed and extension[0][0] != "t":
        ask(server.session, ["CREATE EXTENSION IF NOT EXISTS pg_prewarm"])
    for name, kind in relations:
        if warmed:
            quoted = str(name).replace("'", "''")
            ask(server.session, [f"SELECT pg_prewarm('{quoted}')"])
        elif kind in ("r", "m"):
            ask(server.session, [f"SELECT count(*) FROM {name}"])
    own = [kind for name, kind in relations if not str(name).startswith(APART)]
    tables, indexes = sum(kind in ("r", "m") for kind in own), own.count("i")
    if not warmed:
        return {"read": f"{tables} tables", MISSED: UNFILLED}
    return {"read": f"{tables} tables, {indexes} indexes by pg_prewarm"}


#: The server's superuser and its one database.
NAME = "dyno"
#: Only our user may log in, by the private socket, as the kernel says (peer). The server's own user
#: may not: other programs run as `nobody`, too. It costs a look into the table of users for each
#: connection, and no password that could be read anywhere.
ACCESS = "local all all peer map=dyno\n"
#: What `initdb` writes there, in a template that no server is started on.
ANYBODY = "local all all trust\n"

#: Our database, without those that are not used: each is 300 files, which every trial
#: would copy and remove (docs/evidence/block-cost.md). What a database is made from by default,
#: template1, stays.
DATABASES = (
    f"CREATE DATABASE {NAME}",
    "DROP DATABASE postgres",
    "UPDATE pg_database SET datistemplate = false WHERE datname = 'template0'",
    "DROP DATABASE template0",
)

#: The settings that the files depend on.
FILED = ("data_checksums", "config", "default_toast_compression")
#: An empty cluster with its first log files; what rows, indexes and dead versions take for each
#: byte of data, and once more what writing them logs. Measured: both together are 4.5 after the
#: insert benchmark, 2.8 to 3.1 after five seconds of updates.
EMPTY_BYTES, GROWTH = 64 << 20, 3


def estimate_cluster_bytes(data_bytes: int, max_wal: str) -> int:
    """What a home may take; the log grows to `max_wal` at most ("8GB"; a bare number is in MB)."""
    log_bytes = numbers.parse_size_bytes(max_wal, bare_bytes=1 << 20)
    most_bytes = GROWTH * data_bytes
    return EMPTY_BYTES + most_bytes + min(int(log_bytes or most_bytes), most_bytes)


def lay_cluster(build: Build, checksums: bool | None, data: Path) -> None:
    """Puts an empty cluster into `data`, as a copy that shares its blocks where it can.

    `checksums` None: as `initdb` does without a word.
    """
    empty = _ensure_empty_cluster(build, checksums)
    with cache.keep_entries([empty]):
        cache.copy(empty, data)


def list_init_options(build: Build, checksums: bool | None, data: Path) -> list[str]:
    options = ["--no-sync", "--encoding=UTF8", "--locale=C", "--auth=trust"]
    options += ["--username", NAME, "-D", str(data)]
    if checksums:
        options.append("--data-checksums")
    elif checksums is False and _builds.parse_version(build.version)[0] >= 18:
        options.append("--no-data-checksums")
    return options


def close(data: Path) -> None:
    """Deny others the server on `data`; a user's own rules of access stay."""
    access = data / "pg_hba.conf"
    if access.read_text() in (ANYBODY, ACCESS):
        access.write_text(ACCESS)
        (data / "pg_ident.conf").write_text(f'dyno "{_find_user()}" {NAME}\n')


def _find_user() -> str:
    """Return our name by the kernel's number of us; the environment does not count."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _ensure_empty_cluster(build: Build, checksums: bool | None) -> Path:
    """The cluster as `initdb` leaves it, with our database: it takes a second or two."""
    tools, more = build.program.parent, libraries.build_environment(build.libraries)

    def make(folder: Path) -> None:
        data = folder / "data"
        options = list_init_options(build, checksums, data)
        process.run_tool([str(tools / "initdb"), *options], folder, more=more)
        (data / "pg_hba.conf").write_text(ANYBODY)
        single = [str(build.program), "--single", "-D", str(data), "template1"]
        process.run_tool(single, folder, "".join(f"{each}\n" for each in DATABASES), more)

    kind = {None: "-stock", True: "-checksums", False: ""}[checksums]
    name = f"postgres-{build.version}-{compute_sha256(build.program)[:12]}{kind}-two"
    return cache.ensure_entry("data", name, make, lambda _: None) / "data"


TEMPLATE0 = (
    "CREATE DATABASE template0 TEMPLATE template1",
    "UPDATE pg_database SET datistemplate = true, datallowconn = false WHERE datname = 'template0'",
)
#: Programs that it calls, beside those that have their own loader.
TOOLS = (
    *("pg_controldata", "pg_ctl", "pg_dump", "pg_dumpall", "pg_resetwal", "pg_restore", "psql"),
    "vacuumdb",
)
LOADED = ("initdb", "postgres")
#: What it may take: it copies every table.
UPGRADE_S = 86_400.0
#: What its words have of steps that went well.
_STEP = re.compile(r"(?:.*\bok|-+|Performing .*|its last words are|Failure, exiting|)\s*")
#: Letters of a file that it names.
REPORTED = 2000


def upgrade_cluster(old: Build, new: Build, home: Path, checksums: bool | None) -> str:
    """Upgrades the cluster in `home/data`, which `old` left; answers what the program said.

    `TrialFailed` with its words, and those of the files in which it lists what is in its way.
    """
    data, before = home / "data", home / "old"
    data.rename(before)
    more = libraries.build_environment((*new.libraries, *old.libraries))
    single = [str(old.program), "--single", "-D", str(before), "template1"]
    process.run_tool(single, home, "".join(f"{each}\n" for each in TEMPLATE0), more)
    initdb = str(new.program.with_name("initdb"))
    options = list_init_options(new, checksums, data)
    process.run_tool([initdb, *options], home, more=more)
    for cluster in (before, data):
        (cluster / "pg_hba.conf").write_text(ACCESS)
        user = account.find_server_account().name
        (cluster / "pg_ident.conf").write_text(f'dyno "{user}" {NAME}\n')
    bins = [_find_tools(each, home / name) for each, name in ((old, "of_old"), (new, "of_new"))]
    words = [*build_command(new.program.with_name("pg_upgrade")), "--username", NAME]
    words += ["--socketdir", str(home), "-b", str(bins[0]), "-B", str(bins[1])]
    words += ["-d", str(before), "-D", str(data)]
    said = [_run([*words, *step], home, more) for step in (["--check"], [])][-1]
    for folder in {before, *bins} - {old.program.parent, new.program.parent}:
        shutil.rmtree(folder)
    return said


def _run(words: Sequence[str], home: Path, more: dict[str, str]) -> str:
    try:
        said = process.run_tool(words, home, more=more, limit_s=UPGRADE_S)
    except TrialFailed as failed:
        files = sorted((home / "data" / "pg_upgrade_output.d").rglob("*.txt"))
        files += sorted(home.glob("*.txt"))  # up to 14
        told = [failed.cause, *(it.read_text(errors="replace")[:REPORTED] for it in files)]
        cause = "\n".join(told).replace(f"{home}/", "")
        first = next((it for it in cause.splitlines() if not _STEP.fullmatch(it)), "it fails")
        message = f"pg_upgrade: {' '.join(first.split())}"
        raise TrialFailed(message, cause=cause, hint=failed.hint) from None
    return said.replace(f"{home}/", "")


def _find_tools(build: Build, folder: Path) -> Path:
    """Where a build's programs start: its own folder, or `folder`, in which each is started by its
    release's loader under the name beside which it looks for others.
    """
    own = build.program.parent
    loader = build_command(own / "pg_ctl")[:-1]
    if not loader or _can_start(own / "pg_ctl"):
        return own
    folder.mkdir()
    for name in (*TOOLS, *LOADED):
        started = [str(own / name)]
        if name in TOOLS:
            started = [loader[0], "--argv0", str(folder / name), *loader[1:], *started]
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(started)} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def _can_start(program: Path) -> bool:
    try:
        process.ask_program([str(program), "--version"])
    except DynoError:
        return False
    return True
