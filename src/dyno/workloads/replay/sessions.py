"""A log's statements in sessions and lanes: which of them are played, and on which connection.

Reads only: a transaction that holds a write is left out as a whole, since its reads may rest on
what it wrote. Sessions that follow each other share a connection (a *lane*) where they set the same
session variables, so that none plays under another's settings.

A log is gone through once, while what is kept of it lies in a `Spool`: memory grows with the number
of sessions and of different statements (`different.NUMBERED` at most), not with the log.
"""

from __future__ import annotations

import gc
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from dyno.sql.lexing import UnreadableError, read_tokens
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.in_place import Allowed, RefusedStatement, ServerRules, judge_for_all
from dyno.workloads.replay.logs import ANEW, LIMIT, Different, Log, LogEntry, Reasons, has_odd_bytes
from dyno.workloads.replay.routines import RoutineStatements
from dyno.workloads.replay.spool import Chain, Spool, SpoolRecord
from dyno.workloads.replay.statements import (
    Dialect,
    Statement,
    compile_names,
    find_tables_made_by,
    read_statement,
    strip_schema,
)

#: Letters of a digest that is told.
DIGEST_LETTERS = 56
#: Words of a session to its own state that may be another's, too.
STATES = 60
ODD_BYTES = (
    "statements with bytes that are not UTF-8: they are sent as logged, and a server reads them in "
    "the character set that their session sets, else in UTF-8"
)
IN_NO_DATABASE = (
    "statements in no database that the log says: they are sent in the connection's own"
)
SEVERAL = "texts of several statements are sent as logged, each text in one request"
WITHIN_WRITES, OF_MADE = "in transactions that write", "of tables that the log itself makes"
OF_ROUTINES = "that triggers and stored functions sent: they do it again by themselves"
OF_ABSENT = "of tables that the copy does not have"
#: What would play a statement that is left out.
WITH_WRITES = "--writes plays what writes, too"
ON_A_COPY = "--data DUMP.sql --writes plays it on a copy"
LONGER = "--set statement_limit=SIZE takes longer ones"
WHOLE = "let the server log statements and their values whole"
ONE_EACH = "an entry has to hold one statement, whole"
DUMP_IT = "dump these tables, too"
OTHER_URL = "name that database in the URL"


class TimedStatement(NamedTuple):
    at_s: float
    sql: str
    values: tuple[str | None, ...]
    number: int
    statement: Statement


@dataclass
class LogSession:
    """One session's statements: those that are kept, when the first was sent, and what they do to
    the session's own state. `database` is where it was first, `met_s` when that was; `moves`: it
    was in others later.

    Of the transaction that is read: whether BEGIN (`is_open`) or autocommit (`is_manual`) makes it
    one, the place of its first statement (None without one), and whether it writes.
    """

    name: str
    kept: Chain
    database: str
    met_s: float
    latest_s: float
    began_s: float = 0.0
    working: int = 0
    state: dict[str, None] = field(default_factory=dict)
    moves: bool = False
    is_open: bool = False
    is_manual: bool = False
    place: int | None = None
    has_written: bool = False

    @property
    def span_s(self) -> tuple[float, float]:
        return self.began_s, self.kept.last_s[1]

    def end_transaction(self) -> None:
        self.is_open, self.has_written, self.place = False, False, None


@dataclass(frozen=True)
class Bounds:
    """What is played at most: statements of `limit` characters, and what attached servers allow:
    the rules of those that a log is only read in, and databases of theirs that were not named for
    it (`beside`). `asks`: sessions are asked whether they still only read. `find_tables` says which
    of these tables the copy has, without schema and in lower case (None: all); `routines` are texts
    that make triggers and routines there.
    """

    rules: tuple[ServerRules, ...] = ()
    beside: tuple[str, ...] = ()
    asks: bool = True
    limit: int = LIMIT
    find_tables: Callable[[Iterable[str]], Collection[str]] | None = None
    routines: tuple[str, ...] = ()


