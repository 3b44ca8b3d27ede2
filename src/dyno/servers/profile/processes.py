"""The process of a server on this host, and which engine it runs, in containers, too."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dyno.access.listening import find_server_pid, read_link
from dyno.errors import HostError, UsageError
from dyno.host.processes import has_ended, read_start_ticks

#: Names of servers' programs, and of libraries that a program embeds, by the engine they are.
PROGRAMS = {
    "postgres": "postgres",
    "postmaster": "postgres",
    "mysqld": "mysql",
    "mysqld-debug": "mysql",
    "mariadbd": "mariadb",
    "sqlite3": "sqlite",
    "duckdb": "duckdb",
}
_LIBRARIES = re.compile(r"(?:lib|_)?(sqlite|duckdb)[\w.-]*?\.so|(?:_sqlite3)[\w.-]*\.so")
_DELETED = " (deleted)"


@dataclass(frozen=True)
class ServerProcess:
    """A process to be sampled with its children; `engine` names its table of layers. `started` is
    when it began, in the kernel's ticks: a number that was given anew is another process. `others`
    are engines that it holds besides, whose layers are not told.
    """

    pid: int
    program: str
    engine: str
    started: int
    others: tuple[str, ...] = ()

    @property
    def is_there(self) -> bool:
        """Does it still run?"""
        with suppress(PermissionError):
            return not has_ended(self.pid) and read_start_ticks(self.pid) == self.started
        return True


def find_process(pid: int) -> ServerProcess:
    """The process with that number; `UsageError` where there is none, or it runs no engine whose
    layers are known, `HostError` where we may not look at it.
    """
    started = read_start_ticks(pid) if Path(f"/proc/{pid}").is_dir() else 0
    if not started:
        raise UsageError(f"there is no process {pid}")
    try:
        path = read_link(f"/proc/{pid}/exe").removesuffix(_DELETED)
        mapped = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except PermissionError:
        raise HostError(
            f"process {pid} is another user's, and only that user and root may profile it",
            hint=f"sudo dyno profile {pid}",
        ) from None
    except OSError:
        raise UsageError(f"process {pid} has no program: it is the kernel's, or ending") from None
    program = Path(path).name
    engine, *others = [PROGRAMS[program]] if program in PROGRAMS else _list_embedded(mapped)
    if not engine:
        known = "postgres, mysqld, mariadbd, or a program with SQLite's or DuckDB's library in it"
        raise UsageError(f"process {pid} runs {program}, and no engine that is known", hint=known)
    return ServerProcess(pid, program, engine, started, tuple(filter(None, others)))


def _list_embedded(mapped: str) -> list[str]:
    """The engines whose libraries a program has loaded; an empty name where there is none."""
    files = {line.rpartition("/")[2] for line in mapped.splitlines() if ".so" in line}
    found = {match[1] or "sqlite" for name in files if (match := _LIBRARIES.match(name))}
    return sorted(found) or [""]


def find_listening(host: str, port: int, engines: frozenset[str]) -> ServerProcess | None:
    """The process that a server of one of `engines` listens with at this address; None where none
    of this host does, or shows itself to us. `UsageError` where another program listens.
    """
    programs = {name for name, engine in PROGRAMS.items() if engine in engines}
    pid = find_server_pid({"host": host, "port": port}, programs)
    found = find_process(pid) if pid else None
    if found and found.engine not in engines:
        raise UsageError(f"process {pid} runs {found.program}, and no server of that kind")
    return found
