"""The processes of a server on this host: which listens at an address, and which engine one runs.

In containers, too: a process is seen there under this host's number, its sockets in its own network
namespace. What the kernel does not show us (another user's descriptors) is not found.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dyno.access.url import find_local_pid, list_listening_sockets
from dyno.errors import HostError, UsageError
from dyno.host.processes import has_ended, list_process_family, read_start_ticks

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
        path = _read_link(f"/proc/{pid}/exe").removesuffix(_DELETED)
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
    if host.startswith("/"):
        pid = find_local_pid(host)
        found = find_process(pid) if pid else None
        if found and found.engine not in engines:
            raise UsageError(f"process {pid} runs {found.program}, and no server of that kind")
        return found
    candidates = list(_list_candidates(engines))
    addresses = _resolve(host)
    if not addresses:
        return None
    listening = [pid for pid in candidates if _is_listening(pid, port, addresses)]
    # what a server forked has its sockets, too: the eldest is the server
    families = {pid: set(list_process_family(pid)) for pid in listening}
    eldest = [
        pid
        for pid in listening
        if not any(pid in family for other, family in families.items() if other != pid)
    ]
    return find_process(eldest[0]) if len(eldest) == 1 else None


def _list_candidates(engines: frozenset[str]) -> Iterator[int]:
    """Processes that run a server's program."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                path = _read_link(f"/proc/{entry.name}/exe").removesuffix(_DELETED)
                if PROGRAMS.get(Path(path).name) in engines:
                    yield int(entry.name)


def _resolve(host: str) -> set[str]:
    with suppress(OSError):
        found = socket.getaddrinfo(host or "localhost", None, type=socket.SOCK_STREAM)
        return {str(it[4][0]) for it in found}
    return set()


def _is_listening(pid: int, port: int, addresses: set[str]) -> bool:
    """Does the process hold a socket that listens there? A loopback address is that of our own
    network namespace, any other that of the process's.
    """
    with suppress(OSError):
        is_near = _read_link(f"/proc/{pid}/ns/net") == _read_link("/proc/self/ns/net")
        loopback = {it for it in addresses if it.startswith("127.") or it == "::1"}
        asked = addresses if is_near else addresses - loopback
        own = _list_local_addresses(pid) | (loopback if is_near else set())
        return bool(asked & own) and bool(list_listening_sockets(port, pid) & _list_sockets(pid))
    return False


def _list_local_addresses(pid: int) -> set[str]:
    """The addresses of the process's network namespace."""
    found, last = set(), ""
    for line in Path(f"/proc/{pid}/net/fib_trie").read_text().splitlines():
        if "|--" in line:
            last = line.rpartition("|-- ")[2].strip()
        elif "host LOCAL" in line:
            found.add(last)
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/net/if_inet6").read_text().splitlines():
            found.add(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(line.split()[0])))
    return found


def _list_sockets(pid: int) -> set[str]:
    found = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            found.add(_read_link(entry.path))
    return found


def _read_link(path: str) -> str:
    return str(Path(path).readlink())
