"""What is profiled: a server by its URL, a process of this host by its number (in a container,
too), or both for one server; and the statements that a running server has counted, as a log.

Such a log has each statement once, reads first and some of them several times, with how often the
server received it. When and in which order is not known. Reads are of one session, since
they leave nothing behind; any other statement has a session of its own.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from dyno.access.url import find_server_pid, is_here, read_link
from dyno.engines import Ask
from dyno.errors import DynoError, HostError, UsageError
from dyno.host.processes import has_ended, read_start_ticks
from dyno.runs.experiment.candidates import Spec, parse_candidate
from dyno.servers.profile.mysql import reach_mysql
from dyno.servers.profile.postgres import reach_postgres
from dyno.servers.profile.source import StatementCount, StatementServer, StatementText
from dyno.workloads.replay.logs import Log, LogEntry, UnplayedStatement
from dyno.workloads.replay.statements import read_statement

#: How a server of each kind is reached, and whose programs it may be.
KINDS: Mapping[str, Callable[[Ask, Spec], StatementServer]] = {
    "postgres": reach_postgres,
    "mysql": reach_mysql,
    "mariadb": reach_mysql,
}
#: Those that count a question by the database in which it was asked, ours too.
BY_DATABASE = frozenset({"mysql", "mariadb"})
FAMILIES = {
    "postgres": frozenset({"postgres"}),
    "mysql": frozenset({"mysql", "mariadb"}),
    "mariadb": frozenset({"mysql", "mariadb"}),
}


@dataclass(frozen=True)
class ProfileTarget:
    """A server that answers, its process on this host, or both; and what of it is missing, why."""

    server: StatementServer | None
    process: ServerProcess | None
    missing: tuple[str, ...]

    @property
    def name(self) -> str:
        if self.server:
            return self.server.name
        return f"process {self.process.pid} ({self.process.program})" if self.process else ""

    @property
    def engine(self) -> str:
        """Return the engine whose layers are used."""
        if self.process:
            return self.process.engine
        return self.server.engine if self.server else ""


def find_target(ask: Ask, word: str, pid: int | None = None) -> ProfileTarget:
    """Return the server at a URL with its process (`pid` if the user names it), or a process alone.

    `UsageError` if the word is neither, the login is refused, or it runs no known engine.
    """
    if word.isdigit():
        if pid is not None:
            raise UsageError("--pid goes with a URL", hint="name one process")
        why = "no waits and statements: a process was named and no URL to ask"
        process = find_process(int(word))
        more = [
            f"layers of {other}: the process holds it, too, as other" for other in process.others
        ]
        return ProfileTarget(None, process, (why, *more))
    spec = parse_candidate(word)
    if spec.engine not in KINDS or not spec.is_url:
        raise UsageError(
            f"'{spec.text}' names no server" if spec.engine not in KINDS else "no URL is named",
            hint="write postgres://user@host:5432/database, mysql://user@host:3306, or the number"
            " of a process",
        )
    server = KINDS[spec.engine](ask, spec)
    family = FAMILIES[spec.engine]
    if pid is not None:
        process = find_process(pid)
        if process.engine not in family:
            raise UsageError(f"process {pid} runs {process.program}, and not {spec.engine}")
        return ProfileTarget(server, process, server.missing)
    host, port = str(server.session["host"]), int(server.session["port"] or 0)
    try:
        found = find_listening(host, port, family)
    except DynoError as why:  # a pooler's socket, another user's process
        return ProfileTarget(server, None, (*server.missing, f"no CPU profile: {why.sentence}"))
    missing = server.missing if found else (*server.missing, _describe_unseen(host))
    return ProfileTarget(server, found, missing)


def _describe_unseen(host: str) -> str:
    if is_here(host):
        return (
            "no CPU profile: the server's process does not show itself here (another user's, or in"
            " a container behind a forwarded port): --pid names it"
        )
    return (
        "no CPU profile: no process of this host listens there; run dyno on the server's own host,"
        " or name the process with --pid"
    )


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
    when it began, in the kernel's ticks: a reused number is another process. `others` are engines
    that it holds besides, whose layers are not shown.
    """

    pid: int
    program: str
    engine: str
    started: int
    others: tuple[str, ...] = ()

    @property
    def is_there(self) -> bool:
        """Return whether it still runs."""
        with suppress(PermissionError):
            return not has_ended(self.pid) and read_start_ticks(self.pid) == self.started
        return True


