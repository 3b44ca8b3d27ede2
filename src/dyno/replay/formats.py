"""Which kind of log a file is, by its first lines: the engines' readers are asked in turn."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from dyno.errors import UsageError
from dyno.plugins import things
from dyno.replay.logs import Log, LogReader

#: Lines by which a log is known.
LOOKED_AT = 500


def read_log(path: Path) -> Log:
    """The log in a file; `UsageError` where it is none that is known here, or has no statement."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            head = [line.rstrip("\r\n") for line in islice(file, LOOKED_AT)]
    except OSError as error:
        cause = (error.strerror or "").lower()
        raise UsageError(f"cannot read the log {path}", cause=cause, hint="--log FILE") from None
    readers: list[LogReader] = [
        reader for own in things("dyno.engines", "LOG_READERS").values() for reader in own
    ]
    if not any(line.strip() for line in head):
        raise UsageError(f"the log {path} is empty", hint=_all_written(readers))
    for reader in readers:
        if reader.knows(head):
            return _whole(reader, path)
    cause = f"line 1 is '{head[0][:60]}'"
    raise UsageError(
        f"{path} is no log that is known here", cause=cause, hint=_all_written(readers)
    )


def _all_written(readers: list[LogReader]) -> str:
    return "; ".join(f"{reader.kind}: {reader.written_by}" for reader in readers)


def _whole(reader: LogReader, path: Path) -> Log:
    log = reader.read(path)
    if not log.entries:
        hint = f"statements are in it with {reader.written_by}"
        raise UsageError(f"no statement stands in {path}, {log.kind}", hint=hint)
    return log