class Selection:
    """What of a log is played: sessions, the databases that they are in (one, or several that are
    changed by USE), and what is left out, by its reason. Each session's statements are read from
    disk (`find_played`). `rules` are those of the servers that it is only read in.
    """

    def __init__(
        self,
        dialect: Dialect,
        writes: bool,
        spool: Spool,
        bounds: Bounds | None = None,
    ) -> None:
        bounds = bounds or Bounds()
        self.rules, self._others = bounds.rules, compile_names(bounds.beside)
        self.asks = bounds.asks and bool(bounds.rules)
        self.sessions: tuple[LogSession, ...] = ()
        self.databases: tuple[str, ...] = ()
        self.left_out, self.notes, self._homeless = Reasons(), Reasons(), Reasons()
        self.different = Different(dialect)
        self.read, self.count, self.began_s = 0, 0, float("inf")
        #: Statements that are played and stand in no log: they bring a session into its database.
        self.added = 0
        #: How long those that are played took, where the log says that.
        self.busy_s = 0.0
        self._dialect, self._writes, self._spool = dialect, writes, spool
        self._by_name = dict[str, LogSession]()
        self._databases = Counter[str]()
        self._made, self._absent = set[str](), set[str]()
        self._find_tables = bounds.find_tables
        self._routines = RoutineStatements(bounds.routines, dialect)
        #: The one database that is played where no statement changes it.
        self._only = ""

    @property
    def span_s(self) -> float:
        ends = (session.kept.last_s[0] for session in self.sessions)
        return max(ends, default=self.began_s) - self.began_s if self.sessions else 0.0

    def count_tables(self) -> Counter[str]:
        return self.different.count_tables()

    def add(self, entry: LogEntry) -> None:
        self.read += 1
        if entry.at_s < self.began_s and not entry.letters:
            self.began_s = entry.at_s
        session = self._by_name.get(entry.session) or self._meet(entry)
        if entry.letters or entry.lost:
            return self._leave_damaged(entry, session)
        number, statement = self.different.read(entry)
        kind = statement.kind
        if kind == "unknown":
            why = f"not understood: {statement.why}"
            start = " ".join(entry.sql[:200].split())[:40]
            self.left_out.add(why, entry.line, start, ONE_EACH)
            session.is_open |= statement.leaves == "open"
            return self._leave_possible_write(session)
        if self._routines.has_sent(entry, statement):
            return self._leave(OF_ROUTINES, entry, statement)
        if kind == "admin":
            return self._leave("for the server as a whole, never played", entry, statement)
        if self._others and _has_name(self._others, entry, statement):
            why = "that name a database beside the one of the URL"
            return self._leave(why, entry, statement, hint=OTHER_URL)
        if self.rules and kind != "write":
            judged = judge_for_all(self.rules, entry.sql, entry.values)
            if isinstance(judged, RefusedStatement):
                return self._leave(judged.why, entry, statement, self._writes_hint)
            entry = entry._replace(sql=judged.text)
        self._databases[entry.database] += 1
        session.moves |= entry.database != session.database
        has_effect = kind != "read" or bool(statement.parts)
        is_alone = has_effect and self._note_statement(session, entry, statement)
        is_within = not is_alone and (session.is_open or session.is_manual)
        if self._writes or (not is_within and kind != "write"):
            self._keep(session, entry, number, statement)
        elif not is_within:
            self._leave("that write", entry, statement, self._writes_hint)
        else:
            self._add_within(session, entry, number, statement)
        if statement.leaves == "ended":
            session.end_transaction()
        return None

    @property
    def _writes_hint(self) -> str:
        return ON_A_COPY if self.asks else WITH_WRITES

    def _leave(self, why: str, entry: LogEntry, statement: Statement, hint: str = "") -> None:
        """Leave out a statement for what its text says."""
        self.left_out.add(why, entry.line, _shorten(statement.digest), hint)

    def _meet(self, entry: LogEntry) -> LogSession:
        chain, at_s = Chain(self._spool), entry.at_s
        session = LogSession(entry.session, chain, entry.database, at_s, at_s)
        self._by_name[entry.session] = session
        return session

    def _note_statement(self, session: LogSession, entry: LogEntry, statement: Statement) -> bool:
        """Note what a statement that is no plain read does to what follows; return whether it
        stands alone.
        """
        kind = statement.kind
        if kind == "use":
            self._databases[strip_schema(statement.digest.partition(" ")[2])] += 0
        elif kind == "write":
            self._made.update(find_tables_made_by(statement))
        elif kind == "begin":
            session.end_transaction()
        if "state" in (kind, *statement.parts) and "autocommit" in statement.digest.lower():
            session.end_transaction()
            session.is_manual = _is_autocommit_off(entry.sql, self._dialect.quoting)
            return not statement.parts
        session.is_open |= statement.leaves == "open"
        return False

    def _add_within(
        self, session: LogSession, entry: LogEntry, number: int, statement: Statement
    ) -> None:
        """Add a statement within a transaction, which is left out as a whole if it writes."""
        if session.place is None:
            session.place = len(session.kept)
        if statement.kind == "write":
            self._leave("that write", entry, statement, self._writes_hint)
            self._leave_transaction(session)
        elif session.has_written:
            self._leave(WITHIN_WRITES, entry, statement, self._writes_hint)
        else:
            self._keep(session, entry, number, statement)

    def _leave_transaction(self, session: LogSession) -> None:
        """Leave out what the session's transaction has read, and what it will read."""
        if session.has_written or session.place is None:
            return
        session.has_written = True
        for record in session.kept.take_back(session.place):
            self._take_back(session, record)
            digest = self.different.number_statement(record.number, record.sql).digest
            self.left_out.add(WITHIN_WRITES, record.line, _shorten(digest), self._writes_hint)

    def _leave_damaged(self, entry: LogEntry, session: LogSession) -> None:
        """Leave out a statement whose text is not there as it was: it may have written."""
        start = " ".join(entry.sql.split())[:40]
        if entry.letters:
            shown = f"{entry.letters:,} characters, {start} …"
            self.left_out.add("too long", entry.line, shown, LONGER)
        else:
            self.left_out.add(entry.lost, entry.line, start, WHOLE)
        self._leave_possible_write(session)

    def _leave_possible_write(self, session: LogSession) -> None:
        """Leave out the transaction of a statement that is unknown: it may have written."""
        if not self._writes and (session.is_open or session.is_manual):
            session.place = len(session.kept) if session.place is None else session.place
            self._leave_transaction(session)

    def _keep(
        self, session: LogSession, entry: LogEntry, number: int, statement: Statement
    ) -> None:
        # times are of milliseconds, and of when a statement had ended: it may seem to have begun
        # before the one before it
        at_s = session.latest_s
        if entry.at_s > at_s:
            session.latest_s = at_s = entry.at_s
        if not session.kept:
            session.began_s = at_s
        _, _, sql, line, values, database, duration_s, *_ = entry
        session.kept.append(SpoolRecord(at_s, number, line, sql, values, database, duration_s))
        if statement.parts:
            self.notes.add(SEVERAL, line)
        if statement.kind in ("state", "use") or "state" in statement.parts:
            session.state[statement.digest if len(session.state) < STATES else session.name] = None
        if has_odd_bytes(sql) or any(map(has_odd_bytes, filter(None, values))):
            self.notes.add(ODD_BYTES, line)
        if not database:
            self._homeless.add(IN_NO_DATABASE, line)
        self.count += 1
        self.busy_s += duration_s
        session.working += statement.kind in ("read", "write")
        self.different.keep(number, statement, entry)

    def _take_back(self, session: LogSession, record: SpoolRecord) -> None:
        statement = self.different.number_statement(record.number, record.sql)
        self.count -= 1
        self.busy_s -= record.duration_s
        session.working -= statement.kind in ("read", "write")
        self.different.take_back(record.number, statement)

    def end(self) -> Selection:
        """End the log: leave out what could not be known before."""
        self.databases = tuple(sorted(filter(None, self._databases)))
        if len(self.databases) > 1 and not self._dialect.use:
            self._only = max(self._databases.items(), key=lambda it: (bool(it[0]), it[1]))[0]
        self._absent = self._find_absent()
        for session in self._by_name.values():
            if not session.working or self._only or self._made or self._absent:
                self._sift(session)
        found = [it for it in self._by_name.values() if it.working]
        self.sessions = tuple(sorted(found, key=lambda session: session.met_s))
        self._by_name.clear()
        self.added = sum(self._count_added(session) for session in self.sessions)
        if len(self.databases) <= 1:
            self.count -= self.different.forget("use")
        elif self._dialect.use:
            self.notes.update(self._homeless)
        return self

    def _find_absent(self) -> set[str]:
        """Return the tables that statements name, and neither the copy has nor the log makes."""
        if self._find_tables is None:
            return set()
        needed = self.count_tables()
        made = self._made if self._writes else set[str]()
        return {strip_schema(it) for it in needed} - set(self._find_tables(needed)) - made

    def _sift(self, session: LogSession) -> None:
        """Count what will not be played, for a reason or as nothing of its session works."""
        for is_played in (False, True) if session.working else (True,):
            if is_played and session.working:
                return
            for record in session.kept:
                statement = self.different.number_statement(record.number, record.sql)
                why = self._explain_not(record, statement)
                if is_played and not why and statement.kind not in ("begin", "commit", "rollback"):
                    why_not = "in sessions that read and write nothing"
                    self.left_out.add(why_not, record.line, _shorten(statement.digest))
                if why and not is_played:
                    hint = {OF_MADE: WITH_WRITES, OF_ABSENT: DUMP_IT}.get(why, "")
                    self.left_out.add(why, record.line, _shorten(statement.digest), hint)
                if bool(why) != is_played:
                    self._take_back(session, record)

    def _explain_not(self, record: SpoolRecord, statement: Statement) -> str:
        if self._only and record.database not in ("", self._only):
            return f"in other databases than {self._only}"
        if statement.tables and (self._made or self._absent):
            tables = set(map(strip_schema, statement.tables))
            if not self._writes and not tables.isdisjoint(self._made):
                return OF_MADE
            if not tables.isdisjoint(self._absent):
                return OF_ABSENT
        return ""

    def _build_use(self, database: str) -> str:
        """Return what brings a session into its database if there are several."""
        is_needed = len(self.databases) > 1 and database and self._dialect.use
        if not is_needed or self._others:
            return ""
        use = self._dialect.use.format(database.replace("`", "``"))
        is_played = not self.rules or isinstance(judge_for_all(self.rules, use, ()), Allowed)
        return use if is_played else ""

    def _count_added(self, session: LogSession) -> int:
        """Count statements that bring a session into its databases and are in no log."""
        if not session.moves:
            return bool(self._build_use(session.database))
        return sum(record.line == NO_LINE for record, _ in self.find_records(session))

    def find_state(self, session: LogSession) -> tuple[str, ...]:
        """Return what a session does to its own state, as texts in order."""
        return tuple(dict.fromkeys([self._build_use(session.database), *session.state]))

    def find_records(self, session: LogSession) -> Iterator[tuple[SpoolRecord, Statement]]:
        """The records of a session that are played, each in the database that its log says."""
        database, skips_use = "", len(self.databases) <= 1
        sifts = self._only or self._made or self._absent
        for record in session.kept:
            statement = self.different.number_statement(record.number, record.sql)
            if statement.kind == "use" and skips_use:
                continue
            if sifts and self._explain_not(record, statement):
                continue
            if (
                not skips_use
                and record.database not in ("", database)
                and (use := self._build_use(record.database))
            ):
                added = SpoolRecord(record.at_s, ANEW, NO_LINE, use, (), "", 0.0)
                yield added, read_statement(use, self._dialect)
                database = record.database
            if statement.kind == "use":
                database = _read_used(record.sql)
            yield record, statement

    def find_played(self, session: LogSession) -> Iterator[TimedStatement]:
        began_s = self.began_s
        for record, statement in self.find_records(session):
            at_s, number, _, sql, values, _, _ = record
            yield TimedStatement(at_s - began_s, sql, values, number, statement)


