"""What a dump is, and the plain SQL file that it is or becomes, in the cache.

An entry's name tells the dump's place, size and time, so that a large one is not read to be known.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from dyno.builds import Say, cache
from dyno.engines._dumps.archives import write_as_sql
from dyno.engines._dumps.mydumper import is_mydumper, join_files
from dyno.errors import UsageError
from dyno.workloads.replay.compressed import open_log

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
    """What makes a plain file of it; None where it is one."""
    if path.is_dir():
        return _choose_folder_maker(path)
    with path.open("rb") as file:
        begin = file.read(_TAR_AT + len(_TAR))
    for magic, (what, hint) in _REFUSED.items():
        if begin.startswith(magic):
            raise UsageError(f"{path.name} is no dump: it is {what}", hint=hint)
    is_tar = begin[_TAR_AT:] == _TAR
    if begin.startswith(_PG_CUSTOM) or (is_tar and begin.startswith(_FIRST_OF_PG_TAR)):
        return lambda into: write_as_sql(path, into)
    with open_log(path, "dump") as unpacked:
        is_packed = unpacked.read(len(begin)) != begin
    return (lambda into: _unpack(path, into)) if is_packed else None


def _choose_folder_maker(path: Path) -> Callable[[Path], None]:
    if (path / "toc.dat").is_file():
        return lambda into: write_as_sql(path, into)
    if is_mydumper(path):
        return lambda into: join_files(path, into)
    for name, (what, hint) in _REFUSED_FOLDERS.items():
        if (path / name).exists():
            raise UsageError(f"{path} is no dump: it is {what}", hint=hint)
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
