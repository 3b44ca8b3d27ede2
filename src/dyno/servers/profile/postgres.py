"""PostgreSQL's side of a profile: pg_stat_activity, pg_stat_statements, and generic plans."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dyno.driver import Conversation
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.postgres import attached
from dyno.engines.postgres.calls import CallRules, judge_calls
from dyno.engines.postgres.client_files import read_defaults
from dyno.engines.postgres.evidence import TellsPostgresWaits
from dyno.engines.postgres.explain_nodes import ExplainsPostgresGeneric, plan_shape
from dyno.engines.postgres.logs import DIALECT, QUOTING
from dyno.errors import DynoError, TrialFailed, UsageError
from dyno.record.server_profile import StatementSource
from dyno.runs.experiment.candidates import Spec
from dyno.servers.profile.source import (
    MARK,
    TIME_LIMIT_S,
    MetSession,
    NotPlanned,
    Rows,
    StatementCount,
    StatementServer,
    StatementText,
    complete_url,
)
from dyno.sql.tokens import shorten
from dyno.workloads.replay.logs import PREPARED
from dyno.workloads.replay.statements import Dialect

#: Any user who may log in may begin here.
ANYWHERE = "postgres"
#: What has a plan.
PLANNED = re.compile(r"\s*+\(?\s*+(select|insert|update|delete|with|values|table|merge)\b", re.I)
#: A statement's parameter, and what prepares one.
_PARAMETER = re.compile(r"\$\d+")
_PREPARES = re.compile(r"PREPARE\s+\S+?\s*(?:\([^)]*\)\s*)?AS\s+", re.IGNORECASE)
#: The version, whether it sees what others do, and how much it keeps of their statements.
ABOUT = (
    f"SHOW {MARK} server_version",
    f"SELECT {MARK} pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')",
    f"SELECT {MARK} oid, datname FROM pg_database",
    f"SELECT {MARK} setting FROM pg_settings WHERE name = 'track_activity_query_size'",
)
#: Where the extension's functions stand, and how its columns are called; no row: it is not there.
EXTENSION = (
    f"SELECT {MARK} quote_ident(n.nspname),"
    " (SELECT a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
    "  WHERE c.relname = 'pg_stat_statements' AND c.relnamespace = n.oid"
    "  AND a.attname IN ('total_exec_time', 'total_time'))"
    " FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
    " WHERE e.extname = 'pg_stat_statements'"
)
_SESSIONS = (
    f"SELECT {MARK} coalesce(wait_event_type, ''), coalesce(wait_event, ''), count(*), {{what}}"
    " FROM pg_stat_get_activity(NULL) WHERE state IN ('active', 'fastpath function call')"
    " AND pid <> pg_backend_pid() AND coalesce(wait_event, '') <> 'ClientRead'"
    " AND backend_type IN ('client backend', 'parallel worker') GROUP BY 1, 2, 4, 5"
)
_WITH_TEXT, _WITHOUT_TEXT = "datid::text, left(query, 10000)", "'', ''"


@dataclass(frozen=True)
class PostgresServer(StatementServer):
    """A PostgreSQL that answers. `extension` is the schema of pg_stat_statements and its column of
    times, if installed; `databases` are names by number, `session_text_bytes` what the server keeps
    of a session's statement. `converse` opens what a statement is judged over.
    """

    databases: Mapping[str, str]
    extension: tuple[str, str] | None
    session_text_bytes: int
    converse: Callable[[], Conversation] = Conversation
    _waits: TellsPostgresWaits = field(default_factory=TellsPostgresWaits)

    @property
    def statement_source(self) -> StatementSource:
        return "pg_stat_statements" if self.extension else "sampled sessions"

    @property
    def sessions_sql(self) -> str:
        """Return all databases' sessions, with their statements if they are not counted."""
        return _SESSIONS.format(what=_WITHOUT_TEXT if self.extension else _WITH_TEXT)

    def extract_sessions(self, rows: Rows) -> list[MetSession]:
        states = self._waits.extract_waits([row[:3] for row in rows])
        places = ((self.databases.get(str(row[3]), ""), row[4] or "") for row in rows)
        return [MetSession(state, *place) for state, place in zip(states, places, strict=True)]

    @property
    def counts_sql(self) -> str:
        """Return it without texts, which lie in a file of the server's."""
        if not self.extension:
            return ""
        schema, time = self.extension
        return (
            f"SELECT {MARK} dbid, queryid, sum(calls), round(sum({time}) * 1000000), sum(rows)"
            f" FROM {schema}.pg_stat_statements(false) WHERE queryid IS NOT NULL GROUP BY 1, 2"
        )

    def extract_counts(self, rows: Rows) -> dict[str, StatementCount]:
        return {
            f"{self.databases.get(str(dbid), dbid)}/{number}": StatementCount(
                *(int(float(it or 0)) for it in counts)
            )
            for dbid, number, *counts in rows
        }

    def read_texts(self, ask: Ask, keys: Sequence[str]) -> Mapping[str, StatementText]:
        """Return their texts, with $1 for values."""
        if not (self.extension and keys):
            return {}
        numbers = sorted({key.rpartition("/")[2] for key in keys})
        rows = ask(
            self.session,
            [
                f"SELECT {MARK} dbid, queryid, min(query)"
                f" FROM {self.extension[0]}.pg_stat_statements(true)"
                f" WHERE queryid IN ({', '.join(numbers)}) GROUP BY 1, 2"
            ],
        )[0]
        found = {}
        for dbid, number, text in rows:
            database = self.databases.get(str(dbid), str(dbid))
            key, words = f"{database}/{number}", str(text or "")
            if key in keys and MARK not in words and "'dyno profile'" not in words:
                # what sets a password is kept by the server as it was written
                shown = words if PLANNED.match(words) else self.shorten(words)
                found[key] = StatementText(database, shown, words)
        return found

    def shorten(self, text: str) -> str:
        return " ".join(shorten(text, QUOTING).rstrip("; ").split())

    @property
    def dialect(self) -> Dialect:
        return DIALECT

    def check_keeps_statements(self) -> None:
        """The extension keeps them, without values."""
        if not self.extension:
            why = self.missing[-1]
            raise UsageError(
                f"the server at {self.name} keeps no statements",
                cause=why.partition(":")[0],
                hint="rehearse with its log (--log FILE), or CREATE EXTENSION pg_stat_statements",
            )

    def choose_played(self, statement: StatementText) -> tuple[str, str]:
        """Return the text itself, if it has no parameters; with these it is prepared, if it can
        be.
        """
        text = _PREPARES.sub("", statement.example.strip().rstrip("; "))
        if not _PARAMETER.search(text):
            return text, ""
        if PLANNED.match(text):
            return f"{PREPARED}{text}", ""
        return "", "its values are not kept, and it cannot be prepared"

    def is_of(self, statement: StatementText, database: str) -> bool:
        """Compare its database; most of ours are marked, and were left out."""
        return statement.database == database and statement.example != attached.KEPT_ASKED

    def explain(self, ask: Ask, statement: StatementText) -> str:
        """Return the plan for all values: those that it was sent with are not kept."""
        text = statement.example.strip().rstrip(";")
        if not PLANNED.match(text):
            raise NotPlanned("the server plans no such statement")
        if not self.extension and len(text.encode()) >= self.session_text_bytes - 1:
            raise NotPlanned("it is longer than what the server keeps of it")
        if ";" in self.shorten(text):
            raise NotPlanned("it is several statements")
        session = {**self.session, "database": statement.database or self.session["database"]}
        questions = ExplainsPostgresGeneric().list_generic_questions(text)
        try:
            self._judge_calls(session, text)
            rows = ask(session, questions)[-2]
        except UsageError as refused:
            raise NotPlanned(refused.sentence) from refused
        except TrialFailed as refused:
            raise NotPlanned(refused.message.partition(": ")[2] or refused.message) from refused
        return plan_shape(str(line) for (line,) in rows)

    def _judge_calls(self, session: Session, text: str) -> None:
        """Raise `UsageError` if planning may execute what is not known to change nothing: functions
        declared stable or immutable.
        """
        with self.converse() as conversation:
            ((conforming,),) = conversation(session, ["SHOW standard_conforming_strings"])[0]
            quoting = replace(QUOTING, backslashes=conforming != "on")
            judge_calls(
                lambda statements, mode: conversation.ask_timed(session, statements, mode),
                text,
                CallRules(quoting, plans=True),
            )


