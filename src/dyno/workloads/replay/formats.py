"""Which kind of log a file is, by its first lines: the engines' readers are asked in turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from dyno.errors import UsageError
from dyno.plugins import load_things
from dyno.workloads.replay.lines import LogFile
from dyno.workloads.replay.logs import LIMIT, Log, LogEntry
from dyno.workloads.replay.shippers import DEPTH, Unwrapping, find_shipper, split_tailed

#: Lines by which a log is known, and characters of each.
LOOKED_AT, LINE = 500, 1 << 16
#: Statements older than the one before are the rule in a log that is exported newest first.
DOWNS_MOST, BACKWARDS = 2, 4


class LogReader(Protocol):
    """Reads logs of one kind; `kind` in words, `written_by` what makes a server write one."""

    kind: str
    written_by: str

    def knows(self, head: Sequence[str]) -> bool:
        """Return whether it is of this kind, by its first lines."""

    def read(self, file: LogFile, limit: int) -> Log:
        """Return all statements in the order of the log, those over `limit` characters cut;
        `UsageError` (while they are read) if it cannot be replayed.
        """


@dataclass(frozen=True)
class RefusedLog:
    """Another program's output, or a log of another form, which is known and not read: `name` in
    words, a line of it, and what to do instead.
    """

    name: str
    line: re.Pattern[str]
    hint: str


def read_log(file: LogFile, limit: int = LIMIT) -> Log:
    """Return the log in a file; statements over `limit` characters are cut.

    `UsageError` if its form is unknown; and, once it was read, if it has no statement.
    """
    path = file.path
    try:
        lines = file.read_head(LOOKED_AT, LINE)
    except OSError as error:
        cause = (error.strerror or "").lower()
        raise UsageError(
            f"cannot read the log {path}", cause=cause, hint="name the log: --log FILE"
        ) from None
    readers: list[LogReader] = [
        reader for own in load_things("dyno.engines", "LOG_READERS").values() for reader in own
    ]
    has_returns = all(line.endswith("\r\n") for line in lines if line.endswith("\n"))
    head = [line.rstrip("\r\n") for line in lines]
    head[:1] = [line.removeprefix("\ufeff") for line in head[:1]]
    if not any(line.strip() for line in head):
        raise UsageError(f"the log {path} is empty", hint=_format_readers(readers))
    tailed, head = _choose_tailed(head, readers, path)
    file = replace(file, has_returns=has_returns and bool(lines), tailed=tailed)
    unwrappings, inner = _find_unwrappings(head, readers, path)
    for reader in readers:
        if reader.knows(inner):
            return _read_whole(reader, replace(file, unwrappings=unwrappings), limit)
    for own in load_things("dyno.engines", "REFUSED_LOGS").values():
        for other in own:
            if any(other.line.search(line) for line in inner):
                raise UsageError(f"the log {path} is not read: it is {other.name}", hint=other.hint)
    cause = f"line 1 is '{head[0][:60]}'"
    raise UsageError(
        f"{path} is not a log that Dyno knows", cause=cause, hint=_format_readers(readers)
    )


def _choose_tailed(
    head: list[str], readers: Sequence[LogReader], path: Path
) -> tuple[str | None, list[str]]:
    """Return which of the files that `tail` joined is a log, and its first lines; None: it joined
    none.
    """
    files = split_tailed(head)
    known = [name for name, lines in files.items() if _is_known(lines, readers)]
    if not known:
        return None, head
    if len(known) > 1:
        raise _build_several(path, "tail", known, f"tail -F {known[0]} > one.log")
    return known[0], files[known[0]]


def _build_several(path: Path, by: str, known: Sequence[str], command: str) -> UsageError:
    shown = " and ".join(f"'{it}'" for it in known[:3])
    return UsageError(
        f"{path} holds more than one log",
        cause=f"{by} names {shown}",
        hint=f"replay one of them: {command}",
    )


def _find_unwrappings(
    head: list[str], readers: Sequence[LogReader], path: Path
) -> tuple[tuple[Unwrapping, ...], list[str]]:
    """The shippers of a log, the outermost first, and its first lines without what they wrote."""
    unwrappings = list[Unwrapping]()
    while len(unwrappings) < DEPTH and (found := find_shipper(head)):
        shipper, streams = found
        known = [it for it, lines in streams.items() if _is_known(lines, readers)]
        if len(known) > 1:
            command = f"grep -F '{known[0]}' {path} > one.log"
            raise _build_several(path, shipper.name, known, command)
        if not known:
            break
        unwrappings.append(Unwrapping(shipper, known[0]))
        head = streams[known[0]]
    return tuple(unwrappings), head


def _is_known(lines: list[str], readers: Sequence[LogReader]) -> bool:
    """Return whether it is a log, or one that another shipper wrote."""
    if any(reader.knows(lines) for reader in readers):
        return True
    found = find_shipper(lines)
    inner = found[1].values() if found else ()
    return any(reader.knows(it) for it in inner for reader in readers)


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
        entry, ups, downs, latest_s = None, 0, 0, 0.0
        for entry in log.entries:
            ended_s = entry.at_s + entry.duration_s
            ups, downs = ups + (ended_s > latest_s), downs + (ended_s < latest_s)
            latest_s = ended_s
            yield entry
        if downs > DOWNS_MOST and downs > ups * BACKWARDS:
            raise UsageError(
                f"the log {file.path} runs backwards",
                cause=f"{downs:,} of its statements are older than the one before",
                hint="turn it around: tac FILE, or export it in ascending order",
            )
        log.unread.update(file.skipped)
        if entry is None:
            hint = log.unread.find_hint(f"log statements with {reader.written_by}")
            causes = {**log.unread, **file.skipped}
            cause = "; ".join(f"{why} ({left})" for why, left in causes.items())
            raise UsageError(f"no statements in {file.path}, {log.kind}", cause=cause, hint=hint)

    shippers = ", ".join(it.shipper.name for it in file.unwrappings)
    kind = f"{log.kind}, shipped by {shippers}" if shippers else log.kind
    return replace(log, kind=kind, entries=read_entries())
