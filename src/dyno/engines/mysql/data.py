"""New data folders for servers of MySQL's family, made once for each build, then copied; who is let
in: `root`, by a password of each start's own; the pause between writes and reads, as the insert
benchmark defines it; and warming the cache.

Making a folder takes seconds, and two made alike differ in nothing that a load can see. It holds
the system tables, `root@localhost` without a password, and the empty database `dyno`. The help
tables, time zones and the sys schema are left out where the build does not insist. Once the server
has started, character set and storage engine of new tables are set (`prepare_database`).

A server runs as an unprivileged user, and others may run as `nobody`: a socket that only this
user can open keeps nobody out. The password is generated at each start and set before the server
listens (`init_file`); only the server and the driver know it, and the file is gone once the server
answers. No password keeps out those who can read the memory or the files of the server's user.

The pause, for InnoDB: `ANALYZE`, and its dirty pages written back. The benchmark lowers the share
that may stay dirty to 1 %, and waits 60 s and a second per million rows; we lower it too, let
InnoDB write as fast as it can, and wait for that share. MyRocks: its memtables flushed, its first
level compacted, and no compaction pending or at work. MyISAM and Aria: their tables closed, which
writes back their caches.

Tables are read into the cache index by index (`preload`): the storage engine keeps pages, so a scan
of each index brings all of it; the rows lie in the primary one. A column of the index is read, and
not only counted, since some versions count by another index than the one they are told to take.
Limit: an index over a column's beginning alone cannot answer for the column, so the rows are read.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dyno import subprocesses
from dyno.builds import Build, cache
from dyno.engines import _builds
from dyno.engines._server import process
from dyno.engines.mysql.builds import Prefix
from dyno.engines.mysql.settings import AskedSettings
from dyno.errors import TrialFailed, UsageError, build_unknown_error

#: Answers SQL of one server.
Query = Callable[[Sequence[str]], list[list[list[str | None]]]]

CHARSET = "SELECT @@character_set_server, @@collation_server"


def prepare_database(query: Query, name: str, storage: str, prefix: Prefix) -> None:
    """Settles what new tables are made of, in every session from now on.

    The server's character set: the database comes from a template, which was made with another.
    And `storage`, where it is not empty; `UsageError` where the server (`name`, for people) has no
    such engine, with the nearest that it has or could load.
    """
    (charset,), storages = query([CHARSET, "SHOW ENGINES"])
    made = [f"ALTER DATABASE dyno CHARACTER SET {charset[0]} COLLATE {charset[1]}"]
    if storage:
        there = [str(row[0]) for row in storages if row[1] in ("YES", "DEFAULT")]
        if storage.lower() not in map(str.lower, there):
            raise build_unknown_error(
                f"storage engine of {name}", storage, {*there, *prefix.list_storages()}
            )
        made.append(f"SET GLOBAL default_storage_engine = {storage}")
    query(made)


#: Variables that a data folder is made with, and that cannot change afterwards.
LASTING = (
    "innodb_page_size",
    "innodb_data_file_path",
    "innodb_undo_tablespaces",
    "innodb_checksum_algorithm",
    "lower_case_table_names",
)
#: A template's redo log is as small as it may be: the server makes its own when it starts.
SMALL = {"innodb_log_file_size": "8M", "innodb_redo_log_capacity": "8M"}
#: From here on the server makes the folder by itself.
INITIALIZES = (5, 7)
#: From here on it fits the redo log to another size when it starts.
RESIZES = (5, 6, 8)
#: The server's own scripts, without their family's first word.
SCRIPTS = ("_system_tables.sql", "_performance_tables.sql", "_system_tables_data.sql")
#: A bootstrapping server reads one statement to a line, and none that goes on after a semicolon.
OPENING = "CREATE DATABASE mysql;\nUSE mysql;\nSET @skip_auth_anonymous=1;\n"
CLOSING = "CREATE DATABASE dyno;\n"


def fill_data(build: Build, prefix: Prefix, requested: Mapping[str, str], data: Path) -> None:
    """Makes the folder `data` for `build`, from a template in the cache that is made if missing.

    `requested` are the server's settings, of which a few last (`LASTING`). A template belongs to
    one program and these. The copy shares its blocks with the template where the file system can.
    """
    lasting = {name: requested[name] for name in LASTING if name in requested}
    about = {**lasting, "sha256": build.facts["sha256"]}
    key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]

    def make(folder: Path) -> None:
        _make(build, prefix, lasting, folder)

    template = cache.ensure_entry(
        "data", f"{build.engine}-{build.version}-{key}", make, lambda _: None
    )
    with cache.keep_entries([template]):
        cache.copy(template / "data", data)


def _make(build: Build, prefix: Prefix, lasting: Mapping[str, str], folder: Path) -> None:
    data, version = folder / "data", _builds.parse_version(build.version)
    data.mkdir()
    (folder / "tmp").mkdir()
    own = [f"--loose-{name}={value}" for name, value in (SMALL | dict(lasting)).items()]
    places = [f"--datadir={data}", f"--tmpdir={folder / 'tmp'}", *prefix.list_arguments(), *own]
    command = [str(prefix.program), "--no-defaults", *places]
    if build.engine == "mysql" and version >= INITIALIZES:
        (folder / "init.sql").write_text(CLOSING)
        command += ["--initialize-insecure", f"--init-file={folder / 'init.sql'}"]
        process.run_tool(command, folder, more=prefix.build_environment())
    else:
        given = OPENING + "".join(_read_lines(_find_scripts(prefix))) + CLOSING
        process.run_tool([*command, "--bootstrap"], folder, given, prefix.build_environment())
    if build.engine == "mysql" and version < RESIZES:
        # a server that cannot resize its logs makes new ones of the right size where none are
        for log in data.glob("ib_logfile*"):
            log.unlink()
    # each server would name itself by this file
    (data / "auto.cnf").unlink(missing_ok=True)
    shutil.rmtree(folder / "tmp")


def _find_scripts(prefix: Prefix) -> list[Path]:
    found = [next(iter(sorted(prefix.share.glob(f"m*{name}"))), None) for name in SCRIPTS]
    return [script for script in found if script]


def _read_lines(scripts: Iterable[Path]) -> Iterable[str]:
    for script in scripts:
        yield script.read_text(errors="surrogateescape").rstrip() + "\n"


#: The variable, and a file of a user's that sets it.
VARIABLE = "init_file"
IN_FILE = re.compile(
    r"^[ \t]*+(?:loose[-_])?init[-_]file[ \t]*+=[ \t]*+(\S(?:.*\S)?)[ \t]*+$", re.MULTILINE
)
#: From here on users are changed by `ALTER USER`, and MariaDB keeps them in a table of its own.
ALTERS, OWN_TABLE = (5, 7), (10, 4)


@dataclass(frozen=True)
class Access:
    """How a server lets us in: `asked` of it, and the `password` (None if none is checked).

    `file` holds the password until the server answers.
    """

    asked: AskedSettings
    password: str | None = field(default=None, repr=False)
    file: Path | None = None

    def forget(self) -> None:
        if self.file:
            self.file.unlink(missing_ok=True)


def grant_access(build: Build, requested: AskedSettings, home: Path) -> Access:
    """Return a password for a server to be, left in its home; an `init_file` of the user's is
    kept.
    """
    if requested.skip_grants:
        return Access(requested)
    password, file = f"Dyno-{secrets.token_hex(16)}", home / "init.sql"
    file.touch(mode=0o600)
    file.write_text("\n".join([*list_statements(build, password), _read_own_statements(requested)]))
    return Access(replace(requested, own={**requested.own, VARIABLE: str(file)}), password, file)


def list_statements(build: Build, password: str) -> list[str]:
    """What gives `root` the password and takes every other user away that a new server may have.

    Where the server would keep the statement as it is, in a log of its own, its hash is given.
    """
    version = _builds.parse_version(build.version)
    name = "'root'@'localhost'"
    if build.engine == "mysql" and version >= ALTERS:
        return ["SET SQL_LOG_BIN=0;", f"ALTER USER {name} IDENTIFIED BY '{password}';"]
    has_own_table = build.engine == "mariadb" and version >= OWN_TABLE
    users = "global_priv" if has_own_table else "user"
    doubled = hashlib.sha1(hashlib.sha1(password.encode()).digest()).hexdigest().upper()
    give = f"SET PASSWORD FOR {name} = '*{doubled}';"
    if has_own_table:
        give = f"ALTER USER {name} IDENTIFIED BY PASSWORD '*{doubled}';"
    return [
        "SET SQL_LOG_BIN=0;",
        f"DELETE FROM mysql.{users} WHERE User='' OR (User='root' AND Host<>'localhost');",
        "FLUSH PRIVILEGES;",
        give,
    ]


def _read_own_statements(requested: AskedSettings) -> str:
    """Return what the user's own `init_file` has the server do at its start; of two files it takes
    the last.
    """
    named = requested.own.get(VARIABLE, "")
    if not named and requested.config and (found := IN_FILE.findall(requested.config.read_text())):
        named = found[-1].strip("\"'")
    try:
        return Path(named).read_text() if named else ""
    except OSError as refused:
        cause = refused.strerror
        raise UsageError(f"cannot read {VARIABLE} {named}", cause=cause) from None


#: The share of the buffer pool that may stay dirty, in percent (the insert benchmark's).
DIRTY_PERCENT = 1.0
#: Pages a second that InnoDB may write meanwhile.
HURRY = 20000
#: How long a server may take; the driver waits as long for an answer.
LIMIT_S = 280.0
PAUSE_S = 0.2
#: The columns of a row that says a table's name and storage engine.
TABLES = (
    "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES"
    " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'"
)
#: Set while InnoDB writes back, in an order in which none is refused; put back in the other.
URGENT = {
    "innodb_io_capacity_max": str(HURRY),
    "innodb_io_capacity": str(HURRY),
    "innodb_max_dirty_pages_pct_lwm": "0",
    "innodb_max_dirty_pages_pct": f"{DIRTY_PERCENT:.0f}",
}
DIRTY = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_%'"
PENDING = (
    "SELECT COALESCE(SUM(VALUE), 0) FROM information_schema.ROCKSDB_CFSTATS"
    " WHERE STAT_TYPE IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')"
)
#: Its threads among others, each with what it does just now (`operation_type: Compaction`).
THREADS = "SHOW ENGINE ROCKSDB STATUS"
AT_WORK = re.compile(r"operation_type: \S")
ROCKS_FLUSH = "SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1"


def settle(query: Query, *, ours: bool, limit_s: float = LIMIT_S) -> None:
    """Settle every table of the session's database.

    A server that is not `ours` is not configured: its tables are analysed, no more. `TrialFailed`
    if the server is not idle within `limit_s`.
    """
    (rows,) = query([TABLES])
    tables = [(str(name), str(storage).lower()) for name, storage in rows]
    storages = {storage for _, storage in tables}
    if ours and "rocksdb" in storages:
        query([ROCKS_FLUSH])
        _wait("MyRocks' compactions", lambda: _is_compacted(query), limit_s)
    query([f"ANALYZE TABLE `{name}`" for name, _ in tables] or ["DO 0"])
    if ours and storages & {"myisam", "aria"}:
        query(["FLUSH TABLES"])
    if ours and "innodb" in storages:
        _write_back(query, limit_s)


def _write_back(query: Query, limit_s: float) -> None:
    (rows,) = query(["SHOW GLOBAL VARIABLES LIKE 'innodb%'"])
    found = {str(name): str(value) for name, value in rows}
    before = {name: found[name] for name in URGENT if name in found}
    query([f"SET GLOBAL {name} = {URGENT[name]}" for name in before])
    try:
        _wait("InnoDB's dirty pages", lambda: _read_dirty_percent(query) <= DIRTY_PERCENT, limit_s)
    finally:
        query([f"SET GLOBAL {name} = {before[name]}" for name in reversed(before)])


def _read_dirty_percent(query: Query) -> float:
    (rows,) = query([DIRTY])
    pages = {str(name).lower().rpartition("_")[2]: int(value or 0) for name, value in rows}
    return 100.0 * pages["dirty"] / max(pages["total"], 1)


def _is_compacted(query: Query) -> bool:
    pending, status = query([PENDING, THREADS])
    threads = (row[2] or "" for row in status if row[0] == "BG_THREADS")
    return not float(pending[0][0] or 0) and not any(map(AT_WORK.search, threads))


def _wait(what: str, over: Callable[[], bool], limit_s: float) -> None:
    ends_s, heed = time.monotonic() + limit_s, subprocesses.Heed()
    while not over():
        if time.monotonic() > ends_s:
            hint = "load less, or use a faster disk"
            raise TrialFailed(f"{what} were not written back in {limit_s:.0f} s", hint=hint)
        heed.pause(PAUSE_S)


#: Each index's first column; an index over an expression has none, and is left out.
INDEXES = (
    "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS"
    " WHERE TABLE_SCHEMA = DATABASE() AND SEQ_IN_INDEX = 1 AND COLUMN_NAME IS NOT NULL"
    " AND INDEX_TYPE NOT IN ('FULLTEXT', 'SPATIAL') ORDER BY 1, 2"
)
TABLES_TO_READ = (
    "SELECT TABLE_NAME FROM information_schema.TABLES"
    " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' ORDER BY 1"
)


def preload(query: Query) -> dict[str, str]:
    """Reads all; answers how many tables and indexes that were."""
    indexes, tables = query([INDEXES, TABLES_TO_READ])
    for table, index, column in indexes:
        which = f"{_quote(table)} FORCE INDEX ({_quote(index)})"
        query([f"SELECT SUM(CRC32({_quote(column)})) FROM {which}"])
    without = {table for (table,) in tables} - {row[0] for row in indexes if row[1] == "PRIMARY"}
    for table in sorted(map(str, without)):
        query([f"SELECT COUNT(*) FROM {_quote(table)} USE INDEX ()"])
    return {"read": f"{len(tables)} tables, {len(indexes)} indexes"}


def _quote(name: str | None) -> str:
    return f"`{str(name).replace('`', '``')}`"
