"""A server's log as what was sent when, by whom; what reads one (each engine's own); the parameters
of a statement that has its values beside it; and a log's different statements, numbered and
counted.

A log is read as a stream: nothing here holds more than one statement, and of one that is longer
than the limit only the beginning. `$1` is a parameter where a server reads one, which is not within
a literal, a quoted name or a comment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dyno.sql.tokens import make_shortener
from dyno.workloads.replay.statements import REMEMBERED, Dialect, Kind, Statement, read_statement

#: Characters of the longest statement that is played, and what is kept of one that is longer.
LIMIT, BEGINNING = 16 << 20, 200
#: Places of one kind that a report lists.
PLACES = 3


#: A byte that is no UTF-8, as `Lines` says it; and what is neither that nor a letter (`\\ud800` in
#: JSON), which no server sent.
_ODD, _NO_LETTER = re.compile("[\udc80-\udcff]"), re.compile("[\ud800-\udc7f\udd00-\udfff]")

#: Seconds: a longer statement, and a later time (since 1970), are errors of a log.
DURATION_MOST_S, TIME_MOST_S = 90 * 86400.0, 1e10
ABSURD = "entries with a duration that cannot be: they count as begun when they ended"
NO_TIME = "entries with a time that cannot be: they count as logged when the one before was"


def parse_number(text: str, most: float) -> float | None:
    """Return a number of a log from 0 up to `most`; None if the log is damaged there."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < most else None


def replace_no_letters(text: str) -> str:
    """A text of a log in which each code point that is no letter is U+FFFD."""
    return text if text.isascii() else _NO_LETTER.sub("\ufffd", text)


def has_odd_bytes(text: str) -> bool:
    """Return whether a text of a log has bytes that are no UTF-8."""
    return not text.isascii() and bool(_ODD.search(text))


class LogEntry(NamedTuple):
    """A statement of a log, sent at `at_s` (seconds since 1970) by `session`; `values` are those of
    its parameters, None for NULL.

    `database` is where the session was, "" if the log does not say; `line` where it begins. Bytes
    that are no UTF-8 are escaped by surrogates. `letters` is 0, or the length of one that is longer
    than the limit, of which `sql` is the beginning. `lost` says why another is not there as it was
    sent, and completes "left out: 3 …". `user` is "", rows are None if the log does not have it.
    `calls`: it stands for so many that a server has counted (0: for itself).
    """

    at_s: float
    session: str
    sql: str
    line: int
    values: tuple[str | None, ...] = ()
    database: str = ""
    duration_s: float = 0.0
    letters: int = 0
    lost: str = ""
    user: str = ""
    rows_sent: int | None = None
    rows_read: int | None = None
    calls: int = 0


#: Before a statement of which the values are not known: it is prepared, and no more.
PREPARED = "PREPARE dyno AS "


class UnplayedStatement(NamedTuple):
    """A statement that cannot be played, and `why`; the server was sent `calls` of it."""

    digest: str
    why: str
    calls: int


@dataclass
class LeftOutStatements:
    """What is not played for one reason: how many, and the lines of the first, with remarks; `hint`
    says what would play them.
    """

    hint: str = ""
    count: int = 0
    lines: list[int] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(self, line: int, remark: str = "") -> None:
        self.count += 1
        if len(self.lines) < PLACES:
            self.lines.append(line)
            self.remarks.append(remark)

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.lines) else ""
        plural = "s" if self.count > 1 else ""
        told = [
            f"{line}: {remark}" if remark else str(line)
            for line, remark in zip(self.lines, self.remarks, strict=True)
        ]
        return f"line{plural} {', '.join(told)}{more}"


#: What to do about a log that was changed since, or of which a part is missing.
AS_WRITTEN = "replay the log as the server wrote it, whole"
#: Reasons that are told apart.
REASONS = 60


class Reasons(dict[str, LeftOutStatements]):
    def add(self, why: str, line: int, remark: str = "", hint: str = "") -> None:
        if why not in self and len(self) >= REASONS:
            why = "for other reasons"
        self.setdefault(why, LeftOutStatements(hint)).add(line, remark)

    def find_hint(self, otherwise: str) -> str:
        """Return what would play most of them; `otherwise` if that is not known."""
        most = max(self.values(), key=lambda it: it.count, default=LeftOutStatements())
        return most.hint or otherwise


@dataclass(frozen=True)
class Log:
    """A log that is read while its `entries` are iterated, once; `kind` in words. As far as it was
    read: `unread`, lines that a replay cannot use, and `notes`, what the log does not separate,
    with the consequences. `has_inner`: what triggers and functions sent is written as the session's
    own. `unplayed` are those that a server has counted, and not kept as they were sent.
    `is_shipped`: its lines came through a shipper.
    """

    kind: str
    dialect: Dialect
    entries: Iterable[LogEntry]
    unread: Reasons = field(default_factory=Reasons)
    notes: Reasons = field(default_factory=Reasons)
    has_inner: bool = False
    unplayed: tuple[UnplayedStatement, ...] = ()
    is_shipped: bool = False


#: What may begin something in which no parameter stands; a word is read whole (`a$1`, `E'…'`).
_BEGINS = re.compile(
    r"(?P<escaped>(?<![\w$])[eE]')|(?P<word>[^\W\d][\w$]*+)|(?P<parameter>\$\d++)|(?P<mark>\?)"
    r"|(?P<dollar>\$(?:[^\W\d]\w*+)?\$)|(?P<quote>['\"])|(?P<line>--)|(?P<block>/\*)"
)
_ESCAPED_END = re.compile(r"(?:[^'\\]++|''|\\.)*+'", re.DOTALL)
_EITHER = re.compile(r"/\*|\*/")