def reach_postgres(ask: Ask, spec: Spec) -> PostgresServer:
    """Return the server at a URL, over sessions that it keeps from writing; `TrialFailed` or
    `UsageError` if it refuses the login.
    """
    flags = {**spec.keys, "readonly": "on", "time_limit": str(TIME_LIMIT_S)}
    is_known = "database" in read_defaults(os.environ, flags.get("service", ""))
    found = attached.locate_server(complete_url(spec, "" if is_known else ANYWHERE), flags)
    session = _leave_uncounted(ask, attached.make_session(found))
    attached.check_kept(ask, session)
    ((version,),), ((sees,),), databases, ((kept_bytes,),) = ask(session, ABOUT)
    missing = []
    if sees not in ("t", "true"):
        missing.append(
            "this user sees its own sessions and statements only, so that waits and statements of"
            " others are missing: GRANT pg_monitor TO it"
        )
    extension, why = _find_extension(ask, session)
    if why:
        missing.append(why)
    name = f"{session['host']}:{session['port']}/{session['database']}".replace(":0/", "/")
    names = {str(oid): str(datname) for oid, datname in databases}
    about = (session, "postgres", name, str(version), tuple(missing))
    return PostgresServer(*about, names, extension, int(kept_bytes or 0))


def _leave_uncounted(ask: Ask, session: Session) -> Session:
    """Return the session, named as ours; left out of pg_stat_statements if this user may do
    that.
    """
    named = [*session["settings"], ("application_name", "dyno profile")]
    quiet = {**session, "settings": [*named, ("pg_stat_statements.track", "none")]}
    try:
        ask(quiet, ["SELECT 1"])
        return quiet
    except DynoError:  # a wrong password fails below, where it is told
        return {**session, "settings": named}


def _find_extension(ask: Ask, session: Session) -> tuple[tuple[str, str] | None, str]:
    """Return its schema and column, or why sampled sessions are used instead."""
    absent = (
        "pg_stat_statements is not in this database: statements are those that sessions were met"
        " with (shared_preload_libraries, then CREATE EXTENSION pg_stat_statements)"
    )
    rows = ask(session, [EXTENSION])[0]
    if not rows or not rows[0][1]:
        return None, absent
    found = str(rows[0][0]), str(rows[0][1])
    try:
        ask(session, [f"SELECT {MARK} 1 FROM {found[0]}.pg_stat_statements(false) LIMIT 1"])
    except TrialFailed as refused:
        why = refused.message.partition(": ")[2] or refused.message
        return None, f"pg_stat_statements does not answer ({why}): {absent.partition(': ')[2]}"
    return found, ""
