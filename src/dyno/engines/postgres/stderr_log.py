"""PostgreSQL's log as stderr: lines whose prefix is the user's own (`log_line_prefix`), with a time
(%m, %t, %n) and a session (%c, or %p) in it. Lines that go on with a message begin with a tab.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from dyno.engines.postgres.dialect import DIALECT
from dyno.engines.postgres.log_prefix import (
    HINT,
    NOT_SHIPPED,
    TIME,
    PrefixReader,
    PrefixWords,
    Shipped,
    check_setting,
    try_setting,
)
from dyno.engines.postgres.logs import LOGS_ALL, STATEMENT, Message, read_entries
from dyno.engines.postgres.prefix_guess import guess_prefix
from dyno.workloads.replay.lines import Gathered, LogFile
from dyno.workloads.replay.logs import Log, Reasons

#: What stands between the prefix and the message.
_SEVERITIES = (
    *("LOG", "DETAIL", "ERROR", "FATAL", "PANIC", "WARNING", "NOTICE", "INFO", "HINT", "CONTEXT"),
    *("DEBUG", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5", "STATEMENT", "QUERY", "LOCATION"),
)
#: Lines by which the prefix is known, and how many have to be gone through for these.
SAMPLE, SAMPLED_LINES = 1000, 50_000
BROKEN = "followed by a line that is neither a message nor goes on with one: it may be a part"


class StderrLog:
    """Lines with a prefix; those that follow begin with a tab."""

    kind = "PostgreSQL's log (stderr)"
    written_by = f"{LOGS_ALL}, with %m and %p in log_line_prefix"

    def knows(self, head: Sequence[str]) -> bool:
        """Is a line with LOG among the first?"""
        return any((found := _split_line(line)) and found[1] == "LOG" for line in head)

    def read(self, file: LogFile, limit: int) -> Log:
        """All statements; `UsageError` where the prefix says no time or no session."""
        unread, notes = Reasons(), Reasons()
        messages = _join_messages(_read_stderr_log(file, limit, unread))
        return Log(self.kind, DIALECT, read_entries(messages, unread, notes), unread, notes)


def _split_line(line: str) -> tuple[str, str, str] | None:
    """Prefix, severity and message of a line; None where it goes on with a message."""
    end = line.find(":  ")
    while end >= 0:
        before = line[max(0, end - 9) : end]
        if before.endswith(_SEVERITIES):
            severity = "LOG"
            if not before.endswith(severity):
                severity = max((it for it in _SEVERITIES if before.endswith(it)), key=len)
            return line[: end - len(severity)], severity, line[end + 3 :]
        end = line.find(":  ", end + 1)
    return None


def _choose_reader(file: LogFile) -> PrefixReader | None:
    """The reader of the log's prefixes; None where it has no statement."""
    prefixes, every, by = list[str](), list[str](), NOT_SHIPPED
    lines = file.read_lines(1 << 12)
    for number, line in lines:
        found = None if line.startswith("\t") else _split_line(line)
        if found is not None:
            every.append(found[0])
            if found[1] == "LOG" and STATEMENT.match(found[2]):
                prefixes.append(found[0])
                by = Shipped(lines.at, lines.process)
        if len(prefixes) >= SAMPLE or number >= SAMPLED_LINES:
            break
    if file.prefix:
        return check_setting(file.prefix, prefixes, by)
    if file.likely_prefix and (reader := try_setting(file.likely_prefix, prefixes, by)):
        return reader
    return guess_prefix(prefixes, every, by) if prefixes else None


def _read_stderr_log(file: LogFile, limit: int, unread: Reasons) -> Iterator[Message]:
    reader = _choose_reader(file)
    lines, text = file.read_lines(limit), Gathered(limit)
    begun: tuple[int, str, str, str, str] | None = None
    lost = user = ""
    for number, line in lines:
        found = None if line.startswith("\t") else _split_line(line)
        if found is None:
            if begun is None:
                continue
            if line[:1] not in ("\t", ""):
                unread.add("a line that is no message and goes on with none", number)
                lost = BROKEN
            text.add(line.removeprefix("\t"), lines.cut)
            continue
        if begun is not None:
            yield Message(*begun, *text.end(), lost=lost, user=user)
        prefix, severity, rest = found
        by = Shipped(lines.at, lines.process) if lines.at else NOT_SHIPPED
        words = reader.read(prefix, by) if reader is not None else None
        if words is None:
            # of a process that is no session, or damaged
            if severity == "LOG" and STATEMENT.match(rest):
                what = "session" if re.search(TIME, prefix) else "time"
                unread.add(f"a statement whose prefix has no {what}", number, prefix[:60], HINT)
                severity = ""
            words = PrefixWords("", "", "")
        time, session, database, user = words
        begun, lost = (number, time, session, database, severity), ""
        text.begin(rest, lines.cut)
    if begun is not None:
        yield Message(*begun, *text.end(), lost=lost, user=user)


#: Characters of messages that a DETAIL may follow, which stands a few lines behind them; what each
#: takes beside its text.
WAITING, MESSAGE = 8 << 20, 1000


def _join_messages(messages: Iterable[Message]) -> Iterator[Message]:
    """Messages with the DETAIL that follows them in the same session."""
    waiting, size = dict[str, Message](), 0
    for message in messages:
        if not message.session:
            if message.severity == "LOG":
                yield message
            continue
        before = waiting.pop(message.session, None)
        size -= len(before.text) + MESSAGE if before else 0
        if message.severity == "DETAIL" and before is not None:
            letters, lost = message.letters or before.letters, before.lost or message.lost
            yield before._replace(detail=message.text, letters=letters, lost=lost)
            continue
        if before is not None:
            yield before
        if message.severity == "LOG":
            waiting[message.session] = message
            size += len(message.text) + MESSAGE
            while size > WAITING:
                first = waiting.pop(next(iter(waiting)))
                size -= len(first.text) + MESSAGE
                yield first
    yield from waiting.values()
