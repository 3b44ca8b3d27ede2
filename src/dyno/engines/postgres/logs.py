"""What PostgreSQL's logs of all forms have in common (manual, "Error Reporting and Logging"): their
messages, and the statements in these.

Statements are logged by `log_statement` when they arrive, or by `log_min_duration_statement` when
they have ended, with their duration: they began that much earlier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from dyno.engines.postgres.pgaudit import AUDIT, BESIDE, BESIDE_AUDITS, AuditEntries
from dyno.errors import UsageError
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.logs import (
    ABSURD,
    DURATION_MOST_S,
    NO_TIME,
    TIME_MOST_S,
    LogEntry,
    Reasons,
    count_parameters,
    parse_number,
)
from dyno.workloads.replay.statements import Dialect

QUOTING = Quoting(dollars=True, backslashes=False, names_in_double=True)
DIALECT = Dialect(QUOTING, ("information_schema", "pg_catalog"))


#: What logs statements.
LOGS_ALL = "log_statement=all, log_min_duration_statement=0, or pgaudit.log=all"
TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)(?: ([A-Z]{2,5}|[+-]\d\d))?")
_EPOCH = re.compile(r"\d{9,11}\.\d{3}")
#: What a statement begins with.
_VERBS = (
    "SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|VALUES|TABLE|SHOW|SET|RESET|BEGIN|START|COMMIT|END|"
    "ROLLBACK|ABORT|SAVEPOINT|RELEASE|DECLARE|FETCH|MOVE|CLOSE|CALL|DO|COPY|LOCK|EXPLAIN|ANALYZE|"
    "VACUUM|CREATE|ALTER|DROP|TRUNCATE|REFRESH|LISTEN|UNLISTEN|NOTIFY|DISCARD|DEALLOCATE|PREPARE|"
    "EXECUTE|COMMENT|REINDEX|CLUSTER"
)
_BEGINS = rf"[\s(]*+(?:/\*|--|(?i:{_VERBS})\b)"
#: What a statement's message begins with; the statement follows. The name of a prepared one may
#: have colons in it, with a space behind them, too.
STATEMENT = re.compile(
    r"(?:[0-9A-Z]{5}: )?(?:duration: ([\d.]+) ms  )?"
    rf"(statement|execute (?:[^\n]*?(?=: {_BEGINS})|[^\n]*?)): "
)
#: The same in the languages that servers are set to.
_TRANSLATED = re.compile(
    r"(?:(?:Dauer|durée|duración|durata|duração|продолжительность|持続時間|执行时间|執行時間)[^\n]*?)?"
    r"(?:Anweisung|instruction|sentencia|istruzione|comando|оператор|выполнение|文|语句|陈述)"
    r"\s?[:：] "
)
_PARAMETERS = re.compile(r"^(?:P|p)arameters: (.*)$", re.DOTALL)
_VALUE = re.compile(r"\$(\d+) = (?:'((?:[^']++|'')*+)'|(NULL))")
#: What stands behind a value that was cut.
_CUT = "..."
CUT = "with a value that ends in '...': log_parameter_max_length may have cut it"
WITHOUT_VALUES = "without the values of their parameters (log_parameter_max_length=0)"


class Message(NamedTuple):
    """What any of the forms says of one message; `letters` and `lost` as of an `LogEntry`."""

    line: int
    time: str
    session: str
    database: str
    severity: str
    text: str
    letters: int = 0
    detail: str = ""
    lost: str = ""
    user: str = ""


#: Hours before UTC of the zones that servers write (`log_timezone`), by PostgreSQL's abbreviations.
#: What several zones of the world are called stands here where its summer time has a name of its
#: own, by which its log is known: CST with CDT, BST with GMT.
_HOURS = {
    **{"UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "MET": 1},
    **{"MEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "SAST": 2, "JST": 9, "KST": 9, "AWST": 8},
    **{"ACST": 9.5, "ACDT": 10.5, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13, "NST": -3.5},
    **{"NDT": -2.5, "AST": -4, "ADT": -3, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7},
    **{"MDT": -6, "PST": -8, "PDT": -7, "AKST": -9, "AKDT": -8, "HST": -10},
}
_OFFSET = re.compile(r"<?([+-])(\d\d):?(\d\d)?:?(\d\d)?>?")


def parse_seconds(text: str) -> float | None:
    """Return a line's time in seconds since 1970, None if it is invalid; an unknown zone counts as
    UTC.
    """
    if text[10:11] == " ":
        fraction, _, zone = text[19:].partition(" ")
        second, part = _parse_second(text[:19]), parse_number(fraction or "0", 1.0)
        if second is None or part is None:
            return None
        return second + part - (parse_zone(zone) or 0.0)
    return parse_number(text, TIME_MOST_S) if _EPOCH.fullmatch(text) else None


@lru_cache(maxsize=64)
def parse_zone(zone: str) -> float | None:
    """Seconds before UTC; None of a name that is not known, 0 without one."""
    if found := _OFFSET.fullmatch(zone):
        hours, minutes, seconds = (int(it or 0) for it in found.groups()[1:])
        return (-1 if found[1] == "-" else 1) * (3600.0 * hours + 60 * minutes + seconds)
    hours_before = _HOURS.get(zone) if zone else 0
    return None if hours_before is None else 3600.0 * hours_before


class _Zones:
    """The zones of a log's times: an unknown one may be the only one, since it shifts all alike."""

    def __init__(self) -> None:
        self._seen = set[str]()

    def check(self, message: Message) -> None:
        """Raise `UsageError` for an unknown zone beside another."""
        zone = message.time[19:].partition(" ")[2]
        if zone in self._seen:
            return
        self._seen.add(zone)
        unknown = sorted(it for it in self._seen if parse_zone(it) is None)
        if unknown and len(self._seen) > 1:
            raise UsageError(
                f"line {message.line}: the time zone '{unknown[0]}' is not known",
                cause=f"the log has times of {' and '.join(sorted(filter(None, self._seen)))}",
                hint="write its offset in its place (+05:30), or log with log_timezone='UTC'",
            )


