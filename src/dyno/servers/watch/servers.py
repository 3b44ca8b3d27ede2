"""The server that is watched: which it is, what of it can be recorded, what it is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.postgres import attached
from dyno.errors import TrialFailed, UsageError
from dyno.runs.experiment.candidates import parse_candidate
from dyno.servers.kit import server as kit_server
from dyno.servers.watch import mysql, postgres
from dyno.servers.watch.source import Question, Row, WatchSource, build_question

#: Each kind of server's sources, by the name that a folder keeps.
KINDS: Mapping[str, ModuleType] = {"mysql": mysql, "postgres": postgres}


@dataclass(frozen=True)
class WatchedServer:
    """A server that answers. `kind` is one of KINDS, `name` its address without the password;
    `begin` what a new connection says first; `remarks` what of it will be missing.
    """

    session: Session
    kind: str
    name: str
    version: str
    questions: tuple[Question, ...]
    begin: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def clock(self) -> str:
        clock: str = KINDS[self.kind].CLOCK
        return clock

    def compute_up_s(self, clock: Row, rows: Mapping[str, Sequence[Row]]) -> float:
        """Return for how long the server has been up, by what it said of its clock and each
        source.
        """
        up_s: float = KINDS[self.kind].compute_up_s(clock, rows.get("global_status", ()))
        return up_s


def list_sources(kind: str) -> dict[str, WatchSource]:
    return {source.name: source for source in KINDS[kind].SOURCES}


def reach_server(ask: Ask, dsn: str) -> WatchedServer:
    """Return the server at a URL. `UsageError` if the URL is invalid, the login is refused, rights
    are missing, or what is to be recorded is switched off.
    """
    spec = parse_candidate(dsn)
    if spec.engine in kit_server.KINDS:
        return _reach_mysql(ask, dsn)
    if spec.engine == "postgres" and spec.is_url:
        return _reach_postgres(ask, spec.with_password, spec.keys)
    hint = "write mysql://user:password@host:3306 or postgres://user:password@host:5432/database"
    raise UsageError("--dsn takes the URL of a server", hint=hint)


def _reach_mysql(ask: Ask, dsn: str) -> WatchedServer:
    server = kit_server.reach_server(ask, dsn)
    try:
        return _inspect_server(server)
    except TrialFailed as refused:
        raise _build_not_allowed_error(
            refused, "SELECT ON performance_schema.*, PROCESS ON *.*"
        ) from refused


def _inspect_server(server: kit_server.KitServer) -> WatchedServer:
    ((on,),) = server.query("SELECT @@performance_schema")
    if on != "1":
        raise UsageError(
            f"performance_schema is off in this server ({server.version})",
            hint="set performance_schema = ON in its settings and restart it; MariaDB's default "
            "is OFF",
        )
    begin, remarks = _begin(server.ask, server.session, mysql)
    remarks += _list_switched_off(server)
    schemas = ", ".join(f"'{name}'" for name in mysql.SCHEMAS)
    told = server.query(
        *begin,
        "SELECT LOWER(CONCAT(table_schema, '.', table_name)), LOWER(column_name)"
        f" FROM information_schema.columns WHERE table_schema IN ({schemas})",
    )
    questions = _build_questions(_add_hashes(server), told, mysql.SKIP)
    server.query(*begin, *(each.whole for each in questions))
    name = f"{server.session['host']}:{server.session['port']}"
    return WatchedServer(
        server.session, "mysql", name, server.version, questions, tuple(begin), tuple(remarks)
    )


def _list_switched_off(server: kit_server.KitServer) -> list[str]:
    rows = server.query(
        "SELECT NAME FROM performance_schema.setup_consumers WHERE ENABLED = 'NO' AND NAME IN"
        " ('global_instrumentation', 'thread_instrumentation', 'statements_digest')"
    )
    return [
        f"{name} is switched off in performance_schema.setup_consumers: its counters stand still"
        for (name,) in rows
    ]


def _add_hashes(server: kit_server.KitServer) -> list[WatchSource]:
    """Return what is asked of this server, hashes as it makes them."""
    return [
        replace(source, sql={**source.sql, **made}) if made else source
        for source in mysql.SOURCES
        for made in [{name: server.build_hash(text) for name, text in source.hashed.items()}]
    ]


def _reach_postgres(ask: Ask, url: str, flags: Mapping[str, str]) -> WatchedServer:
    located = attached.locate_server(url, {**flags, "readonly": "on"})
    session = attached.make_session(located)
    attached.check_kept(ask, session)
    begin, remarks = _begin(ask, session, postgres)
    *_, ((version,),), told, missing = ask(
        session, [*begin, "SHOW server_version", postgres.COLUMNS, postgres.REMARKS]
    )
    questions = _build_questions(postgres.SOURCES, told, postgres.SKIP)
    try:
        ask(session, [*begin, *(each.whole for each in questions)])
    except TrialFailed as refused:
        raise _build_not_allowed_error(refused, "pg_monitor") from refused
    name = f"{session['host']}:{session['port']}/{session['database']}"
    remarks += [str(remark) for (remark,) in missing]
    return WatchedServer(
        session, "postgres", name, str(version), questions, tuple(begin), tuple(remarks)
    )


def _begin(ask: Ask, session: Session, module: ModuleType) -> tuple[list[str], list[str]]:
    """Return what a connection says first, and a remark if it cannot leave itself uncounted."""
    begin = [*module.BEGIN, module.UNCOUNTED]
    try:
        ask(session, begin)
    except TrialFailed:
        remark = "what dyno asks will be counted among the statements: the user may not"
        return list(module.BEGIN), [f"{remark} {module.UNCOUNTED}"]
    return begin, []


def _build_questions(
    sources: Sequence[WatchSource], told: Sequence[Sequence[str | None]], skip: str
) -> tuple[Question, ...]:
    available: dict[str, set[str]] = defaultdict(set)
    for table, column in told:
        available[str(table)].add(str(column))
    asked = (build_question(source, available, skip) for source in sources)
    return tuple(each for each in asked if each is not None)


def _build_not_allowed_error(refused: TrialFailed, rights: str) -> UsageError:
    return UsageError(
        "this user may not read what is recorded",
        cause=kit_server.extract_words(refused),
        hint=f"GRANT {rights} TO that user",
    )
