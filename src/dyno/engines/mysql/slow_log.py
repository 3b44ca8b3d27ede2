"""MySQL's and MariaDB's slow log (Reference Manual, "The Slow Query Log"), Percona's and TiDB's
with what they add: each statement when it had ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dyno.engines.mysql.logs import (
    DIALECT,
    ISO,
    OLD,
    find_first,
    find_kind,
    is_header_line,
    parse_first,
    parse_seconds,
)
from dyno.workloads.replay.formats import Gathered, LogFile
from dyno.workloads.replay.logs import (
    ABSURD,
    AS_WRITTEN,
    DURATION_MOST_S,
    NO_TIME,
    TIME_MOST_S,
    LeftOutStatements,
    Log,
    LogEntry,
    Reasons,
    parse_number,
)

#: Lines of an entry's head, and characters of each: more are not a server's.
HEADS, HEAD = 64, 1 << 12
_TIME = re.compile(rf"^# Time: (?:({ISO})|({OLD}))(?:\.\d*)?(?:\s|$)")
_USER = re.compile(
    r"^# (?:Time: [^#]*+# )?User(?:@Host)?: ([^\[]*+\[[^]]*+\]) @ ([^\[]*+\[[^]]*+\])"
    r"(?:\s++Id:\s*+(\d++))?+\s*+$"
)
#: Other lines that a head may begin with.
_FIRST = re.compile(
    r"^# (?:Time: \S+ +\d+:\d\d:\d\d|Thread_id: \d+ |Query_time: [\d.]+ +Lock_time: )"
)
_THREAD = re.compile(r"\bThread_id: (\d+)")
_SCHEMA = re.compile(r"\bSchema: (\S*+(?:\s++(?!\w++: )\S++)*+)")
_CONNECTION = re.compile(r"^# Conn_ID: (\d+)")
_DATABASE = re.compile(r"^# DB: (.*\S|)\s*+$")
_QUERY = re.compile(
    r"^# Query_time: ([\d.]+)(?:\s++Lock_time: \S++\s++Rows_sent: (\d{1,18})"
    r"\s++Rows_examined: (\d{1,18}))?"
)
_SAMPLED = re.compile(r"\bLog_slow_rate_limit: (\d+)")
#: Lines of the log itself before a statement, in this order.
_USE = re.compile(r"^use `?((?:[^`;]|``)+)`?;$", re.IGNORECASE)
_STAMP = re.compile(
    r"^SET (?:last_insert_id=\d+,)?(?:insert_id=\d+,)?timestamp=(\d+(?:\.\d+)?);$", re.IGNORECASE
)
#: An entry on one line: its head, and what the log writes before a statement.
_JOINED = re.compile(
    r"(# Time: \S++(?: ++\d++:\S++)?+) ++(# User@Host: .{0,400}?)(?<! ) ++"
    r"(# Query_time: [\d.]++(?: ++\w++: \S++)*+)(?: ++(# (?!User@Host).{0,900}?)(?<! ))? ++"
    r"(use [^;]{1,200}+;)?+ *+(SET timestamp=[\d.]++;) *+(.+)$",
    re.IGNORECASE,
)
#: What a statement prepared in SQL needs: the log has its text with its values where it ran.
_PREPARES = re.compile(
    r"\s*(?:PREPARE\s+\S+\s+FROM|(?:DEALLOCATE|DROP)\s+PREPARE)\b", re.IGNORECASE
)
_COMMAND = re.compile(r"^# administrator command: ([^;]*);?$")
#: Seconds: a clock that is further away is an error of the log.
OFFSET_MOST_S = 26 * 3600.0

NO_NUMBER = (
    "entries without the number of their session (Id): all clients of one account at one host are "
    "played as one session, so their transactions may mix"
)
SAMPLED = (
    "entries of a sampled log (Log_slow_rate_limit: {0}): it holds one in {0} statements, so rate "
    "and concurrency are a share of the server's; --speed {0} plays as many a second"
)
REOPENED = (
    "lines say that the server opened the log anew: a session's number behind such a line is "
    "another session"
)
ONLY_SLOW = (
    "statements, none of which took less than {:g} s: if long_query_time was above 0, the log has "
    "the slow ones only, and so has the replay"
)
#: With long_query_time = 0 something is always faster.
SLOW_S = 0.01


class SlowLog:
    """Each statement when it had ended, with its time; begun that much earlier."""

    kind = "MySQL's slow log"
    written_by = "slow_query_log=ON and long_query_time=0"

    def knows(self, head: Sequence[str]) -> bool:
        return find_kind(head) == "slow"

    def read(self, file: LogFile, limit: int) -> Log:
        reading = _Reading()
        entries = reading.read(file, limit)
        return Log(self.kind, DIALECT, entries, reading.unread, reading.notes)


class _Body:
    """Lines of an entry behind its head: those of the log itself, and the statement."""

    def __init__(self, limit: int) -> None:
        self.text = Gathered(limit)
        self.stamp_s, self.used, self.command, self.is_empty = 0.0, "", "", True
        self.is_ended = False

    def add(self, line: str, cut: int) -> None:
        if not line.strip() and not self.text.letters:
            return  # between lines that were set apart by hand
        self.is_ended = line.endswith(";") or (self.is_ended and not line.strip())
        is_first = not cut and self.text.letters == 0
        self.is_empty = False
        if is_first and not self.stamp_s and (stamp := _STAMP.match(line)):
            self.stamp_s = parse_number(stamp[1], TIME_MOST_S) or 0.0
        elif is_first and not (self.stamp_s or self.used) and (use := _USE.match(line)):
            self.used = use[1].replace("``", "`")
        elif is_first and (command := _COMMAND.match(line)):
            self.command = command[1]
        else:
            self.text.add(line, cut)


@dataclass
class _Record:
    """An entry: where it begins, the lines of its head, and those behind; `is_header`: it is the
    beginning of a file instead.
    """

    line: int
    head: list[str]
    body: _Body
    is_header: bool = False


def _is_beginning(line: str, body: _Body) -> bool:
    """Return whether it is the first line of an entry's head. A statement may have comments of its
    own, and ends with a semicolon.
    """
    if not line.startswith("#"):
        return False
    user = _USER.match(line)
    is_first = body.is_ended and (user or _TIME.match(line) or _FIRST.match(line))
    return bool((user and user[3]) or is_first)


def _split_joined(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines, splitting an entry that a service wrote on one line."""
    for number, line in lines:
        if line.startswith("# Time: ") and (joined := _JOINED.match(line)):
            yield from ((number, it) for it in joined.groups() if it)
        else:
            yield number, line


