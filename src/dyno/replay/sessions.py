"""A log's statements in sessions and lanes: which of them are played, and on which connection.

Reads only: a transaction that holds a write is left out as a whole, since its reads may rest on
what it wrote. Sessions that follow each other share a connection (a *lane*) where they set the same
session variables, so that none plays under another's settings.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from dyno.replay.logs import Entry, Log
from dyno.replay.statements import Dialect, Statement, bare, read_statement

#: Places of statements of one kind that a report lists.
PLACES = 3


@dataclass
class LeftOut:
    """Statements that are not played: how many, and the lines of the first."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """One more."""
        self.count += 1
        if len(self.lines) < PLACES:
            self.lines.append(entry.line)


@dataclass(frozen=True)
class Played:
    """A statement to be played, `at_s` after the first of all."""

    at_s: float
    entry: Entry
    statement: Statement


@dataclass(frozen=True)
class Session:
    """One session's statements, and what it does to its own state, as texts in order."""

    played: tuple[Played, ...]
    state: tuple[str, ...]

    @property
    def span_s(self) -> tuple[float, float]:
        """From its first statement to the end of its last."""
        last = self.played[-1]
        return self.played[0].at_s, last.at_s + last.entry.duration_s


@dataclass(frozen=True)
class Selection:
    """What of a log is played: sessions, the database that they are in (one, or several that are
    changed by USE), and what is left out, by its reason.
    """

    sessions: tuple[Session, ...]
    left_out: dict[str, LeftOut]
    databases: tuple[str, ...]

    @property
    def count(self) -> int:
        """Statements that are played."""
        return sum(len(session.played) for session in self.sessions)

    @property
    def span_s(self) -> float:
        """From the first statement to the last."""
        return max((session.played[-1].at_s for session in self.sessions), default=0.0)

    def tables(self) -> Counter[str]:
        """The tables that are needed, and how many statements name each."""
        every = (it.statement.tables for session in self.sessions for it in session.played)
        return Counter(name for tables in every for name in tables)


def select(log: Log, writes: bool) -> Selection:
    """The statements of a log that are played."""
    left_out: dict[str, LeftOut] = defaultdict(LeftOut)
    by_session: dict[str, list[tuple[Entry, Statement]]] = defaultdict(list)
    for entry in log.entries:
        statement = read_statement(entry.sql, log.dialect)
        if statement.kind == "unknown":
            left_out[f"not understood: {statement.why}"].add(entry)
        elif statement.kind == "admin":
            left_out["for the server as a whole, never played"].add(entry)
        else:
            by_session[entry.session].append((entry, statement))
    databases = _databases(log)
    if len(databases) > 1:
        _into_databases(log.dialect, by_session, left_out)
    first_s = min((entry.at_s for entry in log.entries), default=0.0)
    chosen = [
        _session(_without_use(list(own), databases), first_s, left_out, writes)
        for own in by_session.values()
    ]
    sessions = _without_own_tables([each for each in chosen if each.played], left_out, writes, log)
    return Selection(tuple(sessions), dict(left_out), databases)


def _databases(log: Log) -> tuple[str, ...]:
    """The databases that sessions were in."""
    named = {entry.database for entry in log.entries if entry.database}
    for entry in log.entries:
        if read_statement(entry.sql, log.dialect).kind == "use":
            named.add(bare(entry.sql.split(None, 1)[1].strip(" ;")))
    return tuple(sorted(named))


def _into_databases(
    dialect: Dialect,
    by_session: dict[str, list[tuple[Entry, Statement]]],
    left_out: dict[str, LeftOut],
) -> None:
    """Brings each session into its database where there are several; where no statement can, only
    those of the one that has most statements are played.
    """
    counts = Counter(entry.database for own in by_session.values() for entry, _ in own)
    usual, _ = max(counts.items(), key=lambda each: (bool(each[0]), each[1]))
    for session, own in list(by_session.items()):
        first = own[0][0]
        if dialect.use and first.database:
            use = replace(first, sql=dialect.use.format(first.database), values=())
            by_session[session] = [(use, read_statement(use.sql, dialect)), *own]
        elif not dialect.use:
            others = [entry for entry, _ in own if entry.database not in ("", usual)]
            for entry in others:
                left_out[f"in other databases than {usual}"].add(entry)
            kept = [each for each in own if each[0].database in ("", usual)]
            by_session[session] = kept


