"""Dumps as people have them, made one plain SQL file in the cache: compressed ones, archives of
`pg_dump` (`-Fc`, `-Fd`, `-Ft`) by its own `pg_restore`, `mydumper`'s folders. The driver reads and
plays that file (`crates/driver/src/dump/`).

An entry's name tells the dump's place, size and time, so that a large one is not read to be known.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from dyno import subprocesses
from dyno.builds import Say, cache
from dyno.engines.postgres.client_programs import build_command, list_programs
from dyno.errors import UsageError
from dyno.tails import extract_last_lines
from dyno.workloads.replay.formats import open_log

#: Counts with the name: a change of what is made of a dump makes other names.
FORM = 2
_PG_CUSTOM, _SQLITE, _XTRABACKUP = b"PGDMP", b"SQLite format 3\0", b"XBSTCK"
_TAR_AT, _TAR, _FIRST_OF_PG_TAR = 257, b"ustar", b"toc.dat\0"
#: What is none, and what makes one of it.
_REFUSED = {
    _SQLITE: ("SQLite's database itself", "sqlite3 FILE .dump > dump.sql"),
    _XTRABACKUP: ("a backup of a server's files", "mysqldump or mydumper of one database"),
}
#: Folders by a file in them.
_REFUSED_FOLDERS = {
    "@.json": ("MySQL Shell's dump", "mysqldump of the database"),
    "xtrabackup_checkpoints": ("a backup of a server's files", "mysqldump or mydumper"),
    "mariadb_backup_checkpoints": ("a backup of a server's files", "mariadb-dump or mydumper"),
    "PG_VERSION": ("a server's data", "pg_dump of one database"),
    "base.tar": ("pg_basebackup's", "pg_dump of one database"),
    "base.tar.gz": ("pg_basebackup's", "pg_dump of one database"),
    "load.sql": ("DuckDB's EXPORT DATABASE", "an SQL file with INSERT statements"),
}


def find_plain_file(path: Path, say: Say) -> Path:
    """The dump as one file of SQL statements: itself, or what is made of it once in the cache.

    `UsageError` where it is something else, is cut, or what unpacks it is not here.
    """
    try:
        make = _choose_maker(path)
        if make is None:
            return path
        name = f"{path.stem or 'dump'}-{_compute_key(path)}"
    except OSError as error:
        cause = (error.strerror or "").lower()
        hint = "an SQL file that makes the tables and fills them"
        raise UsageError(f"cannot read the data {path}", cause=cause, hint=hint) from None
    say(f"{path.name} is unpacked")
    home = cache.ensure_entry("replay", name, lambda into: make(into / "dump.sql"), say)
    return home / "dump.sql"


def _choose_maker(path: Path) -> Callable[[Path], None] | None:
    if path.is_dir():
        return _choose_folder_maker(path)
    with path.open("rb") as file:
        begin = file.read(_TAR_AT + len(_TAR))
    for magic, (what, hint) in _REFUSED.items():
        if begin.startswith(magic):
            raise UsageError(f"{path.name} is not a dump: it is {what}", hint=hint)
    is_tar = begin[_TAR_AT:] == _TAR
    if begin.startswith(_PG_CUSTOM) or (is_tar and begin.startswith(_FIRST_OF_PG_TAR)):
        return lambda into: write_as_sql(path, into)
    with open_log(path, "dump") as unpacked:
        is_packed = unpacked.read(len(begin)) != begin
    return (lambda into: _unpack(path, into)) if is_packed else None


def _choose_folder_maker(path: Path) -> Callable[[Path], None]:
    if (path / "toc.dat").is_file():
        return lambda into: write_as_sql(path, into)
    if any((path / name).is_file() for name in (METADATA, f"{METADATA}.partial")):
        return lambda into: join_files(path, into)
    for name, (what, hint) in _REFUSED_FOLDERS.items():
        if (path / name).exists():
            raise UsageError(f"{path} is not a dump: it is {what}", hint=hint)
    raise UsageError(f"{path} is a folder, and no dump", hint="a file; mydumper's or pg_dump -Fd's")


def _unpack(path: Path, into: Path) -> None:
    with open_log(path, "dump") as packed, into.open("wb") as plain:
        shutil.copyfileobj(packed, plain, 1 << 20)
    with into.open("rb") as plain:
        is_archive = plain.read(len(_PG_CUSTOM)) == _PG_CUSTOM
    if is_archive:
        archive = into.rename(into.with_suffix(".archive"))
        write_as_sql(archive, into)
        archive.unlink()


def _compute_key(path: Path) -> str:
    digest = hashlib.sha256(f"{FORM}\0{path.resolve()}".encode(errors="surrogateescape"))
    for each in _list_files(path):
        stat = each.stat()
        digest.update(f"\0{each.name}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ino}".encode())
    return digest.hexdigest()[:16]


def _list_files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(each for each in path.iterdir() if each.is_file())
    else:
        yield path


METADATA = "metadata"
_PACKED = r"(?:\.(?:gz|zst|lz4|xz))?"
_FILE = re.compile(
    rf"(?P<database>[^.]+?)(?:\.(?P<table>.+?))?"
    rf"(?P<part>-schema-create|-schema-view|-schema-triggers|-schema-post|-schema-sequence|-schema"
    rf"|\.\d+(?:\.\d+)?)?\.(?P<kind>sql|dat){_PACKED}$"
)
_CREATE = "-schema-create"
#: Those whose statements may hold others: they end where a semicolon ends a line.
_OF_SEVERAL = ("-schema-post", "-schema-triggers")
#: In which order files are played; rows, which have a number or no part, are `""`.
_ORDER = (_CREATE, "-schema-sequence", "-schema", "", "-schema-view", *_OF_SEVERAL)
#: Not of a database: a tablespace is a folder of another machine.
_TABLESPACES = "all-schema-create-tablespace.sql"
#: The name in a file that makes a database: a file's own name has another where this is no word.
_CREATED = re.compile(
    rb"CREATE DATABASE\s{1,9}+(?:/\*!(?>.{0,200}?\*/)\s{0,9}+|IF NOT EXISTS\s{1,9}+){0,9}+"
    rb"(?:`((?:[^`]|``){1,256}+)`|\"([^\"]{1,256}+)\")"
)
_PIECE = 1 << 20


def join_files(folder: Path, into: Path) -> None:
    """Write all of it as one file; `UsageError` if the dump did not end."""
    found = folder / METADATA
    said = found.read_text(errors="replace") if found.is_file() else ""
    if "inished dump at" not in said:
        raise UsageError(
            f"{folder} is not whole",
            cause=f"its {METADATA} does not say when the dump was finished",
            hint="mydumper was ended or its folder cut: dump again",
        )
    with into.open("wb") as out:
        for database, files in _sort_files(folder).items():
            name = _find_name(database, files)
            out.write(b"CREATE DATABASE IF NOT EXISTS `%b`;\nUSE `%b`;\n" % (name, name))
            out.write(b"SET FOREIGN_KEY_CHECKS=0;\n")
            for part, file in files:
                if part != _CREATE:
                    with open_log(file, "dump") as opened:
                        _copy(opened, out, is_several=part in _OF_SEVERAL)


def _find_name(database: str, files: Sequence[tuple[str, Path]]) -> bytes:
    for part, file in files:
        if part == _CREATE:
            with open_log(file, "dump") as opened:
                found = _CREATED.search(opened.read(_PIECE))
            if found:
                return found[1] or found[2].replace(b"`", b"``")
    return database.replace("`", "``").encode(errors="surrogateescape")


def _copy(opened: IO[bytes], out: IO[bytes], is_several: bool) -> None:
    if is_several:
        statements = [it.strip() for it in opened.read().split(b";\n")]
        out.write(b"DELIMITER ;;\n")
        out.writelines(it + b"\n;;\n" for it in statements if it)
        out.write(b"DELIMITER ;\n")
        return
    while piece := opened.read(_PIECE):
        out.write(piece)
    out.write(b"\n")


def _sort_files(folder: Path) -> Mapping[str, Sequence[tuple[str, Path]]]:
    """Each database's files with what they are, in the order in which they are played."""
    found = dict[str, list[tuple[str, Path]]]()
    for file in sorted(_list_sql(folder)):
        matched = _FILE.match(file.name)
        if matched is None:
            raise UsageError(f"{file} is not known", hint="mydumper's own files only")
        if matched["kind"] == "dat":
            raise UsageError(
                f"{file.name} has rows for LOAD DATA",
                hint="mydumper without --load-data, --csv or --format",
            )
        part = matched["part"] or ""
        part = "" if part.startswith(".") else part
        found.setdefault(matched["database"], []).append((part, file))
    return {
        name: sorted(files, key=lambda it: (_ORDER.index(it[0]), it[1].name))
        for name, files in found.items()
    }


