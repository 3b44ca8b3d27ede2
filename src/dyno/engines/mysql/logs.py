"""MySQL's and MariaDB's log files: SQL's dialect, times, lines that begin a file; and the general
log (Reference Manual, "The General Query Log"): each statement as it arrived, as 4.1 and later
write them to a file; and other output of the servers and of programs around them, which is no log
of statements to replay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from dyno.sql.tokens import Quoting
from dyno.workloads.replay.formats import Gathered, LogFile, RefusedLog
from dyno.workloads.replay.logs import NO_TIME, TIME_MOST_S, Log, LogEntry, Reasons
from dyno.workloads.replay.statements import Dialect

SCHEMAS = ("information_schema", "performance_schema", "mysql", "sys")
QUOTING = Quoting(dollars=False, backslashes=True, names_in_double=False)
DIALECT = Dialect(QUOTING, SCHEMAS, "USE `{}`")


ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
OLD = r"\d{6}\s+\d{1,2}:\d\d:\d\d"
#: What a server writes at the head of each file that it opens, at its start and by FLUSH LOGS.
_HEADER = re.compile(r"^(?:Time +Id +Command +Argument|Tcp port: .*|.*, Version: .*started with:)")

#: Commands of the protocol, as a general log names them.
_COMMANDS = (
    r"(?:Query|Execute|Prepare|Connect|Quit|Init DB|Close stmt|Reset stmt|Fetch|Long Data"
    r"|Field List|Statistics|Ping|Change user|Reset [Cc]onnection|Set option|Processlist|Kill"
    r"|Bulk_execute|Create DB|Drop DB|Refresh|Shutdown|Debug|Time|Sleep|Error|Daemon|Clone"
    r"|Delayed insert|Delayed_insert|Connect Out|Table Dump|Slave_\w+|Register (?:Slave|Replica)"
    r"|Binlog Dump(?: GTID)?|Unimpl\w*|Com_multi|<unknown>)"
)
#: An entry's time, the number of its session, its command and the argument. Before 5.7, and in
#: MariaDB, a time stands only where the second is a new one; up to 5.0 spaces pad the command.
TIMED = re.compile(rf"^(?:({ISO})[\t ] *|({OLD})[\t ]\s*)(\d+) ({_COMMANDS})(?:(\t| +)(.*))?$")
UNTIMED = re.compile(
    rf"^(?:\t\t| {{13,17}}\t?)(?=[ \d]{{5}})( *\d+) ({_COMMANDS})(?:(\t| +)(.*))?$"
)
#: The head of a slow log's entry.
HEAD = re.compile(r"^# (?:Time: |User(?:@Host)?: |Query_time: |Thread_id: |Txn_start_ts: )")


def is_header_line(line: str) -> bool:
    """Return whether it is one of the three lines at the head of a file."""
    # a statement may be long, and the pattern would go through it
    may_be = line.startswith(("Time ", "Tcp port: ")) or "started with:" in line
    return may_be and bool(_HEADER.match(line))


def find_kind(head: Sequence[str]) -> Literal["general", "slow", ""]:
    """Return which of the two logs the first lines are of; "" for neither."""
    for line in head:
        if HEAD.match(line):
            return "slow"
        if TIMED.match(line) or UNTIMED.match(line):
            return "general"
    return ""


def parse_seconds(text: str) -> float | None:
    """A time of either form, in seconds since 1970; None of one that cannot be."""
    if text[-1] == "Z" and text[19:20] == ".":
        second = _parse_second(f"{text[:19]}Z")
        return None if second is None else second + float(text[19:-1])
    return _parse_second(text)


@lru_cache(maxsize=64)
def _parse_second(text: str) -> float | None:
    try:
        if "T" in text:
            at = datetime.fromisoformat(text)
        else:
            at = datetime.strptime(" ".join(text.split()), "%y%m%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return at.timestamp() if 0 <= at.timestamp() < TIME_MOST_S else None


def find_first(file: LogFile, form: re.Pattern[str]) -> re.Match[str] | None:
    """Return the first line of this form, whose two groups are the times."""
    return next((it for _, line in file.read_lines(1 << 12) if (it := form.match(line))), None)


def parse_first(found: re.Match[str] | None) -> float:
    return (parse_seconds(found[1] or found[2]) if found else None) or 0.0


class GeneralLog:
    """Each statement as it arrived."""

    kind = "MySQL's general log"
    written_by = "general_log=ON"

    def knows(self, head: Sequence[str]) -> bool:
        return find_kind(head) == "general"

    def read(self, file: LogFile, limit: int) -> Log:
        unread, notes = Reasons(), Reasons()
        entries = _read_general_log(file, limit, unread, notes)
        return Log(self.kind, DIALECT, entries, unread, notes, has_inner=True)


class _Command(NamedTuple):
    """A line that begins an entry; `time` is "" where the log does not repeat it."""

    time: str
    number: str
    name: str
    rest: str


class _Form:
    """How the lines of a log begin: since 5.7 with a time each; before, with one where the second
    is new, and up to 5.0 with spaces behind the command.
    """

    def __init__(self, first: re.Match[str] | None) -> None:
        self._is_old, self._has_tabs = True, True
        if first:
            self._learn(first)

    def _learn(self, timed: re.Match[str]) -> None:
        self._is_old = bool(timed[2])
        self._has_tabs = not (timed[5] or "\t").startswith(" ")

    def split(self, line: str) -> _Command | None:
        """Return what a line says; None if it continues a statement."""
        if line[:1].isdigit():
            found = TIMED.match(line)
            if found:
                self._learn(found)
                return _Command(found[1] or found[2], found[3], found[4], found[6] or "")
            return None
        found = UNTIMED.match(line) if self._is_old else None
        if found is None or (self._has_tabs and (found[3] or "\t").startswith(" ")):
            return None
        return _Command("", found[1].strip(), found[2], found[4] or "")


#: "app@localhost on shop using Socket", "app@localhost as anonymous on shop".
_CONNECTED = re.compile(r" on (.*?)(?: using \S.*)?$")
_USE = re.compile(r"\s*+use\s++`?([^`;\s](?:[^`;]*[^`;\s])?)`?[\s;]*+", re.IGNORECASE)


class _Sessions:
    """A log's sessions by their numbers. One that begins anew on the same connection (Change user,
    Reset Connection, a number that a restarted server gives again) is another one.
    """

    def __init__(self) -> None:
        self._names, self._times = dict[str, str](), Counter[str]()
        self.databases, self.users = dict[str, str](), dict[str, str]()

    def has_met(self, number: str) -> bool:
        return number in self._names

    def name(self, number: str) -> str:
        return self._names.get(number, number)

    def note(self, it: _Command) -> None:
        number = it.number
        if it.name in ("Connect", "Change user") or it.name.startswith("Reset "):
            if number in self._names:
                self._times[number] += 1
            times = self._times[number]
            self._names[number] = f"{number}/{times + 1}" if times else number
        self._names.setdefault(number, number)
        if it.name in ("Connect", "Change user"):
            connected = _CONNECTED.search(it.rest)
            self.databases[number] = connected[1] if connected else ""
            self.users[number] = it.rest.partition("@")[0]
        elif it.name == "Init DB":
            self.databases[number] = it.rest


_PREPARED = re.compile(
    r"\s*(?:(PREPARE)|(EXECUTE)|(?:DEALLOCATE|DROP)\s+PREPARE)\s+(`[^`]*`|\w+)", re.IGNORECASE
)


#: First letters of these, and spaces.
_BEGINS = frozenset("PEDpde \t\r\n")


class _PreparedInSql:
    """Statements prepared in SQL are logged twice: `Query EXECUTE p` and, where it ran, what it
    stands for as `Execute`. The latter is played, with its values in it.
    """

    def __init__(self) -> None:
        #: What waits, by session.
        self.held = dict[str, LogEntry]()
        self._names = set[tuple[str, str]]()

    def hold(self, entry: LogEntry) -> bool:
        """Return whether only the next line of its session says that this is a statement."""
        # most statements begin with another letter
        may_be = not entry.letters and entry.sql[:1] in _BEGINS
        if not may_be or not (found := _PREPARED.match(entry.sql)):
            return False
        if found[1] or found[2]:
            self.held[entry.session] = entry
            return True
        return (entry.session, found[3].strip("`").lower()) in self._names

    def follow(self, session: str, command: str) -> LogEntry | None:
        """Return the session's held entry, unless what follows repeats it."""
        entry = self.held.pop(session, None)
        found = _PREPARED.match(entry.sql) if entry else None
        if entry is None or found is None:
            return entry
        if found[1] and command == "Prepare":
            self._names.add((session, found[3].strip("`").lower()))
            return None
        if found[2] and command == "Prepare":  # EXECUTE IMMEDIATE
            self.held[session] = entry
            return None
        return None if found[2] and command == "Execute" else entry

    def end(self) -> Iterator[LogEntry]:
        yield from self.held.values()


