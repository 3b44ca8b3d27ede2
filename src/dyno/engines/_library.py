"""Engines that are a library: loaded and asked in a process of their own; and the path of a
statement in a database's file, which has no connection to cross. The process that executes a
statement is ended with it: nothing can look at it from beside.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dyno import subprocesses
from dyno.builds import Build, keep_answers
from dyno.driver.plan import Session
from dyno.engines import PathRequest, Server, Talk
from dyno.engines._statements import check_kind, read_statement
from dyno.errors import UsageError
from dyno.record.explanation import StageName
from dyno.record.waits import SessionState
from dyno.sql.tokens import Quoting

DATABASE = "dyno.db"


def is_path(build: str) -> bool:
    return "/" in build or ".so" in build


#: What loading a library may take: what is something else may do anything.
LOAD_S = 60.0


@dataclass(frozen=True)
class LibraryKind:
    """A library's maker as people write it, its usual file, and the program that asks one.

    `inspect` gets the library's path as its argument and prints what it said, as JSON.
    """

    name: str
    file: str
    inspect: str

    def ask(self, library: Path) -> Any:
        """What `library` says of itself; `UsageError` where it is none of this kind.

        Not in our own process: what is something else may do anything when it is loaded.
        """
        return json.loads(_ask(library, self))


@keep_answers
def _ask(library: Path, kind: LibraryKind) -> str:
    command = [sys.executable, "-I", "-S", "-c", kind.inspect, str(library)]
    try:
        done = subprocesses.run(command, LOAD_S)
    except subprocess.TimeoutExpired:
        raise UsageError(f"loading {library} took over {LOAD_S:.0f} s") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it crashed on loading"])[-1]
        hint = f"name a shared library of {kind.name}, usually {kind.file}"
        cause = last.split(": ", 2)[-1]
        raise UsageError(f"{library} is not a {kind.name} library", cause=cause, hint=hint)
    return done.stdout


def read_all_settings(
    options: Mapping[str, tuple[str, str]],
    chosen: Mapping[str, str],
    valid: Callable[[str, str], str],
) -> list[list[str]]:
    """Return all settings with their values, those not chosen by default: a library's own defaults
    depend on how it was built, and on the machine.
    """
    values = {name: default for name, (default, _) in options.items()}
    values |= {name: valid(name, value) for name, value in chosen.items()}
    return [list(pair) for pair in values.items()]


def start_library(build: Build, home: Path, **own: Any) -> Server:
    database = str(home / DATABASE)
    session = {"kind": build.engine, "library": str(build.program), "database": database, **own}
    return Server(session, home)


def measure_data_bytes(server: Server) -> int:
    return sum(file.stat().st_size for file in server.home.glob(f"{DATABASE}*"))


def check_file(place: str, flags: Mapping[str, str]) -> Path:
    """The file; `UsageError` where there is none, which opening it would make."""
    path = Path(place).expanduser().absolute()
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    if flags:
        raise UsageError(f"a file takes no key (got '{next(iter(flags))}')")
    return path


class EmbeddedPath:
    """What all such paths share; `play_round` and `begin` are each engine's."""

    engine = ""
    sample_s = 1.0
    beside: Session | None = None
    wait_sql = end_source = ""
    switches: tuple[str, ...] = ()

    def __init__(
        self, build: Build, file: Path, request: PathRequest, quoting: Quoting, session: Session
    ) -> None:
        self._request, self._sql = request, request.sql.strip().rstrip("; \t\n")
        check_kind(read_statement(self._sql, quoting), request.writes)
        self.version, self.server, self.session = build.version, str(file), session
        self.bare = ("BEGIN", self._sql, "ROLLBACK") if request.writes else (self._sql,)
        self.repeats = 1
        self.remarks: list[str] = []
        self.sources: dict[StageName, str] = {}

    def list_endings(self) -> list[str]:
        return []

    def read_wait(self, rows: Sequence[Sequence[str | None]]) -> SessionState | None:
        return None

    def begin(self, talk: Talk) -> None:
        """Nothing is said first."""
