"""What each side answers to the statements of a workload, on fresh copies of the same data.

After the first block every candidate's engine is started once more, on data that no timed phase has
changed, and is asked, untimed and over one session, what the block's trials have sent: each
statement with the values that were recorded, and with values at the edges; reads first, then writes
in the order in which they were sent, the reads once more, the rows that each table holds then, and
statements that break each table's constraints. Answers are held against those of the first
candidate with the same options by `dyno.answers`. Where some differ, that one is asked again on
another copy: what it answers otherwise to itself is undecidable, and nobody's fault.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from dyno.answers import Sameness
from dyno.driver import Conversation, LateAnswer, WholeAnswer, compare_whole_answers
from dyno.driver.plan import Session
from dyno.instruments.time.known_statements import KnownText
from dyno.record import KINDS_OF_OURS, LESS_GRAVE, ComparedStatement

#: Kinds of the driver's that only read, and those that are no statement of their own here: each is
#: committed by itself.
READS = frozenset({"read"})
LEFT_OUT = frozenset({"begin", "commit", "rollback", "batch"})
#: Executions of one text, writes of all; what further executions of reads may take, the first of
#: each text, and one statement.
EXECUTIONS, WRITES, STAGE_S, FIRST_S, STATEMENT_S = 64, 256, 0.75, 5.0, 10.0
#: Values that most data end at, or hold nothing of.
EDGES = ("0", "-1", "2147483647")
#: Tables, their rows and their columns that are looked at.
TABLES, TABLE_ROWS, COLUMNS = 32, 100_000, 12
TOO_LONG = "x" * 70_000
#: A statement that asks for the engine's own figures: sizes, counts of pages, statistics.
OWN_FIGURES = re.compile(
    r"\b(?:information_schema|performance_schema|pg_[a-z]\w*|txid_\w+|connection_id|pragma\w*)\b",
    re.IGNORECASE,
)

_LITERAL = re.compile(
    r"'(?:[^'\\]|''|\\.)*+'|\"[^\"]*+\"|`[^`]*+`|(?<![\w.$@])\d++(?:\.\d++)?(?![\w.])"
)


@dataclass(frozen=True)
class AskedStatement:
    """A statement to be asked; `text` names it without its literals. `after_writes`: it is a read
    that is asked once more then.
    """

    text: str
    kind: str
    sql: str
    after_writes: bool = False

    @property
    def is_after_writes(self) -> bool:
        """Does its answer depend on what was written before?"""
        return self.kind in KINDS_OF_OURS or self.after_writes


@dataclass(frozen=True)
class Reply:
    """What came of a question; `why` it was not answered, where it was not."""

    question: AskedStatement
    whole: WholeAnswer | None
    why: str = ""


@dataclass
class Replies:
    """What a side answered, in order, how many writes it had before its tables were looked at, and
    how long all that took.
    """

    replies: list[Reply] = field(default_factory=list)
    session_kind: str = ""
    writes: int = 0
    seconds: float = 0.0

    def compare(
        self, own: Replies, again: Replies | None, *, same_engine: bool
    ) -> tuple[ComparedStatement, ...]:
        """Another side's answers beside these, by statement (`compare_replies`)."""
        return compare_replies(self, own, again, same_engine=same_engine)


def list_questions(
    texts: Sequence[KnownText],
) -> tuple[list[AskedStatement], list[AskedStatement], list[KnownText]]:
    """Reads in rounds (an execution of each text, then the next), writes in the order in which they
    were sent, and texts of which nothing is known.
    """
    known = [each for each in texts if each.kind not in LEFT_OUT]
    reads = [list(_list_reads(each)) for each in known if each.kind in READS and each.executions]
    rounds = [it for round_ in zip_longest(*reads) for it in round_ if it is not None]
    sent = [
        (run.user, run.place, AskedStatement(each.text, each.kind, run.sql))
        for each in known
        if each.kind not in READS
        for run in each.executions[:EXECUTIONS]
    ]
    writes = [question for _, _, question in sorted(sent, key=lambda it: it[:2])]
    return rounds, writes, [each for each in known if not each.executions]