@lru_cache(maxsize=64)
def _parse_second(text: str) -> float | None:
    try:
        at = datetime.strptime(text, "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None
    # a day's offset of its zone may be taken off
    second = at.replace(tzinfo=UTC).timestamp()
    return second if 86400 <= second < TIME_MOST_S - 86400 else None


def _parse_values(detail: str) -> tuple[str | None, ...]:
    found = _PARAMETERS.match(detail)
    if found is None:
        return ()
    return tuple(
        None if value[3] else value[2].replace("''", "'") for value in _VALUE.finditer(found[1])
    )


class _Values:
    """Which values were cut: the longest that was not shows how long a value may be."""

    def __init__(self) -> None:
        self._longest = 0

    def explain_lost(self, values: tuple[str | None, ...]) -> str:
        """Return why these cannot be played, or ""."""
        has_cut = False
        for value in filter(None, values):
            size = len(value) if value.isascii() else len(value.encode(errors="surrogateescape"))
            if not value.endswith(_CUT):
                self._longest = max(self._longest, size)
            elif size - len(_CUT) >= self._longest:
                has_cut = True
        return CUT if has_cut else ""


class _Fetched:
    """Prepared statements that sessions have executed: of a log of slow statements only the fetch
    may be there.
    """

    def __init__(self) -> None:
        self._names = dict[str, set[str]]()

    def has_read(self, session: str, what: str) -> bool:
        """Return whether this only fetches from what was read."""
        if what == "statement":
            return False
        names = self._names.setdefault(session, set())
        name = what.removeprefix("execute ").removeprefix("fetch from ")
        has_read = what.startswith(_FETCHES) and name in names
        if len(names) >= NAMES:
            names.clear()
        names.add(name)
        return has_read


#: Names that are remembered of a session, to know fetches.
NAMES = 100


def is_statement(text: str) -> bool:
    """Return whether a message says what a client sent."""
    return text.startswith(AUDIT) or bool(STATEMENT.match(text))


def read_entries(
    messages: Iterable[Message], unread: Reasons, notes: Reasons
) -> Iterator[LogEntry]:
    cut, zones, fetched, latest_s = _Values(), _Zones(), _Fetched(), 0.0
    audits, is_audited = AuditEntries(QUOTING), None
    for message in messages:
        if message.severity != "LOG":
            continue
        zones.check(message)
        found = STATEMENT.match(message.text)
        if found is None and not message.text.startswith(AUDIT):
            if _TRANSLATED.match(message.text):
                why = "a statement in another language than C"
                unread.add(why, message.line, hint="set lc_messages='C', and log again")
            continue
        if is_audited is None:
            is_audited = found is None
        if found is None or is_audited:
            latest_s = parse_seconds(message.time) or latest_s
            if found is None and is_audited:
                found_at = (message.session, message.text, message.line, (), message.database)
                more = (0.0, message.letters, message.lost, message.user)
                yield from audits.read(LogEntry(latest_s, *found_at, *more), unread)
            else:
                unread.add(BESIDE_AUDITS if is_audited else BESIDE, message.line)
            continue
        at_s, duration_ms = parse_seconds(message.time), parse_number(found[1] or "0", _LONGEST_MS)
        if at_s is None:
            notes.add(NO_TIME, message.line)
        if duration_ms is None:
            notes.add(ABSURD, message.line)
        if fetched.has_read(message.session, found[2]):
            unread.add(FETCHED, message.line)
            continue
        latest_s, duration_s = at_s or latest_s, (duration_ms or 0.0) / 1000
        began_s = latest_s - duration_s
        values: tuple[str | None, ...] = ()
        sql, lost = message.text[found.end() :], message.lost
        if found[2] != "statement":
            values = _parse_values(message.detail) if message.detail else ()
            lost = lost or cut.explain_lost(values)
            if not lost and len(values) < _count_parameters(sql):
                lost = WITHOUT_VALUES
        place = (message.session, sql, message.line)
        database, letters, user = message.database, message.letters, message.user
        yield LogEntry(began_s, *place, values, database, duration_s, letters, lost, user)


#: A client asks for more rows of a statement that it has executed.
_FETCHES, FETCHED = (
    "execute fetch from ",
    "a fetch of more rows of a statement that is read already",
)
_LONGEST_MS = DURATION_MOST_S * 1000
_count_parameters = lru_cache(maxsize=1 << 10)(count_parameters)
