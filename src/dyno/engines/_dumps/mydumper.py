"""`mydumper`'s folder: a file for each table's definition, and one or several for its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from dyno.errors import UsageError
from dyno.workloads.replay.compressed import open_log

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


def is_mydumper(folder: Path) -> bool:
    """Is it a dump of mydumper's?"""
    return any((folder / name).is_file() for name in (METADATA, f"{METADATA}.partial"))


def join_files(folder: Path, into: Path) -> None:
    """Writes all of it as one file; `UsageError` where the dump did not end."""
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
    """The database's name, as it stands in backticks."""
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