def _list_reads(text: KnownText) -> Iterator[AskedStatement]:
    """The first execution, the same at the edges, then the others."""
    executions = [each.sql for each in text.executions[:EXECUTIONS]]
    edges = [_replace_numbers(executions[0], edge) for edge in EDGES]
    for sql in dict.fromkeys([executions[0], *edges, *executions[1:]]):
        yield AskedStatement(text.text, text.kind, sql)


def _replace_numbers(sql: str, number: str) -> str:
    return _LITERAL.sub(lambda it: number if it[0][0].isdigit() else it[0], sql)


def ask_contents(
    session: Session, tables_sql: str, texts: Sequence[KnownText], replies: Replies
) -> None:
    """Asks one side everything; `TrialFailed` where its engine dies of it. `tables_sql` lists its
    tables.
    """
    began_s, replies.session_kind = time.monotonic(), str(session["kind"])
    reads, writes, unknown = list_questions(texts)
    for each in unknown:
        question = AskedStatement(each.text, each.kind, "")
        replies.replies.append(Reply(question, None, "no execution of it was short enough to keep"))
    with Conversation(STATEMENT_S) as conversation:

        def ask(question: AskedStatement) -> WholeAnswer | None:
            try:
                (whole,) = conversation.ask_whole(session, [question.sql])
            except LateAnswer:
                why = f"it was not answered within {STATEMENT_S:g} s"
                replies.replies.append(Reply(question, None, why))
                return None
            replies.replies.append(Reply(question, whole))
            return whole

        firsts = list({it.text: it for it in reversed(reads)}.values())[::-1]
        left = _ask_reads(ask, reads)
        replies.writes = sum(ask(each) is not None for each in writes[:WRITES])
        again = [replace(it, after_writes=True) for it in firsts]
        left += _ask_reads(ask, again)
        why = f"others had taken {FIRST_S:g} s"
        replies.replies += (Reply(each, None, why) for each in left)
        (tables,) = conversation.ask_whole(session, [tables_sql])
        for row in tables.answer.rows[:TABLES]:
            ask_table(ask, str(row[0]), *row[1:2])
    replies.seconds = time.monotonic() - began_s


def _ask_reads(
    ask: Callable[[AskedStatement], WholeAnswer | None], statements: Sequence[AskedStatement]
) -> list[AskedStatement]:
    """As many as there is time for, the first of each text for longer; those of which none was
    asked.
    """
    began_s, asked = time.monotonic(), set[str]()
    left: dict[str, AskedStatement] = {}
    for each in statements:
        spent_s = time.monotonic() - began_s
        if spent_s < (STAGE_S if each.text in asked else FIRST_S):
            asked.add(each.text)
            ask(each)
        elif each.text not in asked:
            left.setdefault(each.text, each)
    return list(left.values())


def ask_table(
    ask: Callable[[AskedStatement], WholeAnswer | None],
    table: str,
    unwritten: str | None = None,
) -> None:
    """Its rows, where they are not too many, then what breaks its constraints; its columns
    `unwritten`, a line each, have values of the server alone.
    """
    name = f"rows of {table}"
    rows = _read_number(ask(AskedStatement(name, "table", f"SELECT count(*) FROM {table}")))
    if rows is not None and rows <= TABLE_ROWS:
        ask(AskedStatement(name, "table", f"SELECT * FROM {table}"))
    empty = ask(AskedStatement(name, "table", f"SELECT * FROM {table} WHERE 1 = 0"))
    if not rows or empty is None or not 0 < len(empty.answer.columns) <= COLUMNS:
        return
    mark = "`" if table[0] == "`" else '"'
    written = [it for it in empty.answer.columns if it.name not in (unwritten or "").split("\n")]
    if not written:
        return
    columns = [f"{mark}{it.name}{mark}" for it in written]
    first_type = written[0].type
    listed = ", ".join(columns)
    for number, (words, values) in enumerate(_list_violations(columns, first_type)):
        source = f"FROM {table} ORDER BY {columns[0]} DESC LIMIT 1"
        chosen = ", ".join(values).replace(FRESH, str(1000 * (number + 1)))
        sql = f"INSERT INTO {table} ({listed}) SELECT {chosen} {source}"
        ask(AskedStatement(f"{words} in {table}", "rule", sql))