def _read_general_log(
    file: LogFile, limit: int, unread: Reasons, notes: Reasons
) -> Iterator[LogEntry]:
    # what stands before the first time of an old log, which was cut there, is of that time
    first = find_first(file, TIMED)
    at_s, form = parse_first(first), _Form(first)
    sessions, prepared = _Sessions(), _PreparedInSql()
    lines, text = file.read_lines(limit), Gathered(limit)
    entry: LogEntry | None = None
    for number, line in lines:
        found = form.split(line)
        if found is None:
            if entry is not None and not is_header_line(line):
                text.add(line, lines.cut)
                continue
            if line.strip() and number > 3 and not is_header_line(line):
                unread.add("a line without a statement before it", number)
        if entry is not None:
            entry = entry if text.is_line else text.put_into(entry)
            if not prepared.hold(entry):
                yield entry
            entry = None
        if found is None:
            continue
        if found.time and (said_s := parse_seconds(found.time)) is not None:
            at_s = said_s
        elif found.time:
            notes.add(NO_TIME, number)
        if prepared.held and (held := prepared.follow(sessions.name(found.number), found.name)):
            yield held
        database = sessions.databases.get(found.number, "")
        sql: str | None = found.rest
        if found.name != "Query" or not sessions.has_met(found.number):
            sessions.note(found)
            sql = _find_sql(found, number, unread)
        if sql is not None:
            session = sessions.name(found.number)
            user = sessions.users.get(found.number, "")
            entry = LogEntry(at_s, session, sql, number, (), database, user=user)
            text.begin(sql, lines.cut)
            if sql[:8].lstrip()[:3].lower() == "use" and (use := _USE.fullmatch(sql)):
                sessions.databases[found.number] = use[1]
    if entry is not None:
        entry = text.put_into(entry)
        if not prepared.hold(entry):
            yield entry
    yield from prepared.end()


