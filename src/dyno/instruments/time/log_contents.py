"""A log played in its order on each side, and the answers held against each other.

Every session of the log is a connection, and one statement is under way at a time, but for those
that wait for a lock (`crates/driver/src/commands/lockstep.rs`). So what races in production does
not race here, and what two plays on the base answer otherwise is *unsteady*, and nobody's fault.

A write that does something else on one side leaves other rows in its tables: what differs there
later *rests on* that (downstream) and is counted apart, but for errors and columns, which do not
hang on rows.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

from msgspec.structs import replace

from dyno.answers import Sameness
from dyno.driver import Conversation, WholeAnswer, compare_whole_answers
from dyno.driver.lockstep import (
    LogAnswer,
    LogPlayed,
    LogQuestion,
    ServerWords,
    play_log,
    read_log_answers,
)
from dyno.driver.plan import Session
from dyno.instruments.time.contents import (
    OWN_FIGURES,
    TABLES,
    AskedStatement,
    Replies,
    Reply,
    ask_table,
    compare_replies,
)
from dyno.record import LESS_GRAVE, ComparedStatement
from dyno.workloads.replay.logs import insert_values
from dyno.workloads.replay.order import OrderedLog, OrderedStatement, StatementClass
from dyno.workloads.replay.statements import strip_schema

#: What one statement may take, and a log on the base; how many times as long as that it may take
#: on another side; letters of an example.
STATEMENT_S, LOG_S, PATIENCE, EXAMPLE = 60.0, 600.0, 10, 2000
NO_TIME = "there was no time for it"
#: What may differ because of other rows; of errors those by which a row is refused, a lock, or a
#: transaction that has failed before.
OF_ROWS = frozenset({"rows", "rows changed", "insert id"})
_ROW_ERRORS = ("23", "40", "25P02", "55P03")
_ROW_ERROR_NUMBERS = frozenset({"1062", "1169", "1205", "1213", "1451", "1452", "1586"})
IN_FAILED_TRANSACTION = "25P02"
_ENDS = frozenset({"begin", "commit", "rollback"})


@dataclass
class LogReplies:
    """What a side answered to a log: in a file, and the rows of its tables in the end. It is asked
    `most` statements, those that the base had time for (0: nobody was asked before).
    """

    log: OrderedLog
    answers: Path
    most: int = 0
    session_kind: str = ""
    seconds: float = 0.0
    span_ns: tuple[int, int] = (0, 0)
    played: LogPlayed | None = None
    tables: Replies = field(default_factory=Replies)

    def ask(self, session: Session, words: ServerWords, tables_sql: str) -> None:
        """Plays the log on loaded data, then asks for tables' rows, and what breaks constraints
        (`tables_sql` lists the tables; empty: none is looked at); `TrialFailed` where the server
        dies of it.
        """
        began_s, self.session_kind = time.monotonic(), str(session["kind"])
        began, stop_s = self.log.began_s, PATIENCE * LOG_S if self.most else LOG_S
        times = STATEMENT_S, stop_s, self.most
        question = LogQuestion(self.log.events, self.answers, began, *times)
        began_ns = time.monotonic_ns()
        self.played = play_log(session, question, words)
        self.span_ns = began_ns, time.monotonic_ns()
        if tables_sql:
            self._ask_tables(session, tables_sql)
        self.seconds = time.monotonic() - began_s

    def _ask_tables(self, session: Session, tables_sql: str) -> None:
        self.tables.session_kind = self.session_kind
        with Conversation(STATEMENT_S) as conversation:

            def ask(question: AskedStatement) -> WholeAnswer:
                (whole,) = conversation.ask_whole(session, [question.sql])
                self.tables.replies.append(Reply(question, whole))
                return whole

            (tables,) = conversation.ask_whole(session, [tables_sql])
            for row in tables.answer.rows[:TABLES]:
                ask_table(ask, str(row[0]), *row[1:2])

    def compare(
        self, own: LogReplies, again: LogReplies | None, *, same_engine: bool
    ) -> tuple[ComparedStatement, ...]:
        """Another side's answers beside these, by class of statements; `again` are those of
        another play on this side.
        """
        found = _Comparison(self.log.classes, self.session_kind, same_engine)
        repeated: Iterator[LogAnswer | None] = (
            read_log_answers(again.answers) if again else repeat(None)
        )
        statements = self.log.list_statements()
        sides = read_log_answers(self.answers), read_log_answers(own.answers), repeated
        answers = zip(*sides, strict=False)
        for (theirs, ours, beside), statement in zip(answers, statements, strict=False):
            found.add(statement, theirs, ours, beside)
        for statement in statements:
            found.leave(statement)
        unplayed = (
            ComparedStatement(digest, "unknown", not_compared=1, why=why, sent=calls)
            for digest, why, calls in self.log.unplayed
        )
        tables = compare_replies(
            self.tables, own.tables, again.tables if again else None, same_engine=same_engine
        )
        return (*found.sum_up(), *unplayed, *map(found.judge_table, tables))


@dataclass
class _Counts:
    """What became of the executions of a class, and the gravest of what is to be told."""

    same: int = 0
    differs: int = 0
    undecidable: int = 0
    not_compared: int = 0
    failed: int = 0
    failed_both: int = 0
    unsteady: int = 0
    downstream: int = 0
    gravity: int = 9
    worst: Sameness = field(default_factory=lambda: Sameness("same"))
    example: str = ""
    first: str = ""


class _Comparison:
    """Holds answers against each other in the order of the log."""

    def __init__(
        self, classes: tuple[StatementClass, ...], session_kind: str, same_engine: bool
    ) -> None:
        self._classes, self._kind, self._same_engine = classes, session_kind, same_engine
        self._counts = defaultdict[int, _Counts](_Counts)
        #: Tables whose rows are others on one side, and those that open transactions wrote.
        self._tainted = set[str]()
        self._written = defaultdict[int, set[str]](set)

    def add(
        self,
        statement: OrderedStatement,
        theirs: LogAnswer,
        ours: LogAnswer,
        beside: LogAnswer | None,
    ) -> None:
        """The next statement with the answers of the base, of the other, of the base again."""
        own, counts = self._classes[statement.number], self._counts[statement.number]
        tables = {strip_schema(name) for name in own.tables}
        if own.kind in _ENDS:
            self._written[statement.session].clear()
        elif own.kind != "read":
            self._written[statement.session] |= tables
        counts.first = counts.first or insert_values(statement.sql, statement.values)[:EXAMPLE]
        if own.is_only_prepared and theirs.is_refused >= ours.is_refused:
            counts.not_compared += 1
            refusal = theirs.read().answer.refusal
            why = f"{REFUSED_UNKNOWN}: {refusal.code} {refusal.text}" if refusal else ONLY_PREPARED
            counts.worst = Sameness("not compared", why)
            return
        if theirs.line == ours.line and not theirs.is_cut:
            counts.same += 1
            if theirs.is_refused:
                counts.failed_both += 1
                self._note_both(counts, statement, theirs)
            return
        sql = insert_values(statement.sql, statement.values)
        found = self._judge(theirs, ours, beside, sql)
        if found.word == "differs" and self._is_downstream(found, ours, tables):
            counts.downstream += 1
            why = "it differs in a table whose rows had differed before"
            found = Sameness("not compared", why, found.kind, found.ours, found.theirs)
        self._note_taint(statement, own, found, tables)
        self._count(counts, found, sql, theirs, ours)

    def leave(self, statement: OrderedStatement) -> None:
        """A statement that was not played."""
        counts = self._counts[statement.number]
        counts.not_compared += 1
        if not counts.worst.why:
            counts.worst = Sameness("not compared", NO_TIME)

    def _judge(
        self, theirs: LogAnswer, ours: LogAnswer, beside: LogAnswer | None, sql: str
    ) -> Sameness:
        base = theirs.read()
        found = compare_whole_answers(
            base, ours.read(), sql, kind=self._kind, same_engine=self._same_engine
        )
        if found.word != "differs":
            return found
        if OWN_FIGURES.search(sql):
            return Sameness("undecidable", "it asks for the engine's own figures", found.kind)
        if beside is None or beside.line == theirs.line:
            return found
        again = compare_whole_answers(base, beside.read(), sql, kind=self._kind, same_engine=True)
        if again.word == "same":
            return found
        return Sameness("undecidable", UNSTEADY, found.kind, found.ours, found.theirs)

    def _is_downstream(self, found: Sameness, ours: LogAnswer, tables: set[str]) -> bool:
        if found.kind == "error":
            refusal = ours.read().answer.refusal
            code = refusal.code if refusal else ""
            if code == IN_FAILED_TRANSACTION:
                return True
            if not (code.startswith(_ROW_ERRORS) or code in _ROW_ERROR_NUMBERS or not code):
                return False
        elif found.kind not in OF_ROWS:
            return False
        return bool(self._tainted & tables)

    def _note_taint(
        self, statement: OrderedStatement, own: StatementClass, found: Sameness, tables: set[str]
    ) -> None:
        if found.word == "same" or found.kind in LESS_GRAVE:
            return
        if own.kind != "read":
            self._tainted |= tables
        if found.kind == "error":
            # what its transaction wrote before may be rolled back on one side alone
            self._tainted |= self._written[statement.session]

    def _count(
        self, counts: _Counts, found: Sameness, sql: str, theirs: LogAnswer, ours: LogAnswer
    ) -> None:
        name = found.word.replace(" ", "_")
        setattr(counts, name, getattr(counts, name) + 1)
        counts.unsteady += found.why == UNSTEADY
        counts.failed += found.word == "differs" and ours.is_refused and not theirs.is_refused
        gravity = _measure_gravity(found, ours.is_refused)
        if found.word != "same" and gravity < counts.gravity:
            counts.gravity, counts.worst, counts.example = gravity, found, sql[:EXAMPLE]

    def _note_both(self, counts: _Counts, statement: OrderedStatement, theirs: LogAnswer) -> None:
        if counts.gravity > BOTH and (refusal := theirs.read().answer.refusal):
            why = f"both refuse it: {refusal.code} {refusal.text}"
            counts.gravity, counts.worst = BOTH, Sameness("same", why)
            counts.example = insert_values(statement.sql, statement.values)[:EXAMPLE]

    def sum_up(self) -> Iterator[ComparedStatement]:
        """Each class that was played, in the order in which they were first sent."""
        for number, it in self._counts.items():
            own, worst = self._classes[number], it.worst
            yield ComparedStatement(
                own.digest,
                own.kind,
                it.same,
                it.differs,
                it.undecidable,
                it.not_compared,
                worst.why,
                it.example or it.first,
                worst.ours,
                worst.theirs,
                worst.kind,
                name=own.name,
                failed=it.failed,
                failed_both=it.failed_both,
                unsteady=it.unsteady,
                downstream=it.downstream,
                sent=own.calls,
            )

    def judge_table(self, table: ComparedStatement) -> ComparedStatement:
        """The rows of a table in the end: others by what a statement did are told there."""
        name = table.text.rpartition(" ")[2].rpartition(".")[2].strip('`"')
        if not table.differs or name not in self._tainted:
            return table
        return replace(
            table,
            differs=0,
            not_compared=table.differs + table.not_compared,
            why="statements named here had left other rows in it",
            downstream=table.differs,
        )


ONLY_PREPARED = "its values are not known: it was prepared on both sides, and not executed"
REFUSED_UNKNOWN = "its values are not known, and without them both refuse to prepare it"
UNSTEADY = "the base answers otherwise when it plays the log again"
#: How grave is what is told of a class, the gravest first: refused by the other alone, other
#: answers, other types or warnings, undecidable, not compared, refused by both.
BOTH = 5


def _measure_gravity(found: Sameness, is_refused: bool) -> int:
    if found.word != "differs":
        return 3 if found.word == "undecidable" else 4
    if found.kind == "error" and is_refused:
        return 0
    return 2 if found.kind in LESS_GRAVE else 1