def _list_sql(folder: Path) -> Iterator[Path]:
    for file in folder.iterdir():
        is_sql = re.search(rf"\.(?:sql|dat){_PACKED}$", file.name)
        if file.is_file() and is_sql and not file.name.startswith(_TABLESPACES):
            yield file


_PROGRAM = "pg_restore"
#: An archive's list of contents, and all of it: large ones take hours.
LIST_S, RESTORE_S = 60.0, 86_400.0


def write_as_sql(archive: Path, into: Path) -> None:
    """Write an archive as SQL to `into`; `UsageError` if no `pg_restore` here can."""
    said = ""
    for program in list_programs(_PROGRAM):
        command = build_command(program)
        try:
            listed = subprocesses.run([*command, "--list", str(archive)], LIST_S)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if listed.returncode:
            said = said or extract_last_lines(listed.stderr, 1)
            continue
        done = subprocesses.run_guarded([*command, "--file", str(into), str(archive)], RESTORE_S)
        if done.returncode:
            cause = extract_last_lines(done.stderr, 1) or "it failed"
            raise UsageError(f"{archive} cannot be unpacked", cause=cause)
        return
    hint = "install PostgreSQL's client, or dump as SQL: pg_dump without --format"
    cause = said or f"there is no {_PROGRAM} here"
    raise UsageError(f"pg_dump's archive {archive} cannot be read", cause=cause, hint=hint)