#: The line of a statement that stands in no log.
NO_LINE = 0


def _read_used(sql: str) -> str:
    return sql.strip("; \t\r\n")[len("use") :].strip().strip("`").replace("``", "`")


def _shorten(digest: str) -> str:
    return f"{digest[: DIGEST_LETTERS - 1]}…" if len(digest) > DIGEST_LETTERS else digest


def _is_autocommit_off(sql: str, quoting: Quoting) -> bool:
    try:
        tokens = [it for it in read_tokens(sql, quoting) if it.mark not in (":", "=")]
    except UnreadableError:
        return False
    values = [
        value.text.strip("'\"").lower()
        for name, value in pairwise(tokens)
        if name.text.lower().endswith("autocommit")
    ]
    return values[-1:] in (["0"], ["off"], ["false"])


def _has_name(others: re.Pattern[str], entry: LogEntry, statement: Statement) -> bool:
    """Return whether it names one of these databases. Texts hold no names, except in double quotes,
    which a session may read as a name.
    """
    return bool(others.search(statement.digest)) or (
        '"' in entry.sql and bool(others.search(entry.sql))
    )


def select_statements(
    log: Log, writes: bool, spool: Spool, bounds: Bounds | None = None
) -> Selection:
    """The statements of a log that are played; they lie in the spool."""
    bounds = bounds or Bounds()
    bounds = bounds if log.has_inner else replace(bounds, routines=())
    found = Selection(log.dialect, writes, spool, bounds)
    with pause_collector():
        for entry in log.entries:
            found.add(entry)
        return found.end()


@contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the collector of cycles: a log's entries make none, and are many."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def assign_lanes(selection: Selection) -> list[list[LogSession]]:
    """Sessions on as few connections as they need: one after the other where they do not overlap
    and set the same variables.
    """
    found: list[list[LogSession]] = []
    free: dict[tuple[str, ...], list[tuple[float, int]]] = defaultdict(list)
    for session in sorted(selection.sessions, key=lambda each: each.span_s):
        begin_s, end_s = session.span_s
        heap = free[selection.find_state(session)]
        if heap and heap[0][0] < begin_s:
            _, lane = heappop(heap)
            found[lane].append(session)
        else:
            lane = len(found)
            found.append([session])
        heappush(heap, (end_s, lane))
    return found
