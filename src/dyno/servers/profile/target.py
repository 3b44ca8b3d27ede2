"""What is profiled: a server by its URL, a process by its number, or both for one server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dyno.access.url import is_here
from dyno.engines import Ask
from dyno.errors import DynoError, UsageError
from dyno.runs.experiment.candidates import Spec, parse_candidate
from dyno.servers.profile.mysql import reach_mysql
from dyno.servers.profile.postgres import reach_postgres
from dyno.servers.profile.processes import ServerProcess, find_listening, find_process
from dyno.servers.profile.source import StatementServer

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
        """Its address without the password, or its process."""
        if self.server:
            return self.server.name
        return f"process {self.process.pid} ({self.process.program})" if self.process else ""

    @property
    def engine(self) -> str:
        """Whose layers are told."""
        if self.process:
            return self.process.engine
        return self.server.engine if self.server else ""


def find_target(ask: Ask, word: str, pid: int | None = None) -> ProfileTarget:
    """The server at a URL with its process (`pid` where the user names it), or a process alone.

    `UsageError` where the word is neither, nobody lets us in, or no engine that is known runs.
    """
    if word.isdigit():
        if pid is not None:
            raise UsageError("--pid goes with a URL", hint="name one process")
        why = "waits and statements are not told: a process was named and no URL to ask"
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
    """Why no CPU time is sampled."""
    if is_here(host):
        return (
            "no CPU profile: the server's process does not show itself here (another user's, or in"
            " a container behind a forwarded port): --pid names it"
        )
    return (
        "no CPU profile: no process of this host listens there; run dyno on the server's own host,"
        " or name the process with --pid"
    )