def _read_records(file: LogFile, limit: int, unread: Reasons) -> Iterator[_Record]:
    it, lines = _Record(1, [], _Body(limit)), file.read_lines(limit)
    for number, line in _split_joined(lines):
        is_header = line[:1] != "#" and is_header_line(line)
        if line[:1] != "#" and not is_header:
            if it.head:
                it.body.add(line, lines.cut)
            elif line.strip():
                unread.add("a line without an entry's head (#) before it", number)
            continue
        is_head = not is_header and it.body.is_empty and not _COMMAND.match(line)
        # an entry without a head, or one of the three lines at a file's beginning
        is_other = it.body.is_ended and it.body.text.letters > 0 and bool(_COMMAND.match(line))
        if is_other or is_header or (not it.body.is_empty and _is_beginning(line, it.body)):
            if not it.body.is_empty:
                yield it
            it, is_head = _Record(number, [], _Body(limit)), True
        if is_header and "started with:" in line:
            yield _Record(number, [], _Body(limit), is_header)
        if is_other or is_header:
            continue
        if is_head:
            it.line = it.line if it.head else number
            if len(it.head) < HEADS:
                it.head.append(line[:HEAD])
        elif it.head:
            it.body.add(line, lines.cut)
        else:
            unread.add("a line without an entry's head (#) before it", number)
    if not it.body.is_empty:
        yield it


@dataclass
class _Said:
    number: str = ""
    account: str = ""
    database: str | None = None
    duration_s: float = 0.0
    is_internal: bool = False
    rows_sent: int | None = None
    rows_read: int | None = None


