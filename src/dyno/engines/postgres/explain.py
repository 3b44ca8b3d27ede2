"""One statement's path in PostgreSQL: `PREPARE` for the parser, `EXPLAIN (ANALYZE)` for the rest.

EXPLAIN executes the statement and sends no rows. With `TIMING OFF` it reads the clock twice; with
`TIMING ON` before and after each row of each node, so that the difference of both is what reading
the clock costs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dyno.access import url
from dyno.builds import Build
from dyno.driver.events import TimedAnswer
from dyno.driver.plan import Session
from dyno.engines import Ask, PathRequest, Talk
from dyno.engines._statements import check_kind, read_statement
from dyno.engines.postgres.attached import VERSION, locate_server, make_session
from dyno.engines.postgres.calls import CallRules, judge_calls
from dyno.engines.postgres.evidence import KINDS
from dyno.engines.postgres.explain_nodes import (
    AFTER,
    INNER_FROM,
    find_preparation,
    list_facts,
    plan_shape,
    read_inner,
    read_nodes,
    sum_io_us,
)
from dyno.errors import TrialFailed, UsageError, build_unknown_error
from dyno.record.explanation import InnerStatement, PathRound, StageName
from dyno.record.waits import SessionState
from dyno.sql.tokens import Quoting

#: What is asked first, without which nothing can be.
STATE = (
    "SELECT version(), current_setting('server_version_num')::int,"
    " current_setting('standard_conforming_strings'),"
    " (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),"
    " current_setting('track_io_timing'),"
    " pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),"
    " current_setting('synchronous_commit'), current_setting('fsync')"
)
#: Time in functions of users, of this session alone and until now; only a superuser may switch the
#: count on. Functions in SQL that the planner writes into the statement are none.
COUNTED = "SELECT funcname, calls, total_time, self_time FROM pg_stat_xact_user_functions"
FUNCTIONS_TOLD = 3
#: Functions of users that are named.
TOLD = 5
_NONE: tuple[str, ...] = ()
#: A commit that changes no row: an empty message goes into the log, and the commit waits for it.
COMMIT = ("BEGIN", "SELECT pg_logical_emit_message(true, 'dyno explain', '')", "COMMIT")
FUNCTIONS = "SELECT 1 FROM pg_proc WHERE oid >= 16384 LIMIT 1"
BEGUN = (
    "SELECT pg_backend_pid(), current_setting('transaction_read_only'),"
    " (SELECT setting FROM pg_settings WHERE name = 'statement_timeout')"
)
_PREPARED = "dyno_explained"
#: Versions from which on EXPLAIN has an option, and a client's end is noticed.
WAL_FROM, SERIALIZE_FROM, NOTICES_FROM = 130000, 170000, 140000


class ExplainsPostgresPath:
    _ask: Ask

    def open_path(
        self, place: str, flags: Mapping[str, str], request: PathRequest, build: str = ""
    ) -> PostgresPath:
        """The path at a URL, the server asked what it is and whether its users have functions."""
        if strange := set(flags) - set(url.FLAGS):
            raise build_unknown_error("key of a URL", min(strange), url.FLAGS)
        limit_s = str(max(1, math.ceil(request.limit_s)))
        limit = {} if request.writes else {"readonly": "on", "time_limit": limit_s}
        url.check_url(place, {**flags, **limit}, {})
        del build
        return PostgresPath(self._ask, locate_server(place, {**flags, **limit}), request)


class PostgresPath:
    engine = "postgres"
    sample_s = 0.005
    end_source = "COMMIT of a message in the log"
    switches: tuple[str, ...] = ()

    def __init__(self, ask: Ask, build: Build, request: PathRequest) -> None:
        self._request, self._sql = request, request.sql.strip().rstrip("; \t\n")
        session = make_session(replace(build, version="unknown"))
        limit = [("statement_timeout", f"{round(request.limit_s * 1000)}ms")]
        kept = [it for it in session["settings"] if it[0] != "statement_timeout"]
        self.session: Session = {
            **session,
            "settings": [*kept, *limit, ("application_name", "dyno explain")],
        }
        self.beside: Session | None = url.read_login(build).to_session("postgres")
        self.server = build.facts["address"]
        self.bare = ("BEGIN", self._sql, "ROLLBACK") if request.writes else (self._sql,)
        self.repeats = 1
        self.wait_sql, self._pid = "", ""
        (state,), functions = ask(self.session, [STATE, FUNCTIONS])
        said, number, conforming, is_super, io, sees, *durable = state
        found = VERSION.match(str(said))
        self.version = found[1] if found else str(said)
        self._number = int(number or 0)
        self._asks_io = is_super == "t"
        self.remarks = list(self._list_remarks(io == "on" or self._asks_io, sees == "t"))
        if request.writes and "off" in durable:
            name = ("synchronous_commit", "fsync")[durable.index("off")]
            self.remarks.append(f"{name} is off: a commit here waits for no flush of the log")
        self._has_functions, self._in_functions = bool(functions), _NONE
        self._inner_sql: list[str] = []
        self._quoting = Quoting(True, conforming != "on", names_in_double=True)
        check_kind(read_statement(self._sql, self._quoting), request.writes)
        self._is_judged = False
        if functions and not self._asks_io:
            self.remarks.append(
                "time in functions is not known: only a superuser may switch track_functions on"
            )
        self.sources = _list_sources(self._number)
        if functions or request.writes:
            if self._number < INNER_FROM:
                refused = "before 12 auto_explain writes to the server's log alone"
            else:
                self._inner_sql, refused = find_preparation(ask, self.session)
            if refused:
                self.remarks.append(
                    f"statements inside functions are not shown: {refused} (auto_explain is loaded"
                    " by a superuser's session, or by the server)"
                )

    def _judge_calls(self, talk: Talk) -> None:
        """Raise `UsageError` for a call that a rollback may not undo."""
        rules = CallRules(self._quoting, self._request.writes)
        followed = judge_calls(talk, self._sql, rules)
        if followed:
            self.remarks.append(
                f"functions of this database's users were followed: {', '.join(followed[:TOLD])}"
                + (" and others" if len(followed) > TOLD else "")
            )
        if not self._asks_io:
            self.remarks.append(
                "the server's log has the statement's parse tree, which showed what it calls "
                "(debug_print_parse): only a superuser's session may keep it out"
            )

    def read_inner(self, talk: Talk) -> tuple[InnerStatement, ...]:
        if not self._inner_sql:
            return ()
        talk(self._inner_sql, "counts")
        answer = talk(self.bare, "notices")[len(self.bare) // 2]
        talk(AFTER, "counts")
        if answer.notices_dropped:
            self.remarks.append(
                f"statements inside functions: {answer.notices_dropped:,} more runs than are shown"
            )
        return read_inner(answer)

    def _list_remarks(self, has_io: bool, sees_waits: bool) -> list[str]:
        told = [
            "PostgreSQL has no stage of its own for opening tables: it locks and opens them "
            "while it parses and plans"
        ]
        if not has_io:
            told.append(
                "track_io_timing is off and this user may not switch it on: time in reads is part "
                "of execute, not of storage engine"
            )
        if self._number < SERIALIZE_FROM:
            told.append(
                "before 17 PostgreSQL does not time the rows that it sends: they are part of what "
                "is not attributed"
            )
        if self._request.writes:
            told.append(
                "a rolled-back statement waits for no flush of the log: its commit would wait for "
                "one, and is not in these times"
            )
            told.append("sequences stay advanced after a rollback")
        if not sees_waits:
            told.append("this user sees what its own sessions wait for, not who blocks them")
        return told

    def begin(self, talk: Talk) -> None:
        """Read who we are; check that the server says the session only reads. The first question
        shows whether this is the server itself: a session's settings behind a pooler are others',
        too.
        """
        (begun,) = talk([BEGUN], "rows")
        ((pid, reads_only, limit_ms),) = begun.rows
        hint = "a pooler such as PgBouncer hands statements to sessions of its own: name the server"
        if begun.process is not None and str(begun.process) != pid:
            raise UsageError("a pooler stands before the server", hint=hint)
        if limit_ms != str(round(self._request.limit_s * 1000)):
            raise UsageError("the server did not take the session's settings", hint=hint)
        if reads_only != "on" and not self._request.writes:
            raise UsageError("the server did not make the session read-only", hint=hint)
        self._pid = str(pid)
        if self._number >= NOTICES_FROM:
            talk(["SET client_connection_check_interval = '500ms'"], "counts")
        self.wait_sql = (
            "SELECT coalesce(wait_event_type, ''), coalesce(wait_event, ''), state,"
            f" array_to_string(pg_blocking_pids({self._pid}), ', ')"
            f" FROM pg_stat_activity WHERE pid = {self._pid}"
        )
        if not self._is_judged:
            self._judge_calls(talk)
            self._is_judged = True

    def list_endings(self) -> list[str]:
        return [f"SELECT pg_terminate_backend({self._pid})"] if self._pid else []

    def read_wait(self, rows: Sequence[Sequence[str | None]]) -> SessionState | None:
        for kind, event, state, blockers in rows:
            if state == "active" and event != "ClientRead":
                behind = f" held by process {blockers}" if blockers else ""
                return SessionState(KINDS.get(str(kind), "other"), f"{event}{behind}", 1)
        return None

    def extract_shape(self, talk: Talk) -> str:
        (answer,) = talk([f"EXPLAIN (COSTS OFF) {self._sql}"], "rows")
        return plan_shape(str(row[0]) for row in answer.rows)

    def play_round(self, talk: Talk) -> PathRound:
        """Play an empty statement, PREPARE, EXPLAIN without and with the clock, and the bare
        one.
        """
        empty = self._repeat(talk, [""], 0)
        prepare = [f"PREPARE {_PREPARED} AS {self._sql}", f"DEALLOCATE {_PREPARED}"]
        parsed = self._repeat(talk, prepare, 0)
        untimed = self._explain(talk, ["TIMING OFF", "BUFFERS OFF"])
        timed = self._explain(talk, self._list_options())
        bare = self._repeat(talk, self.bare, len(self.bare) // 2, is_bare=True)
        commit = self._repeat(talk, COMMIT, 2, is_bare=True) if self._request.writes else None
        if self._has_functions and self._asks_io:
            self._in_functions, self._has_functions = self._count_functions(talk), False
        told, clocked = _read_json(untimed), _read_json(timed)
        reply_us = _find_us(clocked, "Serialization", "Time")
        execute_us, clocked_us = (_find_us(it, "Execution Time") for it in (told, clocked))
        io_us = min(sum_io_us(clocked["Plan"]), execute_us)
        stages: dict[StageName, float] = {
            "connection": empty.elapsed_us,
            "parse": max(0.0, parsed.elapsed_us - empty.elapsed_us),
            "optimise": _find_us(told, "Planning Time"),
            "execute": execute_us - io_us,
        }
        if self._asks_io or io_us:
            stages["storage engine"] = io_us
        if self._number >= SERIALIZE_FROM:
            stages["reply"] = reply_us
        return PathRound(
            bare.elapsed_us,
            stages,
            instrumented_us=timed.elapsed_us,
            clock_us=clocked_us - reply_us - execute_us,
            parts=_list_parts(clocked),
            nodes=tuple(read_nodes(clocked["Plan"])),
            rows=bare.found,
            changed=bare.changed,
            facts=self._list_facts(clocked),
            end_us=commit.elapsed_us if commit else None,
            calls={"parse": 1, "execute": 2, "bare": 4},
        )

    def _list_options(self) -> list[str]:
        wal = ["WAL"] if self._number >= WAL_FROM else []
        newer = ["SERIALIZE TEXT", "MEMORY"] if self._number >= SERIALIZE_FROM else []
        return ["TIMING ON", "BUFFERS", "SETTINGS", *wal, *newer]

    def _count_functions(self, talk: Talk) -> tuple[str, ...]:
        """What the functions of users took in one run more, by the server's own count."""
        on, off = "SET track_functions = 'all'", "RESET track_functions"
        earlier = talk([on, "BEGIN", COUNTED], "rows")[-1].rows
        talk([self._sql], "counts")
        later = talk([COUNTED, "ROLLBACK", off], "rows")[0].rows
        before = {str(row[0]): row for row in earlier}
        told = []
        for name, *numbers in later:
            found = before.get(str(name), [name, "0", "0", "0"])[1:]
            calls, total_ms, own_ms = (
                float(now or 0) - float(was or 0) for now, was in zip(numbers, found, strict=True)
            )
            if calls > 0:
                times = f"{1000 * total_ms:,.0f} µs, of them {1000 * own_ms:,.0f} in itself"
                told.append((total_ms, f"{name}() {calls:,.0f} times: {times}"))
        return tuple(words for _, words in sorted(told, reverse=True)[:FUNCTIONS_TOLD])

    def _list_facts(self, clocked: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        facts = list_facts(clocked)
        if self._in_functions:
            facts["execute"] = (*facts.get("execute", ()), *self._in_functions)
        return facts

    def _explain(self, talk: Talk, options: Sequence[str]) -> TimedAnswer:
        asked = f"EXPLAIN (ANALYZE, FORMAT JSON, {', '.join(options)}) {self._sql}"
        watches_io = self._asks_io and "TIMING ON" in options
        io = ["SET track_io_timing = on", "SET track_io_timing = off"] if watches_io else ["", ""]
        around = ["BEGIN", "ROLLBACK"] if self._request.writes else ["", ""]
        statements = [it for it in (io[0], around[0], asked, around[1], io[1]) if it]
        return self._repeat(talk, statements, statements.index(asked))

    def _repeat(
        self, talk: Talk, statements: Sequence[str], at: int, is_bare: bool = False
    ) -> TimedAnswer:
        """The statements `repeats` times in one question; of the one at `at` the median answer."""
        answers = talk(list(statements) * self.repeats, "counts" if is_bare else "rows")
        of_it = sorted(answers[at :: len(statements)], key=lambda it: it.elapsed_ns)
        return of_it[len(of_it) // 2]


def _list_parts(clocked: Mapping[str, Any]) -> dict[StageName, dict[str, float]]:
    parts = {
        f"trigger {it['Trigger Name']}": 1000 * float(it.get("Time", 0.0))
        for it in clocked.get("Triggers", ())
    }
    if jit_us := _find_us(clocked, "JIT", "Timing", "Total"):
        parts["JIT compilation"] = jit_us
    return {"execute": parts} if parts else {}


def _list_sources(number: int) -> dict[StageName, str]:
    told: dict[StageName, str] = {
        "connection": "an empty statement",
        "parse": "PREPARE",
        "optimise": "EXPLAIN, planning",
        "execute": "EXPLAIN, TIMING OFF",
        "storage engine": "track_io_timing",
        "lock wait": "pg_stat_activity",
        "log": "EXPLAIN, WAL" if number >= WAL_FROM else "",
        "reply": "EXPLAIN, SERIALIZE" if number >= SERIALIZE_FROM else "",
    }
    return {name: source for name, source in told.items() if source}


def _read_json(answer: TimedAnswer) -> dict[str, Any]:
    text = "\n".join(str(row[0]) for row in answer.rows)
    try:
        (found,) = json.loads(text)
    except ValueError as error:
        raise TrialFailed("cannot read what EXPLAIN answered", cause=error) from None
    return dict(found)


def _find_us(told: Mapping[str, Any], *path: str) -> float:
    """Return a time of EXPLAIN's, in µs; 0 if it has none."""
    value: Any = told
    for name in path:
        value = value.get(name, {}) if isinstance(value, Mapping) else {}
    if isinstance(value, Mapping):  # 17 splits the total of JIT
        value = value.get("Total", 0.0)
    return 1000 * float(value)
