"""The different statements of a log: judged once each, numbered, and counted."""

from __future__ import annotations

from collections import Counter

from dyno.sql.tokens import make_shortener
from dyno.workloads.replay.logs import LogEntry
from dyno.workloads.replay.statements import REMEMBERED, Dialect, Kind, Statement, read_statement

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
        """The statement of an entry, and its number."""
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
        """One more of a statement is kept; the first is its example."""
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
        """One that was kept is not."""
        if number >= 0:
            self.counts[number] -= 1
        else:
            self._other_tables.subtract(statement.tables)

    def forget(self, kind: Kind) -> int:
        """Statements of a kind are not played after all; how many were kept."""
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
