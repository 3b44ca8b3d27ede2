"""A running server's database as an SQL file: its schema, and a bounded share of its rows.

All is read in one read-only transaction with a snapshot of its own. `mysql` and `postgres` say how
each kind of server is read, `shares` which rows of a table are taken. The file lies in the cache
(`replay`), for us alone, until `dyno clean`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from dyno import private_files
from dyno.builds import Say, cache
from dyno.engines import Ask, find_engine
from dyno.errors import UsageError
from dyno.record import LeftOut
from dyno.runs.experiment.candidates import Spec, parse_candidate
from dyno.servers.copy import mysql, postgres

#: Rows of a table that are copied at most.
MOST_ROWS = 100_000
_KINDS: Mapping[str, Callable[[Ask, Spec, int, TextIO], list[LeftOut]]] = {
    "postgres": postgres.write_copy,
    "mysql": mysql.write_copy,
    "mariadb": mysql.write_copy,
}


@dataclass(frozen=True)
class DatabaseCopy:
    """The file, and what of the database it lacks."""

    path: Path
    left_out: tuple[LeftOut, ...]


def copy_database(
    ask: Ask, url: str, candidates: Sequence[str], most: int, say: Say
) -> DatabaseCopy:
    """Copy at most `most` rows of each table of the database at a URL; builds of `candidates` are
    fetched first, since the programs that read a schema are theirs.

    `UsageError` where the URL names no server, or that refuses to be read.
    """
    spec = parse_candidate(url)
    if spec.engine not in _KINDS or not spec.is_url:
        hint = "write postgres://user@host:5432/database or mysql://user@host:3306/database"
        raise UsageError(f"'{spec.text}' names no server", hint=hint)
    for each in map(parse_candidate, candidates):
        if each.engine == spec.engine and "/" not in each.build and not each.keys:
            find_engine(each.engine, ask).program(each.build, {}, say)
    left = list[LeftOut]()

    def make(folder: Path) -> None:
        with private_files.write_new_file(folder / "dump.sql") as out:
            left.extend(_KINDS[spec.engine](ask, spec, most, out))

    database = re.sub(r"\W+", "-", spec.build.rpartition("/")[2])
    name = f"{database}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{time.time_ns() % 10**9}"
    say(f"{spec.name} is read, and nothing is written there")
    return DatabaseCopy(cache.ensure_entry("replay", name, make, say) / "dump.sql", tuple(left))