class _Reading:
    """A slow log that is read, and the state that its next entries depend on.

    `use` holds for the log until the next one, in any session's entries; a server that opens a log
    anew repeats it.
    """

    def __init__(self) -> None:
        self.unread, self.notes = Reasons(), Reasons()
        self._at_s, self._used = 0.0, ""
        self._opened = 0
        self._begun = dict[str, int]()
        self._shortest_s, self._read = float("inf"), LeftOutStatements()

    def read(self, file: LogFile, limit: int) -> Iterator[LogEntry]:
        self._at_s = parse_first(find_first(file, _TIME))
        has_entries = False
        for record in _read_records(file, limit, self.unread):
            if not record.is_header:
                has_entries = True
                if entry := self._read_record(record):
                    self._shortest_s = min(self._shortest_s, entry.duration_s)
                    if self._shortest_s >= SLOW_S:
                        self._read.add(entry.line)
                    yield entry
            elif has_entries:
                self._opened, self._used = self._opened + 1, ""
                self.notes.add(REOPENED, record.line)
        if self._read.count and self._shortest_s >= SLOW_S:
            self.notes[ONLY_SLOW.format(self._shortest_s)] = self._read

    def _read_record(self, record: _Record) -> LogEntry | None:
        said, body, line = self._read_head(record), record.body, record.line
        # times are the host's in old logs, and missing within a second; the stamp is when the
        # statement began
        offset_s = abs(self._at_s - body.stamp_s)
        is_near = offset_s < OFFSET_MOST_S or not self._at_s
        if body.stamp_s and offset_s >= 1 + said.duration_s and is_near:
            self._at_s = body.stamp_s
        self._used = body.used or self._used
        session = self._name_session(said, line)
        text, letters = body.text.end()
        text = text.strip()
        if body.command in ("Change user", "Reset Connection", "Reset connection"):
            self._begun[said.number] = self._begun.get(said.number, 0) + 1
        if (body.command and body.command != "Execute") or _PREPARES.match(text):
            return None
        if not text and body.used and not body.stamp_s:
            text = f"use `{body.used}`"
        if said.is_internal:
            self.unread.add("a statement of the server's own (Is_internal)", line)
        elif not text and not body.command:
            self.unread.add("an entry without a statement", line)
        elif not session:
            why = "an entry that names no session (# User@Host, Id or Thread_id)"
            self.unread.add(why, line, hint=AS_WRITTEN)
        else:
            database = self._used if said.database is None else said.database
            began_s, lost = self._at_s - said.duration_s, ""
            if body.command:
                lost = "that are logged without their text (administrator command: Execute)"
            elif not letters and text.endswith("];") and " [arguments: " in text:
                lost = "whose values stand behind them ([arguments: …])"
            duration_s = said.duration_s
            place = (began_s, session, text, line, (), database)
            user, rows = said.account.partition("[")[0], (said.rows_sent, said.rows_read)
            return LogEntry(*place, duration_s, letters, lost, user, *rows)
        return None

    def _name_session(self, said: _Said, line: int) -> str:
        if not (said.number or said.account):
            return ""
        if not said.number:
            self.notes.add(NO_NUMBER, line)
        name = said.number or said.account
        begun = self._opened + self._begun.get(said.number, 0)
        return f"{name}/{begun + 1}" if begun else name

    def _read_head(self, record: _Record) -> _Said:
        said = _Said()
        for line in record.head:
            if time := _TIME.match(line):
                said_s = parse_seconds(time[1] or time[2])
                self._at_s = self._at_s if said_s is None else said_s
                if said_s is None:
                    self.notes.add(NO_TIME, record.line)
            if "User" in line and (user := _USER.match(line)):
                said.number, said.account = user[3] or "", f"{user[1]} @ {user[2]}"
            elif query := _QUERY.match(line):
                # none where a writer was interrupted in it, or a clock was set back
                duration_s = parse_number(query[1], DURATION_MOST_S)
                if duration_s is None:
                    self.notes.add(ABSURD, record.line)
                said.duration_s = duration_s or 0.0
                if query[2]:
                    said.rows_sent, said.rows_read = int(query[2]), int(query[3])
            elif connection := _CONNECTION.match(line):
                said.number = connection[1]
            elif database := _DATABASE.match(line):
                said.database = database[1]
            elif line == "# Is_internal: true":
                said.is_internal = True
            if "Thread_id: " in line and (thread := _THREAD.search(line)):
                said.number = thread[1]
            if "Schema: " in line and not line.startswith("# explain"):
                schema = _SCHEMA.search(line)
                said.database = schema[1] if schema else said.database
            if "_limit: " in line and (sampled := _SAMPLED.search(line)) and int(sampled[1]) > 1:
                self.notes.add(SAMPLED.format(sampled[1]), record.line)
        return said
