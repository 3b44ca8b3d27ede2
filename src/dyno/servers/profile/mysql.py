"""MySQL's side of a profile, and MariaDB's: the process list, statement digests, and EXPLAIN.

A digest has no values, and EXPLAIN needs some: a statement is explained as it was met, which
MySQL 8.0 keeps for each digest and older servers for each thread's last ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.mysql import attached
from dyno.engines.mysql.evidence import IDLE, TellsMysqlWaits
from dyno.engines.mysql.explain_nodes import plan_shape
from dyno.engines.mysql.logs import DIALECT, QUOTING
from dyno.engines.mysql.reach import TOP, FollowedText, follow
from dyno.engines.mysql.session_words import find_quoting
from dyno.errors import DynoError, TrialFailed, UsageError
from dyno.record.server_profile import StatementSource
from dyno.record.waits import SessionState
from dyno.runs.experiment.candidates import Spec
from dyno.servers.kit.server import ANYWHERE
from dyno.servers.profile.source import (
    TIME_LIMIT_S,
    MetSession,
    NotPlanned,
    Rows,
    StatementCount,
    StatementServer,
    StatementText,
    complete_url,
)
from dyno.sql.lexing import UnreadableError, read_tokens
from dyno.sql.tokens import shorten
from dyno.workloads.replay.statements import Dialect

#: Statements of which a plan may be asked: reading ones. What writes is refused where sessions
#: only read.
PLANNED = re.compile(r"\s*+\(?\s*+(select|with|table|values)\b", re.IGNORECASE)
#: With the beginning of each statement, and with the whole of it.
SESSIONS, WHOLE = "SHOW PROCESSLIST", "SHOW FULL PROCESSLIST"
DIGESTS = "performance_schema.events_statements_summary_by_digest"
#: What is nothing without its session.
_OF_PREPARED = re.compile(r"\s*(?:PREPARE|EXECUTE|DEALLOCATE|DROP\s+PREPARE)\b", re.IGNORECASE)
#: Questions of ours, in the words of digests: those have no comments.
OURS = re.compile(
    r"\s*(?:SHOW (?:FULL )?PROCESSLIST|SELECT .*FROM `?performance_schema`? ?\. ?"
    r"`?events_statements_)",
    re.IGNORECASE | re.DOTALL,
)
#: What servers put behind a text that is longer than they keep.
CUT = "..."
_SAMPLES = (
    "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'performance_schema'"
    " AND table_name = 'events_statements_summary_by_digest' AND column_name = 'QUERY_SAMPLE_TEXT'"
)


@dataclass(frozen=True)
class MysqlServer(StatementServer):
    """A server of MySQL's family that answers. `has_digests`: it counts statements; `has_samples`:
    it keeps one of each.
    """

    has_digests: bool
    has_samples: bool
    _waits: TellsMysqlWaits = field(default_factory=TellsMysqlWaits)

    @property
    def statement_source(self) -> StatementSource:
        return "performance_schema" if self.has_digests else "sampled sessions"

    @property
    def sessions_sql(self) -> str:
        """Return it for every version and setting; with the whole statements if the server does not
        keep these.
        """
        return SESSIONS if self.has_samples else WHOLE

    def extract_sessions(self, rows: Rows) -> list[MetSession]:
        found = []
        for row in rows:
            # the fields of SHOW PROCESSLIST: … 3 database, 4 command, 6 state, 7 statement
            if row[4] in IDLE or row[7] in (None, SESSIONS, WHOLE):
                continue
            for state in self._waits.extract_waits([row]):
                at = SessionState(state.kind, state.event, 1)
                found.append(MetSession(at, row[3] or "", "" if self.has_samples else row[7] or ""))
        return found

    @property
    def counts_sql(self) -> str:
        """Return it, in picoseconds. The row of all digests that found no place has no digest."""
        if not self.has_digests:
            return ""
        return (
            "SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT DIV 1000, SUM_ROWS_SENT"
            f" FROM {DIGESTS} WHERE DIGEST IS NOT NULL"
        )

    def extract_counts(self, rows: Rows) -> dict[str, StatementCount]:
        return {
            f"{database or ''}/{digest}": StatementCount(*(int(it or 0) for it in counts))
            for database, digest, *counts in rows
        }

    def read_texts(self, ask: Ask, keys: Sequence[str]) -> Mapping[str, StatementText]:
        """Return their texts, and one of each with its values if the server keeps that."""
        if not (self.has_digests and keys):
            return {}
        digests = ", ".join(sorted({f"'{key.rpartition('/')[2]}'" for key in keys}))
        sample = "QUERY_SAMPLE_TEXT" if self.has_samples else "NULL"
        asked = (
            f"SELECT SCHEMA_NAME, DIGEST, DIGEST_TEXT, {sample} FROM {DIGESTS}"
            f" WHERE DIGEST IN ({digests})"
        )
        rows = ask(self.session, [asked])[0]
        examples = {} if self.has_samples else self._read_examples(ask, digests)
        found = {}
        for database, digest, text, own in rows:
            key = f"{database or ''}/{digest}"
            example = str(own or examples.get(key, ""))
            if key in keys and text and not OURS.match(text):
                is_cut = example.endswith(CUT)
                found[key] = StatementText(database or "", text, example, is_cut)
        return found

    def _read_examples(self, ask: Ask, digests: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for table in ("events_statements_current", "events_statements_history"):
            asked = (
                "SELECT CURRENT_SCHEMA, DIGEST, MIN(SQL_TEXT)"
                f" FROM performance_schema.{table} WHERE DIGEST IN ({digests}) GROUP BY 1, 2"
            )
            try:
                rows = ask(self.session, [asked])[0]
            except TrialFailed:
                continue
            found |= {f"{schema or ''}/{digest}": str(text or "") for schema, digest, text in rows}
        return found

    def shorten(self, text: str) -> str:
        return " ".join(shorten(text, QUOTING).rstrip("; ").split())

    @property
    def dialect(self) -> Dialect:
        return DIALECT

    def check_keeps_statements(self) -> None:
        """MySQL 8.0 and newer keep a sample of each digest."""
        if self.has_samples:
            return
        cause = f"{self.engine} {self.version} has no QUERY_SAMPLE_TEXT (MySQL 8.0 and newer do)"
        if not self.has_digests:
            cause = self.missing[-1]
        raise UsageError(
            f"the server at {self.name} keeps no statement with its values",
            cause=cause,
            hint="rehearse with its log: --log FILE",
        )

    def choose_played(self, statement: StatementText) -> tuple[str, str]:
        """Return the sample, if it is whole and has its values."""
        text = statement.example.strip()
        if not text:
            return "", "the server keeps no sample of it"
        if _OF_PREPARED.match(text):
            return "", "it needs what its session had prepared before"
        if statement.example_cut:
            return "", "the server's sample is cut (performance_schema_max_sql_text_length)"
        try:
            marks = [it.mark for it in read_tokens(text, QUOTING)]
        except UnreadableError as why:
            return "", f"the server's sample is not read with certainty ({why})"
        if "?" in marks:
            return "", "the server's sample is that of a prepared statement, without values"
        return text, ""

    def is_of(self, statement: StatementText, database: str) -> bool:
        own = statement.database
        return own == database if database else own not in DIALECT.catalogs

    def explain(self, ask: Ask, statement: StatementText) -> str:
        text = statement.example.strip().rstrip(";")
        if not text:
            raise NotPlanned("the server keeps none with its values, and EXPLAIN needs them")
        if statement.example_cut:
            raise NotPlanned("it is longer than what the server keeps of it")
        if not PLANNED.match(text):
            raise NotPlanned("it writes, or the server plans no such statement")
        if ";" in self.shorten(text):
            raise NotPlanned("it is several statements")
        session = {**self.session, "database": statement.database or ANYWHERE}
        self._check_reach(ask, session, text)
        words = "EXPLAIN FORMAT=TRADITIONAL" if self.engine == "mysql" else "EXPLAIN"
        try:
            return plan_shape(ask(session, [f"{words} {text}"])[0])
        except DynoError as refused:
            why = refused.message.partition(": ")[2] or refused.message
            raise NotPlanned(why) from refused

    def _check_reach(self, ask: Ask, session: Session, text: str) -> None:
        """Raise `NotPlanned` for what could change something: EXPLAIN executes functions."""
        (((mode,),),) = ask(session, ["SELECT @@SESSION.sql_mode"])
        quoting = find_quoting(str(mode or ""))
        try:
            if quoting is None:
                raise UnreadableError(f"sql_mode is {mode}")
            tokens = tuple(read_tokens(text, quoting))
            asked = FollowedText(TOP, str(session["database"]), (tokens,), shown=True)
            follow(ask, session, self.version, asked, undoes=False)
        except UnreadableError as why:
            raise NotPlanned(f"it is not read with certainty ({why})") from None
        except UsageError as refused:
            raise NotPlanned(refused.sentence) from refused


def reach_mysql(ask: Ask, spec: Spec) -> MysqlServer:
    """Return the server at a URL, over sessions that it keeps from writing; `TrialFailed` or
    `UsageError` if it refuses the login.
    """
    flags = {**spec.keys, "readonly": "on", "time_limit": str(TIME_LIMIT_S)}
    build = attached.locate_server(spec.engine, complete_url(spec, ANYWHERE), flags)
    ((version,),) = ask(attached.make_session(build), ["SELECT VERSION()"])[0]
    session = attached.make_session(replace(build, version=str(version)))
    (((is_on,),),) = ask(session, ["SELECT @@performance_schema"])
    missing = []
    if not _sees_others(ask, session):
        missing.append(
            "this user sees its own sessions only, so that the waits of others are missing:"
            " GRANT PROCESS ON *.* TO it"
        )
    has_digests, why = _find_digests(ask, session, is_on == "1")
    if why:
        missing.append(why)
    has_samples = has_digests and ask(session, [_SAMPLES])[0][0][0] != "0"
    engine = "mariadb" if "mariadb" in str(version).lower() else "mysql"
    name = f"{session['host']}:{session['port']}".removesuffix(":0")
    return MysqlServer(
        session, engine, name, str(version), tuple(missing), has_digests, has_samples
    )


def _sees_others(ask: Ask, session: Session) -> bool:
    """Return whether the user has PROCESS, by a role too. SHOW GRANTS hides what roles bring; this
    table asks for that right alone, on every release from MySQL 5.6 and MariaDB 10.
    """
    try:
        ask(session, ["SELECT 1 FROM information_schema.INNODB_TRX LIMIT 1"])
    except TrialFailed as refused:
        return "PROCESS" not in refused.message
    return True


def _find_digests(ask: Ask, session: Session, is_on: bool) -> tuple[bool, str]:
    """Return whether it counts statements for us, or why sampled sessions are used instead."""
    instead = "statements are those that sessions were seen executing"
    if not is_on:
        return False, f"performance_schema is off: {instead} (performance_schema = ON, a restart)"
    asked = (
        "SELECT ENABLED FROM performance_schema.setup_consumers WHERE NAME = 'statements_digest'"
    )
    try:
        rows, _ = ask(session, [asked, f"SELECT 1 FROM {DIGESTS} LIMIT 1"])
    except TrialFailed as refused:
        why = refused.message.partition(": ")[2] or refused.message
        return False, f"{instead}: {why} (GRANT SELECT ON performance_schema.* TO that user)"
    if not rows or rows[0][0] != "YES":
        return False, f"{instead}: statements_digest is off in performance_schema.setup_consumers"
    return True, ""