class Parameter(NamedTuple):
    """Where a `$1` stands, and its number from 0; -1 for a `?`, which is an operator or a mark."""

    begin: int
    end: int
    number: int


def find_parameters(sql: str) -> Iterator[Parameter]:
    """The parameters of a text, in its order."""
    at = 0
    while found := _BEGINS.search(sql, at):
        at = found.end()
        kind = str(found.lastgroup)
        if kind == "parameter":
            yield Parameter(found.start(), at, int(found[0][1:]) - 1)
        elif kind == "mark":
            yield Parameter(found.start(), at, -1)
        elif kind != "word":
            at = _find_end(sql, kind, found[0], at)


def _find_end(sql: str, kind: str, opener: str, at: int) -> int:
    """Return the end of what was opened before `at`, or the text's end."""
    if kind == "escaped":
        ended = _ESCAPED_END.match(sql, at)
        return ended.end() if ended else len(sql)
    if kind != "block":
        closer = "\n" if kind == "line" else opener
        end = sql.find(closer, at)
        return end + len(closer) if end >= 0 else len(sql)
    depth = 1
    for either in _EITHER.finditer(sql, at):
        depth += 1 if either[0] == "/*" else -1
        if not depth:
            return either.end()
    return len(sql)


def count_parameters(sql: str) -> int:
    if "$" not in sql:
        return 0
    return max((it.number + 1 for it in find_parameters(sql)), default=0)


def insert_values(sql: str, values: Sequence[str | None]) -> str:
    found = [it for it in find_parameters(sql) if 0 <= it.number < len(values)]
    literals = list[str]()
    for it in found:
        value = values[it.number]
        literals.append("NULL" if value is None else "'" + value.replace("'", "''") + "'")
    return _replace(sql, found, literals)


def _replace(sql: str, found: Sequence[Parameter], texts: Sequence[str]) -> str:
    parts, at = list[str](), 0
    for it, text in zip(found, texts, strict=True):
        parts += (sql[at : it.begin], text)
        at = it.end
    return "".join([*parts, sql[at:]])


#: Statements that are numbered: what else a log holds is judged anew each time, and told together.
NUMBERED = 1 << 14
#: Shortened texts whose number is remembered, and letters of the longest example.
TEXTS, EXAMPLE = 1 << 14, 1 << 14
#: What those beyond them are called together.
OTHERS = "all other statements"
#: The number of a statement that has none.
ANEW = -1


class Different:
    """The first statements of a log that are different from all before, how many were kept of each,
    and an example.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._shorten = make_shortener(dialect.quoting)
        self._numbers = dict[Statement, int]()
        self._by_text = dict[str, int]()
        self.statements = list[Statement]()
        self.counts = list[int]()
        #: How often a server was sent them, where that is not how often they stand in the log.
        self.calls = Counter[int]()
        self.examples = dict[int, LogEntry]()
        self._other_tables = Counter[str]()

    def read(self, entry: LogEntry) -> tuple[int, Statement]:
        """Return the statement of an entry, and its number."""
        short = self._shorten(entry.sql)
        number = self._by_text.get(short)
        if number is not None:
            return number, self.statements[number]
        statement = read_statement(entry.sql, self._dialect)
        number = self._assign_number(statement)
        if number >= 0 and len(short) <= REMEMBERED:
            if len(self._by_text) >= TEXTS:
                self._by_text.clear()
            self._by_text[short] = number
        return number, statement

    def _assign_number(self, statement: Statement) -> int:
        number = self._numbers.get(statement, ANEW)
        room = len(self.statements) < NUMBERED and len(statement.digest) <= REMEMBERED
        if number == ANEW and room:
            number = len(self.statements)
            self._numbers[statement] = number
            self.statements.append(statement)
            self.counts.append(0)
        return number

    def number_statement(self, number: int, sql: str) -> Statement:
        """The statement with a number, or that of a text that has none."""
        return self.statements[number] if number >= 0 else read_statement(sql, self._dialect)

    def keep(self, number: int, statement: Statement, entry: LogEntry) -> None:
        """Count one more of a statement; the first is its example."""
        if number >= 0:
            is_first = not self.counts[number] and number not in self.examples
            if is_first and len(entry.sql) <= EXAMPLE:
                self.examples[number] = entry
            self.counts[number] += 1
            if entry.calls:
                self.calls[number] += entry.calls
        else:
            self._other_tables.update(statement.tables)

    def take_back(self, number: int, statement: Statement) -> None:
        """Uncount one that was kept."""
        if number >= 0:
            self.counts[number] -= 1
        else:
            self._other_tables.subtract(statement.tables)

    def forget(self, kind: Kind) -> int:
        """Uncount statements of a kind that are not played after all; return how many were kept."""
        found = [n for n, each in enumerate(self.statements) if each.kind == kind]
        total = sum(self.counts[n] for n in found)
        self.counts = [0 if n in found else it for n, it in enumerate(self.counts)]
        return total

    def count_tables(self) -> Counter[str]:
        """The tables that are needed, and how many statements name each."""
        found = Counter({name: n for name, n in self._other_tables.items() if n > 0})
        for statement, count in zip(self.statements, self.counts, strict=True):
            if count:
                found.update(dict.fromkeys(statement.tables, count))
        return found

    def find_most_frequent(self, most: int) -> list[tuple[int, str]]:
        """Numbers and digests of those of which most are kept."""
        ordered = sorted(range(len(self.counts)), key=lambda number: -self.counts[number])
        return [(n, self.statements[n].digest) for n in ordered[:most] if self.counts[n]]
