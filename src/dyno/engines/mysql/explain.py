"""One statement's path in MySQL or MariaDB: `SHOW PROFILE` for its stages, and for the plan
`EXPLAIN ANALYZE` (MySQL from 8.0.18 on) or `ANALYZE FORMAT=JSON` (MariaDB), of what reads alone.

`profiling` is a switch of the session, so that no setting of the server's is touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from dyno.access import url
from dyno.builds import Build
from dyno.driver.events import TimedAnswer
from dyno.driver.plan import Session
from dyno.engines import Ask, PathRequest, Talk
from dyno.engines._statements import check_kind, read_statement, recognise_kind
from dyno.engines.mysql.attached import convert_flags, locate_server, make_session
from dyno.engines.mysql.explain_events import (
    AFTER,
    ENABLED,
    SETTINGS,
    InnerStatements,
    list_switches,
    read_inner,
    sum_stages,
)
from dyno.engines.mysql.explain_nodes import AFTER as TRACED
from dyno.engines.mysql.explain_nodes import BEFORE as TRACING
from dyno.engines.mysql.explain_nodes import (
    TRACE,
    TRACED_FROM,
    Remains,
    describe_weighed,
    plan_shape,
    read_json,
    read_tree,
    sum_engine_us,
    sum_leaves_us,
)
from dyno.engines.mysql.reach import TOP, FollowedText, Reach, follow
from dyno.engines.mysql.session_words import find_quoting
from dyno.errors import TrialFailed, UsageError
from dyno.record.explanation import InnerStatement, NodeReading, PathRound, StageName
from dyno.record.waits import SessionState

STATE = "SELECT VERSION(), @@SESSION.sql_mode, DATABASE()"
VARIABLES = (
    "SHOW VARIABLES WHERE Variable_name IN ('have_profiling', 'log_bin', 'performance_schema')"
)
COUNTED = ("Created_tmp_tables", "Created_tmp_disk_tables", "Sort_merge_passes", "Handler_read_")
COUNTERS = (
    "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler\\_read\\_%' OR Variable_name IN"
    " ('Created_tmp_tables', 'Created_tmp_disk_tables', 'Sort_merge_passes')"
)
LOCK_MS = "SHOW GLOBAL STATUS LIKE 'Innodb\\_row\\_lock\\_time'"
#: Who waits for a row's lock; InnoDB renews this table ten times a second at most, and only where
#: nothing has looked meanwhile.
TRX = "information_schema.INNODB_TRX"
SAMPLE_S = 0.12
EXPLAIN = "EXPLAIN /*!80016 FORMAT=TRADITIONAL */"
ANALYZE_FROM = (8, 0, 18)
#: Each statement in a function is profiled as one of its own, and ends the profile of the outer.
NO_STAGES = "this server has no SHOW PROFILE: its stages are not known"
NO_PROFILE = (
    "SHOW PROFILE does not show this statement (one that calls a stored function, which executes "
    "others): its stages are not attributed, but for what its plan shows"
)
_VERSION = re.compile(r"(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)")
#: What InnoDB's tables have of a log's flushes, where performance_schema counts files.
FLUSHES = (
    "SELECT EVENT_NAME, COUNT_MISC, SUM_TIMER_MISC / 1000000 FROM"
    " performance_schema.file_summary_by_event_name WHERE COUNT_MISC > 0 AND EVENT_NAME IN"
    " ('wait/io/file/innodb/innodb_log_file', 'wait/io/file/sql/binlog')"
)


class ExplainsMysqlPath:
    _ask: Ask
    name: ClassVar[str]

    def open_path(
        self, place: str, flags: Mapping[str, str], request: PathRequest, build: str = ""
    ) -> MysqlPath:
        """The path at a URL, the server asked what it is and which functions its users have."""
        del build
        limit = {"readonly": "on", "time_limit": str(max(1, -int(-request.limit_s // 1)))}
        kept = {name: value for name, value in flags.items() if name not in url.READ_ONLY}
        url.check_url(place, convert_flags({**kept, **limit}), {})
        return MysqlPath(self._ask, locate_server(self.name, place, {**kept, **limit}), request)


@dataclass(frozen=True)
class _Server:
    version: str
    is_mariadb: bool
    number: tuple[int, ...]
    variables: Mapping[str, str]

    @property
    def analyzes(self) -> bool:
        """Return whether it executes what it explains, and times its nodes."""
        return self.is_mariadb or self.number >= ANALYZE_FROM


@dataclass(frozen=True)
class _Analysis:
    """A run whose nodes were timed: for the client, in the executor, and in the storage engine."""

    nodes: list[NodeReading]
    elapsed_us: float
    total_us: float
    engine_us: float


class MysqlPath:
    sample_s = SAMPLE_S
    end_source = "ROLLBACK, after InnoDB's flush"

    def __init__(self, ask: Ask, build: Build, request: PathRequest) -> None:
        self._request, self._sql = request, request.sql.strip().rstrip("; \t\n")
        self.beside: Session | None = make_session(build)
        ((version, mode, database),), variables = ask(self.beside, [STATE, VARIABLES])
        found = _VERSION.match(str(version))
        self._server = _Server(
            str(version),
            "mariadb" in str(version).lower(),
            tuple(map(int, found.groups())) if found else (),
            {str(name): str(value) for name, value in variables},
        )
        self.engine = "mariadb" if self._server.is_mariadb else "mysql"
        self.version = str(version)
        self.server = build.facts["address"]
        self.session = self._make_session(build)
        self.bare = self._wrap(self._sql)
        self.repeats = 1
        self.wait_sql, self._id, self._counted = "", "", False
        self._can_profile = self._server.variables.get("have_profiling") == "YES"
        self.remarks: list[str] = []
        reach = self._check(ask, str(mode or ""), str(database or ""))
        self._remains = Remains(ask, self.beside, reach)
        self._has_history = _is_answered(ask, self.beside, ENABLED, *SETTINGS)
        self._ask, self._was_asked = ask, False
        self.switches: tuple[str, ...] = ()
        self._inner: tuple[InnerStatement, ...] = ()
        self._sees_trx = _is_answered(ask, self.beside, f"SELECT 1 FROM {TRX} LIMIT 1")
        self._flushes = self._list_flushes(ask)
        self.remarks += self._list_remarks()
        self.sources = self._list_sources()

    def _make_session(self, build: Build) -> Session:
        """Return a session whose statements the driver cancels by a second connection after the
        limit, and which refuses several in one text; it only reads where nothing is rolled back.
        """
        session = make_session(replace(build, version=self.version))
        settings = session["settings"]
        if self._request.writes:
            settings = [it for it in settings if not it[0].endswith(("read_only",))]
        limit = {**session["reads_only"], "limit_ms": round(1000 * self._request.limit_s)}
        return {**session, "settings": settings, "reads_only": limit}

    def _check(self, ask: Ask, mode: str, database: str) -> Reach:
        quoting = find_quoting(mode)
        if quoting is None:
            raise UsageError("cannot tell how the server reads statements", cause=mode)
        tokens = read_statement(self._sql, quoting)
        for it in tokens:
            if it.word in ("outfile", "dumpfile"):
                raise UsageError(f"INTO {it.word.upper()} writes a file, and is not explained")
        check_kind(tokens, self._request.writes)
        writes = recognise_kind(tokens) == "writes"
        statement = FollowedText(TOP, database, (tuple(tokens),), shown=True, writes=writes)
        beside, undoes = self.beside or {}, self._request.writes
        found = follow(ask, beside, self.version, statement, undoes=undoes)
        if found.functions:
            called = ", ".join(f"{name}()" for name in found.functions)
            self.remarks.append(f"the statement calls {called}, whose bodies were followed")
        return found

    def _wrap(self, *statements: str) -> tuple[str, ...]:
        """Return these, in a transaction that is rolled back if the statement may write. Asked for
        a plan, a server already executes functions.
        """
        return (
            ("START TRANSACTION", *statements, "ROLLBACK") if self._request.writes else statements
        )

    def check_remains(self, ask: Ask) -> str:
        """Return what the tables that were reached say of the runs."""
        return self._remains.describe(ask)

    def _list_remarks(self) -> list[str]:
        told = []
        if not self._server.analyzes:
            told.append("before 8.0.18 MySQL times no node of a plan: only its shape is shown")
        elif self._request.writes:
            told.append("nodes of a statement that writes are not timed: only the plan is shown")
        if not self._server.is_mariadb:
            told.append("MySQL counts pages for the whole server, not for a statement")
        if not self._sees_trx:
            told.append(
                "this user may not read INNODB_TRX (PROCESS): who holds a row's lock is not known"
            )
        if self._server.variables.get("performance_schema") != "ON":
            told.append("performance_schema is off: how long the logs' flushes take is not known")
        if self._request.writes:
            told.append(
                "a rolled-back statement is written to no binary log: its commit would wait for "
                "that log's flush, too"
            )
            told.append("counters of AUTO_INCREMENT stay advanced after a rollback")
        return told

    def _list_sources(self) -> dict[StageName, str]:
        told: dict[StageName, str] = {"connection": "DO 0"}
        profiled: tuple[StageName, ...] = (
            *("parse", "optimise", "open tables", "execute", "log", "binary log", "reply"),
        )
        told |= dict.fromkeys(profiled, "SHOW PROFILE")
        told["lock wait"] = "Innodb_row_lock_time"
        if self._server.analyzes and not self._request.writes:
            told["storage engine"] = "ANALYZE" if self._server.is_mariadb else "EXPLAIN ANALYZE"
        return told

    def _list_flushes(self, ask: Ask) -> tuple[str, ...]:
        try:
            (rows,) = ask(self.beside or {}, [FLUSHES])
        except TrialFailed:
            return ()
        return tuple(
            f"{str(name).rpartition('/')[2]}: {float(us or 0) / int(count or 1):,.0f} µs a flush,"
            f" of {count} so far"
            for name, count, us in rows
        )

    def begin(self, talk: Talk) -> None:
        """Read who we are; check that the server says the session only reads."""
        if self._can_profile:
            talk(["SET profiling_history_size = 100"], "rows")
        name = "transaction_read_only" if self._server.number >= (8,) else "tx_read_only"
        if self._server.is_mariadb and self._server.number < (11, 1):
            name = "tx_read_only"
        ((reads_only, number),) = talk([f"SELECT @@SESSION.{name}, CONNECTION_ID()"], "rows")[
            -1
        ].rows
        if reads_only != "1" and not self._request.writes:
            raise UsageError("the server did not make the session read-only")
        self._id = str(number)
        trx = f"LEFT JOIN {TRX} t ON t.trx_mysql_thread_id = p.ID" if self._sees_trx else ""
        state = "COALESCE(t.trx_state, '')" if self._sees_trx else "''"
        self.wait_sql = (
            f"SELECT p.COMMAND, p.STATE, {state} FROM information_schema.PROCESSLIST p {trx}"
            f" WHERE p.ID = {self._id}"
        )

    def list_endings(self) -> list[str]:
        return [f"KILL {self._id}"] if self._id else []

    def read_wait(self, rows: Sequence[Sequence[str | None]]) -> SessionState | None:
        """The session's state, or that it waits for a row's lock."""
        for command, state, transaction in rows:
            if command in ("Sleep", None):
                return None
            if transaction == "LOCK WAIT":
                return SessionState("locks", "a row's lock", 1)
            name = (state or "").lower()
            is_lock = name.startswith("waiting for") and "lock" in name
            return SessionState("locks" if is_lock else "running", name, 1)
        return None

    def extract_shape(self, talk: Talk) -> str:
        asked = self._wrap(f"{EXPLAIN} {self._sql}")
        return plan_shape(talk(asked, "rows")[len(asked) // 2].rows)

    def play_round(self, talk: Talk) -> PathRound:
        empty = self._repeat(talk, "DO 0")
        before_ms = _read_lock_ms(talk)
        stages, parts, told_us, facts = self._read_profile(talk)
        lock_us = min(told_us or 0.0, 1000 * (_read_lock_ms(talk) - before_ms) / self.repeats)
        analysis = self._measure_nodes(talk)
        if not self._counted:
            self._counts = _join_facts(self._count_work(talk), self._read_weighed(talk))
            self._counted = True
        before_ms = _read_lock_ms(talk)
        bare, end_us = self._run_bare(talk)
        waited_us = 1000 * (_read_lock_ms(talk) - before_ms) / self.repeats
        stages = {"connection": empty.elapsed_us, **stages}
        clock_us = None
        if analysis and "execute" in stages:
            execute_us = stages["execute"]
            clock_us = analysis.total_us - execute_us
            # what reading the clock made of it is left out as far as it is known
            slower = max(1.0, analysis.total_us / execute_us) if execute_us else 1.0
            stages["storage engine"] = min(execute_us, analysis.engine_us / slower)
            stages["execute"] = execute_us - stages["storage engine"]
        elif analysis:
            stages["storage engine"] = analysis.engine_us
            stages["execute"] = max(0.0, analysis.total_us - analysis.engine_us)
        if lock_us > 0 and stages:
            longest = max(stages, key=lambda name: stages[name])
            stages[longest] = max(0.0, stages[longest] - lock_us)
        if waited_us > 0:
            waited_us = min(bare.elapsed_us, waited_us)
            stages["lock wait"] = stages.get("lock wait", 0.0) + waited_us
        return PathRound(
            bare.elapsed_us,
            stages,
            instrumented_us=analysis.elapsed_us if analysis else told_us,
            clock_us=clock_us,
            parts=parts,
            nodes=tuple(analysis.nodes) if analysis else (),
            rows=bare.found,
            changed=bare.changed,
            facts=_join_facts(self._counts, facts),
            end_us=end_us,
        )

    def _repeat(self, talk: Talk, statement: str) -> TimedAnswer:
        """The statement `repeats` times in one question, and the median answer."""
        answers = sorted(talk([statement] * self.repeats, "rows"), key=lambda it: it.elapsed_ns)
        return answers[len(answers) // 2]

    def _run_bare(self, talk: Talk) -> tuple[TimedAnswer, float | None]:
        answers = talk(list(self.bare) * self.repeats, "counts")
        several = len(self.bare)
        bare = sorted(answers[several // 2 :: several], key=lambda it: it.elapsed_ns)
        ends = sorted(it.elapsed_us for it in answers[several - 1 :: several])
        return bare[len(bare) // 2], ends[len(ends) // 2] if several > 1 else None

    def _read_profile(
        self, talk: Talk
    ) -> tuple[
        dict[StageName, float],
        dict[StageName, dict[str, float]],
        float | None,
        dict[str, tuple[str, ...]],
    ]:
        """The stages of a run, their parts, the run's time, and what came after its answer."""
        if not self._can_profile:
            return self._read_events(talk, None)
        runs = [*self.bare * self.repeats]
        answers = talk(["SET profiling = 1", *runs, "SET profiling = 0"], "counts")[1:-1]
        own = answers[len(self.bare) // 2 :: len(self.bare)]
        told_us = sorted(it.elapsed_us for it in own)[len(own) // 2]
        (listed,) = talk(["SHOW PROFILES"], "rows")
        begins = self._sql[:40]
        found = [row for row in listed.rows if str(row[2]).startswith(begins)][-len(own) :]
        if not found:
            return self._read_events(talk, told_us)
        number = sorted(found, key=lambda row: float(row[1] or 0.0))[len(found) // 2][0]
        (profile,) = talk([f"SHOW PROFILE FOR QUERY {number}"], "rows")
        stages, parts, after_us = sum_stages(profile.rows)
        facts: dict[str, tuple[str, ...]] = {}
        if after_us:
            facts["reply"] = (f"{after_us:.0f} µs {AFTER}",)
        if self._flushes and self._request.writes:
            facts["log"] = self._flushes
        return stages, parts, told_us, facts

    def _read_events(
        self, talk: Talk, told_us: float | None
    ) -> tuple[
        dict[StageName, float],
        dict[StageName, dict[str, float]],
        float | None,
        dict[str, tuple[str, ...]],
    ]:
        """Return what the server's history of events has instead of a profile."""
        inner = read_inner(talk, self.bare) if self._has_history else InnerStatements()
        self._inner = inner.inner
        if not inner.stages and not self._was_asked:
            self._was_asked = True
            self.remarks.append(NO_PROFILE if self._can_profile else NO_STAGES)
            self._tell_switches()
        stages, parts, _ = sum_stages(inner.stages)
        return stages, parts, told_us, {}

    def _tell_switches(self) -> None:
        if not self._has_history:
            self.remarks.append(
                "this user may not read performance_schema: statements inside functions, and "
                "the stages, are not known"
            )
        elif self._server.variables.get("performance_schema") == "ON":
            self.switches = list_switches(self._ask, self.beside or {})

    def read_inner(self, talk: Talk) -> tuple[InnerStatement, ...]:
        return self._inner

    def _read_weighed(self, talk: Talk) -> dict[str, tuple[str, ...]]:
        if self._server.number < TRACED_FROM[self.engine]:
            return {}
        begin, *end = ("START TRANSACTION", "ROLLBACK") if self._request.writes else ("DO 0",)
        asked = [begin, *TRACING, f"{EXPLAIN} {self._sql}", TRACE, *TRACED, *end]
        answers = talk(asked, "rows")
        plan, traces = (answers[1 + len(TRACING) + at].rows for at in (0, 1))
        weighed = describe_weighed(traces, plan)
        return {"optimise": weighed} if weighed else {}

    def _measure_nodes(self, talk: Talk) -> _Analysis | None:
        """The nodes with their times. MariaDB's ANALYZE executes an UPDATE for good: only what
        reads is analysed.
        """
        if not self._server.analyzes or self._request.writes:
            return None
        words = "ANALYZE FORMAT=JSON" if self._server.is_mariadb else "EXPLAIN ANALYZE"
        answer = self._repeat(talk, f"{words} {self._sql}")
        text = "\n".join(str(row[0]) for row in answer.rows)
        if not self._server.is_mariadb:
            nodes = read_tree(text)
            total_us = sum(it.us or 0.0 for it in nodes)
            return _Analysis(nodes, answer.elapsed_us, total_us, sum_leaves_us(nodes))
        try:
            told = json.loads(text)
        except ValueError as error:
            raise TrialFailed("cannot read what ANALYZE answered", cause=error) from None
        total_us = 1000 * float(told.get("query_block", {}).get("r_total_time_ms") or 0.0)
        return _Analysis(read_json(told), answer.elapsed_us, total_us, sum_engine_us(told))

    def _count_work(self, talk: Talk) -> dict[str, tuple[str, ...]]:
        """Temporary tables, merge passes and rows read in one run, by the session's own count."""
        answers = talk([COUNTERS, COUNTERS], "rows")
        talk(self.bare, "counts")
        first, second, last = (
            {str(name): int(value or 0) for name, value in answer.rows}
            for answer in (*answers, *talk([COUNTERS], "rows"))
        )
        grown = {
            name: last[name] - second.get(name, 0) - (second.get(name, 0) - first.get(name, 0))
            for name in last
        }
        made = (
            ("Created_tmp_tables", "temporary tables"),
            ("Created_tmp_disk_tables", "on disk"),
            ("Sort_merge_passes", "merge passes of sorts"),
        )
        read = sum(n for name, n in grown.items() if name.startswith("Handler_read_"))
        facts = {
            "execute": tuple(f"{what}: {grown[name]:,}" for name, what in made if grown.get(name)),
            "storage engine": (f"handler reads: {read:,}",) if read else (),
        }
        return {name: them for name, them in facts.items() if them}


def _join_facts(
    first: Mapping[str, tuple[str, ...]], second: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys((*first, *second))
    return {name: (*first.get(name, ()), *second.get(name, ())) for name in names}


def _read_lock_ms(talk: Talk) -> float:
    """Return how long all sessions have waited for InnoDB's rows so far."""
    (answer,) = talk([LOCK_MS], "rows")
    return float(answer.rows[0][1] or 0.0) if answer.rows else 0.0


def _is_answered(ask: Ask, session: Session, *questions: str) -> bool:
    try:
        ask(session, questions)
    except TrialFailed:
        return False
    return True