def _without_use(
    own: list[tuple[Entry, Statement]], databases: Sequence[str]
) -> Iterator[tuple[Entry, Statement]]:
    """Without USE where all is in one database, which the copy is, whatever it is called."""
    return (each for each in own if each[1].kind != "use" or len(databases) > 1)


def _session(
    own: Iterable[tuple[Entry, Statement]],
    first_s: float,
    left_out: dict[str, LeftOut],
    writes: bool,
) -> Session:
    kept: list[Played] = []
    state: list[str] = []
    for group in _transactions(own):
        if not writes and any(statement.kind == "write" for _, statement in group):
            alone = len(group) == 1
            for entry, statement in group:
                reason = "that write" if statement.kind == "write" else "in transactions that write"
                left_out["that write" if alone else reason].add(entry)
            continue
        for entry, statement in group:
            kept.append(Played(entry.at_s - first_s, entry, statement))
            if statement.kind in ("state", "use"):
                state.append(statement.digest)
    if not any(it.statement.kind in ("read", "write") for it in kept):
        kept = []
    return Session(tuple(kept), tuple(dict.fromkeys(state)))


def _transactions(
    own: Iterable[tuple[Entry, Statement]],
) -> Iterator[list[tuple[Entry, Statement]]]:
    """Statements alone, and those of a transaction together: from BEGIN to its end, and where
    autocommit is off from end to end.
    """
    group: list[tuple[Entry, Statement]] = []
    is_open, is_manual = False, False
    for entry, statement in own:
        is_autocommit = statement.kind == "state" and "autocommit" in statement.digest.lower()
        if statement.kind == "begin" or is_autocommit:
            if group:
                yield group
            group = []
            is_open = statement.kind == "begin"
        if is_autocommit:
            is_manual = entry.sql.rstrip("; ").lower().endswith(("0", "off", "false"))
            yield [(entry, statement)]
            continue
        group.append((entry, statement))
        ended = statement.kind in ("commit", "rollback")
        if ended or not (is_open or is_manual):
            yield group
            group, is_open = [], False
    if group:
        yield group


def _without_own_tables(
    sessions: list[Session], left_out: dict[str, LeftOut], writes: bool, log: Log
) -> list[Session]:
    """Without reads of tables that the log itself makes, in statements that are left out."""
    if writes:
        return sessions
    made = {
        bare(name)
        for entry in log.entries
        if (statement := read_statement(entry.sql, log.dialect)).digest.startswith("CREATE ")
        for name in statement.tables
    }
    found = []
    for session in sessions:
        kept = []
        for it in session.played:
            if made.intersection(map(bare, it.statement.tables)):
                left_out["of tables that the log itself makes"].add(it.entry)
            else:
                kept.append(it)
        if kept:
            found.append(Session(tuple(kept), session.state))
    return found


def lanes(sessions: Sequence[Session]) -> list[list[Session]]:
    """Sessions on as few connections as they need: one after the other where they do not overlap
    and set the same variables.
    """
    found: list[list[Session]] = []
    free: dict[tuple[str, ...], list[tuple[float, int]]] = defaultdict(list)
    for session in sorted(sessions, key=lambda each: each.span_s):
        begin_s, end_s = session.span_s
        heap = free[session.state]
        if heap and heap[0][0] < begin_s:
            _, lane = heappop(heap)
            found[lane].append(session)
        else:
            lane = len(found)
            found.append([session])
        heappush(heap, (end_s, lane))
    return found