def _find_sql(it: _Command, number: int, unread: Reasons) -> str | None:
    """The SQL that a command holds; `Prepare` only announces what `Execute` repeats with its
    values.
    """
    if it.name in ("Query", "Execute"):
        return it.rest
    if it.name == "Init DB":
        return f"USE `{it.rest}`"
    if it.name in ("Bulk_execute", "Com_multi"):
        unread.add("a command whose values are not logged (Bulk_execute)", number)
    return None


_STATEMENTS = (
    "statements are logged with general_log=ON, or slow_query_log=ON and long_query_time=0"
)

REFUSED_LOGS = (
    RefusedLog("MySQL's binary log", re.compile("^\ufffebin|^\udcfebin"), _STATEMENTS),
    RefusedLog(
        "the output of mysqlbinlog, which has no reads",
        re.compile(r"^# at \d+$|PSEUDO_SLAVE_MODE|^BINLOG '"),
        _STATEMENTS,
    ),
    RefusedLog(
        "MySQL's error log",
        re.compile(
            r"^\d{4}-\d\d-\d\d[T ]\s*\d{1,2}:\d\d:\d\d\S* \d+ \[(?:Note|Warning|System|ERROR)\]"
        ),
        _STATEMENTS,
    ),
    RefusedLog(
        "the log of MariaDB's audit plugin",
        re.compile(r"^\d{8} \d\d:\d\d:\d\d,[^,]*,[^,]*,[^,]*,\d+,\d+,[A-Z_]+,"),
        _STATEMENTS,
    ),
    RefusedLog(
        "an audit log",
        re.compile(r"<AUDIT_RECORD|^\{\s*\"audit_record\"|\"class\": *\"(?:general|audit)\""),
        _STATEMENTS,
    ),
    RefusedLog(
        "a report of pt-query-digest",
        re.compile(r"^# Overall: [^,]* total, .* unique|^# Query 1: .* QPS"),
        "replay the log that it was made of",
    ),
    RefusedLog(
        "the output of mysqldumpslow",
        re.compile(r"^Count: \d+ +Time=[\d.]+s \("),
        "replay the log that it was made of",
    ),
)