#: Stands in a value for a number that no other statement has.
FRESH = "{fresh}"
_NUMERIC = re.compile("int|num|dec|real|double|float|null", re.IGNORECASE)


def _list_violations(columns: Sequence[str], first_type: str) -> Iterator[tuple[str, list[str]]]:
    """Rows made of the last one: the same; with a new first value and the rest the same; and, with
    that, without a value, with too long a one, with a key that no parent has, column by column.
    """
    is_number = _NUMERIC.search(first_type)
    first = f"-{FRESH} - {columns[0]}" if is_number else f"'dyno {FRESH}'"
    rest = [first, *columns[1:]]
    yield "the same row", list(columns)
    yield "a new first value beside the same others", rest
    wrong = (("NULL", "NULL"), ("too long a value", f"'{TOO_LONG}'"), ("no parent", "-2147483647"))
    for at, column in enumerate(columns):
        for words, value in wrong if at else wrong[:2]:
            yield f"{words} for {column[1:-1]}", [*rest[:at], value, *rest[at + 1 :]]


def _read_number(whole: WholeAnswer | None) -> int | None:
    if whole is None or not whole.answer.rows:
        return None
    cell = whole.answer.rows[0][0] or ""
    return int(cell) if cell.isdigit() else None


def compare_replies(
    base: Replies, own: Replies, again: Replies | None, *, same_engine: bool
) -> tuple[ComparedStatement, ...]:
    """Both sides' answers by statement; `again` are the base's own to the same, where it was asked
    once more.
    """
    ours, theirs = _group_replies(own), _group_replies(base)
    repeated = _group_replies(again) if again else {}
    found: dict[tuple[str, bool], list[tuple[AskedStatement, Sameness]]] = {}
    for key, reply in theirs.items():
        judged = _judge(reply, ours.get(key), base.session_kind, same_engine)
        if base.writes != own.writes and reply.question.is_after_writes:
            judged = Sameness("not compared", "not every write came to its end on both sides")
        if judged.word == "differs" and OWN_FIGURES.search(reply.question.text):
            judged = Sameness("undecidable", "it asks for the engine's own figures")
        elif judged.word == "differs" and again:
            beside = _judge(reply, repeated.get(key), base.session_kind, True)
            if beside.word != "same":
                judged = Sameness("undecidable", "the base answers otherwise when asked again")
        name = reply.question.text, reply.question.after_writes
        found.setdefault(name, []).append((reply.question, judged))
    return tuple(_sum_up(judged) for judged in found.values())


def _group_replies(side: Replies) -> dict[tuple[AskedStatement, int], Reply]:
    """By statement and how often the same was asked before."""
    found: dict[tuple[AskedStatement, int], Reply] = {}
    counts: dict[AskedStatement, int] = {}
    for reply in side.replies:
        name = reply.question
        counts[name] = counts.get(name, 0) + 1
        found[name, counts[name]] = reply
    return found


def _judge(base: Reply, own: Reply | None, session_kind: str, same_engine: bool) -> Sameness:
    if base.whole is None:
        return Sameness("not compared", base.why)
    if own is None:
        return Sameness("not compared", "there was no time for it on the other side")
    if own.whole is None:
        return Sameness("not compared", own.why)
    if base.question.kind == "table" and (refused := base.whole.answer.refusal):
        return Sameness("not compared", refused.text)
    sql = base.question.sql
    return compare_whole_answers(
        base.whole, own.whole, sql, kind=session_kind, same_engine=same_engine
    )


def _sum_up(judged: Sequence[tuple[AskedStatement, Sameness]]) -> ComparedStatement:
    first = judged[0][0]
    words = [each.word for _, each in judged]
    telling = [it for it in judged if it[1].word != "same"]
    telling.sort(key=lambda it: (it[1].word != "differs", it[1].kind in LESS_GRAVE))
    worst = telling[0] if telling else None
    return ComparedStatement(
        first.text,
        first.kind,
        words.count("same"),
        words.count("differs"),
        words.count("undecidable"),
        words.count("not compared"),
        worst[1].why if worst else next((it.why for _, it in judged if it.why), ""),
        worst[0].sql[:500] if worst else "",
        worst[1].ours if worst else (),
        worst[1].theirs if worst else (),
        worst[1].kind if worst else "",
        first.after_writes,
    )
