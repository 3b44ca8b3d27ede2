"""The workloads of a crash, and the ledger that is held against what the engine has afterwards.

A client's transactions are drawn from the seed, its number and theirs, so that a count of those
that were acknowledged says what every row must be. Each inserts rows of its own; in
`transactions` it also updates rows that stood there before, of which no other client has any.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dyno.driver.plan import Session
from dyno.engines import Ask

#: Rows that stand before the first transaction, and those of a statement that inserts them.
ROWS, BATCH = 4000, 500
#: Bytes that make a row wide, so that rows spread over many pages.
FILLER = "x" * 150
#: What no transaction has, as the number of the last one in a row that stood before.
NONE = -1
#: So many are named of each kind of loss.
SHOWN = 5


@dataclass(frozen=True)
class CrashWorkload:
    """How many rows a transaction inserts at most, and how many it updates."""

    summary: str
    inserts: int
    updates: int


WORKLOADS = {
    "inserts": CrashWorkload("one row a commit", 1, 0),
    "transactions": CrashWorkload("one to four new rows and two updates a commit", 4, 2),
}


@dataclass(frozen=True)
class Transaction:
    """A transaction of a client: rows that it inserts, and keys of those that it updates."""

    client: int
    number: int
    inserted: int
    updated: tuple[int, ...]

    def list_statements(self) -> list[str]:
        first = (self.client * 100_000_000 + self.number) * 10
        inserts = [
            f"INSERT INTO crash_ledger VALUES ({first + part}, {self.client}, {self.number},"
            f" '{FILLER}')"
            for part in range(self.inserted)
        ]
        updates = [
            f"UPDATE crash_rows SET number = {self.number} WHERE id = {row}" for row in self.updated
        ]
        return inserts if len(inserts + updates) == 1 else ["BEGIN", *inserts, *updates, "COMMIT"]

    def __str__(self) -> str:
        return f"commit {self.number} of client {self.client}"


@dataclass(frozen=True)
class CrashLedger:
    """Whose transactions are played: `acknowledged` and `asked` have how many of each client."""

    workload: str
    seed: str
    clients: int
    acknowledged: Mapping[int, int] = field(default_factory=dict)
    asked: Mapping[int, int] = field(default_factory=dict)

    def draw(self, client: int, number: int) -> Transaction:
        drawn, kind = random.Random(f"{self.seed}/{client}/{number}"), WORKLOADS[self.workload]
        own = range(client, ROWS, self.clients)
        return Transaction(
            client, number, drawn.randint(1, kind.inserts), tuple(drawn.sample(own, kind.updates))
        )

    def check(self, inserted: Mapping[tuple[int, int], int], rows: Mapping[int, int]) -> LedgerGaps:
        """Hold what the engine has against what it acknowledged: `inserted` counts the rows of each
        client's transaction, `rows` has the last transaction of each row that stood before.
        """
        gaps, expected = LedgerGaps(), dict.fromkeys(range(ROWS), NONE)
        for client in range(self.clients):
            last = max((number for of, number in inserted if of == client), default=NONE)
            for number in range(self.asked[client]):
                made = self.draw(client, number)
                found = inserted.get((client, number), 0)
                is_asked_for = number < self.acknowledged[client]
                if found == 0 and is_asked_for:
                    gaps.lost.append(str(made))
                    gaps.passed_count += number < last
                elif found not in (0, made.inserted):
                    told = f"{made}: {found} of {made.inserted} rows"
                    (gaps.torn if found < made.inserted else gaps.unknown).append(told)
                if found or is_asked_for:
                    expected |= dict.fromkeys(made.updated, number)
        gaps.unknown += [
            f"commit {number} of client {client}"
            for client, number in inserted
            if number >= self.asked.get(client, 0)
        ]
        kept = WORKLOADS[self.workload].updates > 0
        self._check_rows(gaps, rows, expected if kept else {}, {*inserted})
        return gaps

    def _check_rows(
        self,
        gaps: LedgerGaps,
        rows: Mapping[int, int],
        expected: Mapping[int, int],
        inserted: set[tuple[int, int]],
    ) -> None:
        """A row of a lost transaction says no more than that one; any other is torn from it."""
        for row, number in expected.items():
            client, found = row % self.clients, rows.get(row)
            if found is None:
                gaps.torn.append(f"row {row} is gone, which stood before")
            elif found < number and (client, number) in inserted:
                gaps.torn.append(f"commit {number} of client {client}: row {row} has {found}")
            elif found > number:
                gaps.torn.append(f"commit {found} of client {client}: row {row} alone has it")


@dataclass
class LedgerGaps:
    """What is missing of an engine's commits, each by name; `passed_count` of the lost are of a
    client of which a later one is there.
    """

    lost: list[str] = field(default_factory=list)
    passed_count: int = 0
    torn: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def load_tables(ask: Ask, session: Session) -> None:
    """Make the tables, with the rows that stand before."""
    statements = [
        "CREATE TABLE crash_ledger (id BIGINT PRIMARY KEY, client INTEGER NOT NULL,"
        " number INTEGER NOT NULL, filler VARCHAR(200) NOT NULL)",
        "CREATE TABLE crash_rows (id INTEGER PRIMARY KEY, number INTEGER NOT NULL,"
        " filler VARCHAR(200) NOT NULL)",
    ]
    for begin in range(0, ROWS, BATCH):
        listed = ", ".join(f"({row}, {NONE}, '{FILLER}')" for row in range(begin, begin + BATCH))
        statements.append(f"INSERT INTO crash_rows VALUES {listed}")
    ask(session, statements)


def read_tables(ask: Ask, session: Session) -> tuple[dict[tuple[int, int], int], dict[int, int]]:
    """Read what `check` takes; `TrialFailed` where the engine cannot read its tables."""
    inserted, rows = ask(
        session,
        [
            "SELECT client, number, COUNT(*) FROM crash_ledger WHERE filler <> ''"
            " GROUP BY client, number",
            "SELECT id, number FROM crash_rows WHERE filler <> ''",
        ],
    )
    counts = {(client, number): held for client, number, held in _convert(inserted)}
    return counts, {key: number for key, number in _convert(rows)}  # noqa: C416


def _convert(rows: Sequence[Sequence[str | None]]) -> list[tuple[int, ...]]:
    return [tuple(int(value or NONE) for value in row) for row in rows]
