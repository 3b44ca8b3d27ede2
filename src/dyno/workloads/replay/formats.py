"""Which kind of log a file is, by its first lines: the engines' readers are asked in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from dyno.errors import UsageError
from dyno.plugins import load_things
from dyno.workloads.replay.lines import LogFile
from dyno.workloads.replay.logs import LIMIT, Log, LogEntry

#: Lines by which a log is known, and characters of each.
LOOKED_AT, LINE = 500, 1 << 16


class LogReader(Protocol):
    """Reads logs of one kind; `kind` in words, `written_by` what makes a server write one."""

    kind: str
    written_by: str

    def knows(self, head: Sequence[str]) -> bool:
        """Is it of this kind, by its first lines?"""

    def read(self, file: LogFile, limit: int) -> Log:
        """All statements in the order of the log, those over `limit` characters cut; `UsageError`
        (while they are read) where a replay is lost.
        """


def read_log(file: LogFile, limit: int = LIMIT) -> Log:
    """The log in a file, of whose statements those over `limit` characters are cut.

    `UsageError` where it is none that is known here; and, once it was read, where it has no
    statement.
    """
    path = file.path
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as opened:
            head = [opened.readline(LINE).rstrip("\r\n") for _ in range(LOOKED_AT)]
    except OSError as error:
        cause = (error.strerror or "").lower()
        raise UsageError(f"cannot read the log {path}", cause=cause, hint="--log FILE") from None
    readers: list[LogReader] = [
        reader for own in load_things("dyno.engines", "LOG_READERS").values() for reader in own
    ]
    if not any(line.strip() for line in head):
        raise UsageError(f"the log {path} is empty", hint=_format_readers(readers))
    for reader in readers:
        if reader.knows(head):
            return _read_whole(reader, file, limit)
    cause = f"line 1 is '{head[0][:60]}'"
    raise UsageError(
        f"{path} is not a log that Dyno knows", cause=cause, hint=_format_readers(readers)
    )


def _format_readers(readers: list[LogReader]) -> str:
    return "; ".join(f"{reader.kind}: {reader.written_by}" for reader in readers)


def _read_whole(reader: LogReader, file: LogFile, limit: int) -> Log:
    if file.prefix and "log_line_prefix" not in reader.written_by:
        raise UsageError(
            f"--log-prefix does not apply to {file.path}",
            cause=f"it is {reader.kind}",
            hint="its lines have no prefix: leave --log-prefix out",
        )
    log = reader.read(file, limit)

    def read_entries() -> Iterator[LogEntry]:
        entry = None
        for entry in log.entries:
            yield entry
        if entry is None:
            hint = f"log statements with {reader.written_by}"
            cause = "; ".join(f"{why} ({left})" for why, left in log.unread.items())
            raise UsageError(f"no statements in {file.path}, {log.kind}", cause=cause, hint=hint)

    return replace(log, entries=read_entries())
