"""MySQL's and MariaDB's general log and slow log (Reference Manual, "The General Query Log", "The
Slow Query Log"), as 5.5 and later write them to a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from dyno.workloads.replay.logs import Gathered, Lines, Log, LogEntry, Reasons
from dyno.workloads.replay.statements import Dialect
from dyno.workloads.replay.tokens import Quoting

SCHEMAS = ("information_schema", "performance_schema", "mysql", "sys")
QUOTING = Quoting(dollars=False, backslashes=True, names_in_double=False)
DIALECT = Dialect(QUOTING, SCHEMAS, "USE `{}`")
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
_OLD = r"\d{6}\s+\d{1,2}:\d\d:\d\d"
#: Time (in old logs only where it is a new second), number of the session, command, argument.
_GENERAL = re.compile(
    rf"^(?:({_ISO})|({_OLD})|\t)\s*\t?\s*(\d+) ([A-Z][A-Za-z]*(?: [A-Za-z]+)*)(?:\t(.*))?$"
)
_HEADER = re.compile(r"^(?:Time +Id +Command +Argument|Tcp port: .*|.*, Version: .*started with:)")
#: Commands that hold SQL; `Prepare` only announces what `Execute` repeats with its values.
_SQL = ("Query", "Execute")


def _parse_seconds(text: str) -> float:
    if text[-1] == "Z" and text[19:20] == ".":
        return _parse_second(f"{text[:19]}Z") + float(text[19:-1])
    return _parse_second(text)


@lru_cache(maxsize=64)
def _parse_second(text: str) -> float:
    if "T" in text:
        return datetime.fromisoformat(text).timestamp()
    day, time = text.split()
    at = datetime.strptime(f"{day} {time}", "%y%m%d %H:%M:%S")
    return at.replace(tzinfo=UTC).timestamp()


class GeneralLog:
    """Each statement as it arrived."""

    kind = "MySQL's general log"
    written_by = "general_log=ON"

    def knows(self, head: Sequence[str]) -> bool:
        """Is a line of its own among the first?"""
        return any(_GENERAL.match(line) for line in head)

    def read(self, path: Path, limit: int) -> Log:
        """All statements, in the order of the file."""
        unread = Reasons()
        return Log(self.kind, DIALECT, _read_general_log(path, limit, unread), unread)


def _read_general_log(path: Path, limit: int, unread: Reasons) -> Iterator[LogEntry]:
    # what stands before the first time of an old log, which was cut there, is of that time
    at_s = _find_first_time(path, _GENERAL)
    databases: dict[str, str] = {}
    lines, text = Lines(path, limit), Gathered(limit)
    entry: LogEntry | None = None
    for number, line in lines:
        found = _GENERAL.match(line)
        if found is None:
            if entry is not None and not _HEADER.match(line):
                text.add(line, lines.cut)
                continue
            if line.strip() and number > 3 and not _HEADER.match(line):
                unread.add("a line without a statement before it", number)
        if entry is not None:
            yield entry if text.is_line else text.put_into(entry)
            entry = None
        if found is None:
            continue
        iso, old, session, command, rest = found.groups("")
        if iso or old:
            at_s = _parse_seconds(iso or old)
        if command == "Init DB":
            databases[session] = rest
            command, rest = "Query", f"USE `{rest}`"
        elif command == "Connect":
            connected = re.search(r" on (\S+)", rest)
            databases[session] = connected[1] if connected and connected[1] != "using" else ""
        if command in _SQL:
            entry = LogEntry(at_s, session, rest, number, (), databases.get(session, ""))
            text.begin(rest, lines.cut)
    if entry is not None:
        yield text.put_into(entry)


def _find_first_time(path: Path, form: re.Pattern[str]) -> float:
    """The first time that a log says, 0 where it says none."""
    for _, line in Lines(path, 1 << 10):
        if (found := form.match(line)) and (said := next(filter(None, found.groups()[:2]), None)):
            return _parse_seconds(said)
    return 0.0


#: Lines of an entry's head, and characters of each: more are not a server's.
HEADS, HEAD = 64, 1 << 12
_TIME = re.compile(rf"^# Time: (?:({_ISO})|({_OLD}))")
#: What a head begins with.
_BEGINS = ("# Time: ", "# User@Host: ")
_USER = re.compile(r"^# User@Host: (\S+) .*?(?:Id:\s*(\d+))?\s*$")
_THREAD = re.compile(r"^# Thread_id: (\d+)\s+Schema: (\S*)")
_QUERY = re.compile(r"^# Query_time: ([\d.]+)")
_STAMP = re.compile(r"^SET timestamp=(\d+(?:\.\d+)?);$", re.IGNORECASE)
_USE = re.compile(r"^use `?([^`;]+)`?;$", re.IGNORECASE)


class SlowLog:
    """Each statement when it had ended, with its time; begun that much earlier."""

    kind = "MySQL's slow log"
    written_by = "slow_query_log=ON and long_query_time=0"

    def knows(self, head: Sequence[str]) -> bool:
        """Is a head of an entry among the first lines?"""
        return any(_QUERY.match(line) for line in head)

    def read(self, path: Path, limit: int) -> Log:
        """All statements, in the order in which they ended."""
        unread = Reasons()
        return Log(self.kind, DIALECT, _read_slow_log(path, limit, unread), unread)


def _read_slow_log(path: Path, limit: int, unread: Reasons) -> Iterator[LogEntry]:
    at_s, database_of = _find_first_time(path, _TIME), dict[str, str]()
    for number, heads, body in _read_records(path, limit):
        session, duration_s = "", 0.0
        for head in heads:
            if time := _TIME.match(head):
                at_s = _parse_seconds(time[1] or time[2])
            elif user := _USER.match(head):
                session = user[2] or user[1]
            elif thread := _THREAD.match(head):
                session = thread[1]
                database_of[session] = thread[2]
            elif query := _QUERY.match(head):
                duration_s = _parse_number(query[1])
        if body.stamp_s and abs(at_s - body.stamp_s) >= 1 + duration_s:
            at_s = body.stamp_s
        if body.used:
            database_of[session] = body.used
        text, letters = body.text.end()
        text = text.strip()
        if not text or not session:
            unread.add("an entry without a statement or a session", number)
            continue
        database = database_of.get(session, "")
        yield LogEntry(at_s - duration_s, session, text, number, (), database, duration_s, letters)


def _parse_number(text: str) -> float:
    """A duration, 0 where a writer was interrupted in it."""
    try:
        return float(text)
    except ValueError:
        return 0.0


class _Body:
    """Lines of an entry without `#`: those of the log itself, and the statement."""

    def __init__(self, limit: int) -> None:
        self.text = Gathered(limit)
        self.stamp_s, self.used, self.is_empty = 0.0, "", True

    def add(self, line: str, cut: int) -> None:
        """One more line."""
        if not cut and (stamp := _STAMP.match(line)):
            self.stamp_s = float(stamp[1])
        elif not cut and self.text.letters == 0 and (use := _USE.match(line)):
            self.used = use[1]
        else:
            self.text.add(line, cut)
        self.is_empty = False


def _read_records(path: Path, limit: int) -> Iterator[tuple[int, list[str], _Body]]:
    """Entries: where each begins, its lines with `#`, those without."""
    first, heads, body = 1, list[str](), _Body(limit)
    lines = Lines(path, limit)
    for number, line in lines:
        # a statement may have comments of its own
        is_own = line.startswith("#" if body.is_empty else _BEGINS)
        is_other = line.startswith("# administrator command:") or bool(_HEADER.match(line))
        if is_own or is_other:
            if not body.is_empty:
                yield first, heads, body
                heads, body = [], _Body(limit)
            if is_other:
                heads = []
                continue
            first = first if heads else number
            if len(heads) < HEADS:
                heads.append(line[:HEAD])
        elif heads:
            body.add(line, lines.cut)
    if not body.is_empty:
        yield first, heads, body


LOG_READERS = (GeneralLog(), SlowLog())