def find_process(pid: int) -> ServerProcess:
    """Return the process with that number; `UsageError` if there is none, or it runs no engine
    whose layers are known, `HostError` if we may not look at it.
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
    """Return the process that a server of one of `engines` listens with at this address; None if
    none of this host does, or it is not visible to us. `UsageError` if another program listens.
    """
    programs = {name for name, engine in PROGRAMS.items() if engine in engines}
    pid = find_server_pid({"host": host, "port": port}, programs)
    found = find_process(pid) if pid else None
    if found and found.engine not in engines:
        raise UsageError(f"process {pid} runs {found.program}, and no server of that kind")
    return found


#: Executions of a read that took less than this, so that its time can be told.
READS, SHORT_NS = 5, 20_000_000
#: What stands for no statement of its own.
_ALONE = ("begin", "commit", "rollback", "use")


def read_statement_log(ask: Ask, url: str) -> Log:
    """Return the log; `UsageError` if the server keeps no statements, or none of its database."""
    spec = parse_candidate(url)
    if spec.engine not in KINDS or not spec.is_url:
        hint = "write postgres://user@host:5432/database or mysql://user@host:3306/database"
        raise UsageError(f"'{spec.text}' names no server", hint=hint)
    server, database = _reach(ask, spec)
    server.check_keeps_statements()
    (rows,) = ask(server.session, [server.counts_sql])
    counts = server.extract_counts(rows)
    texts = server.read_texts(ask, list(counts))
    own = {key: it for key, it in texts.items() if server.is_of(it, database)}
    if not own:
        raise UsageError(
            f"the server at {server.name} has counted no statement of {database or 'a database'}",
            hint="let it work for a while, and name the database in the URL",
        )
    return _build_log(server, own, counts)


def _reach(ask: Ask, spec: Spec) -> tuple[StatementServer, str]:
    """Return the server, and the database whose statements are meant. If a server counts our
    questions by the database that they were asked in, we are in another one.
    """
    if spec.engine not in BY_DATABASE:
        server = KINDS[spec.engine](ask, spec)
        return server, str(server.session["database"])
    address, _, named = spec.build.removeprefix("//").partition("/")
    return KINDS[spec.engine](ask, replace(spec, build=f"//{address}")), unquote(named)


def _build_log(
    server: StatementServer,
    texts: Mapping[str, StatementText],
    counts: Mapping[str, StatementCount],
) -> Log:
    unplayed, reads, others = list[UnplayedStatement](), list[LogEntry](), list[LogEntry]()
    often, began_s = list[LogEntry](), time.time()
    for key in sorted(texts, key=lambda it: (-counts[it].calls, it)):
        text, count = texts[key], counts[key]
        sql, why = server.choose_played(text)
        kind = read_statement(sql or text.text, server.dialect).kind
        if kind in _ALONE:
            continue
        if why:
            unplayed.append(UnplayedStatement(" ".join(text.text.split()), why, count.calls))
            continue
        line = len(reads) + len(others) + 1
        name = "reads" if kind == "read" else str(line)
        entry = LogEntry(began_s, name, sql, line, database=text.database, calls=count.calls)
        (reads if kind == "read" else others).append(entry)
        if kind == "read" and count.time_ns < SHORT_NS * max(count.calls, 1):
            often.append(entry._replace(calls=0))
    played = [*reads, *often * (READS - 1), *others]
    timed = tuple(it._replace(at_s=began_s + at / 1000) for at, it in enumerate(played))
    of = f"{server.statement_source} of {server.name}"
    return Log(of, server.dialect, timed, unplayed=tuple(unplayed))
