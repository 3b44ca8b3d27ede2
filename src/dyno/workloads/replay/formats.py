"""Which kind of log a file is, by its first lines, which the engines' readers recognise; and its
lines, compressed or not, read once as a stream.

Nothing here holds more than one statement, and of one that is longer than the limit only the
beginning. A compressed file is known by its first bytes.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Protocol, cast

from dyno.errors import UsageError
from dyno.plugins import load_things
from dyno.workloads.replay.logs import BEGINNING, LIMIT, Log, LogEntry, Reasons
from dyno.workloads.replay.shippers import (
    DEPTH,
    NumberedLine,
    Unwrapping,
    choose_tailed,
    find_shipper,
    split_tailed,
    unpack_lines,
)

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
    return replace(log, kind=kind, entries=read_entries(), is_shipped=bool(shippers))


@dataclass(frozen=True)
class LogFile:
    """A log's file, and what is known of it: `prefix` is PostgreSQL's `log_line_prefix`, "" if
    unknown, and `likely_prefix` that of a server which may have written it; `unwrappings` what
    shippers wrote before its lines, the outermost first; `has_returns`: a carriage return ends each
    line. `tailed`: the one that is read of several files which `tail` joined (None: it did not).
    `skipped`: lines of others, once it was read.
    """

    path: Path
    prefix: str = ""
    unwrappings: tuple[Unwrapping, ...] = ()
    has_returns: bool = False
    likely_prefix: str = ""
    tailed: str | None = None
    skipped: Reasons = field(default_factory=Reasons, compare=False)

    def read_lines(self, limit: int) -> Lines:
        return Lines(self, limit)

    def read_head(self, count: int, limit: int) -> list[str]:
        """The first lines as they are in the file, with their ends."""
        with open_log(self.path) as opened, _decode(opened) as file:
            return [line for _ in range(count) if (line := file.readline(limit))]


class Lines:
    """The lines of a file with their numbers, without their ends, read once. Of a line over `limit`
    characters there is the beginning, and `cut` is the length of what is not there, `cut_quotes`
    how many double quotes that has. `at` and `process` are when and by whom the line was shipped.
    """

    def __init__(self, file: LogFile, limit: int) -> None:
        self.cut, self.cut_quotes, self._file, self._limit = 0, 0, file, limit
        self.at, self.process = "", ""

    def __iter__(self) -> Iterator[tuple[int, str]]:
        self._file.skipped.clear()
        if self._file.tailed is None and not self._file.unwrappings:
            yield from self._read_raw()
            return
        lines: Iterator[NumberedLine] = (NumberedLine(*line) for line in self._read_raw())
        if self._file.tailed is not None:
            lines = choose_tailed(lines, self._file.tailed, self._file.skipped)
        for unwrapping in self._file.unwrappings:
            lines = unpack_lines(lines, unwrapping, self._file.skipped)
        for number, text, self.at, self.process in lines:
            yield number, text

    def _read_raw(self) -> Iterator[tuple[int, str]]:
        limit, end = self._limit, "\r\n" if self._file.has_returns else "\n"
        with open_log(self._file.path) as opened, _decode(opened) as file:
            readline, number = file.readline, 0
            while line := readline(limit):
                number += 1
                if number == 1:
                    line = line.removeprefix("\ufeff")
                if line[-1:] != "\n" and len(line) == limit:
                    while more := readline(1 << 16):
                        self.cut += len(more.rstrip("\r\n"))
                        self.cut_quotes += more.count('"')
                        if more[-1] == "\n":
                            break
                    yield number, line
                    self.cut = self.cut_quotes = 0
                else:
                    yield number, line.removesuffix(end).removesuffix("\n")


@contextmanager
def _decode(opened: IO[bytes]) -> Iterator[io.TextIOWrapper]:
    decoding = io.TextIOWrapper(opened, encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        yield decoding
    finally:
        # its opener closes it
        decoding.detach()


class Gathered:
    """A text gathered line by line, of which the beginning is kept where it is over `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts = list[str]()
        self.letters = 0
        #: It is the line that it began with, whole.
        self.is_line = False

    def begin(self, line: str, cut: int = 0) -> None:
        self._parts, self.letters = [line], len(line) + cut
        self.is_line = self.letters <= self._limit
        if not self.is_line:
            self._parts = [line[:BEGINNING]]

    def add(self, line: str, cut: int = 0) -> None:
        self.letters += len(line) + cut + 1
        self.is_line = False
        if self.letters <= self._limit:
            self._parts.append(line)
        elif len(self._parts) != 1 or len(self._parts[0]) > BEGINNING:
            self._parts = ["\n".join([*self._parts, line])[:BEGINNING]]

    def end(self) -> tuple[str, int]:
        """Return the text, and its length if that is over the limit, else 0."""
        return "\n".join(self._parts), self.letters if self.letters > self._limit else 0

    def put_into(self, entry: LogEntry) -> LogEntry:
        sql, letters = self.end()
        return entry._replace(sql=sql, letters=letters)


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_OPENERS: dict[bytes, Callable[[Path], object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
    b"\x28\xb5\x2f\xfd": zstd.open,
}
#: Formats that hold files, or text in another form; each with what makes a log of it.
_REFUSED = {
    b"PK\x03\x04": ("a ZIP archive", "unzip it"),
    b"7z\xbc\xaf": ("a 7z archive", "unpack it"),
    b"\x04\x22\x4d\x18": ("compressed with LZ4", "lz4 -d it"),
    b"\xff\xfe": ("in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"),
    b"\xfe\xff": ("in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"),
    b"\xd4\xc3\xb2\xa1": ("a capture of packets", "replay the server's own log"),
    b"\xa1\xb2\xc3\xd4": ("a capture of packets", "replay the server's own log"),
    b"\x0a\x0d\x0d\x0a": ("a capture of packets", "replay the server's own log"),
}
_TAR_AT, _TAR = 257, b"ustar"


_PIECE = 1 << 20


def has_mark(path: Path, marks: Sequence[bytes]) -> bool:
    """Return whether a log holds one of these bytes, in letters of either size."""
    rest, overlap = b"", max(map(len, marks)) - 1
    with open_log(path) as opened:
        while piece := opened.read(_PIECE):
            text = (rest + piece).lower()
            if any(mark in text for mark in marks):
                return True
            rest = text[-overlap:]
    return False


@contextmanager
def open_log(path: Path, kind: str = "log") -> Iterator[IO[bytes]]:
    """Open the bytes of a log (or of what `kind` says), unpacked if compressed; `UsageError` for an
    unknown compression.
    """
    with path.open("rb") as file:
        begin = file.read(_TAR_AT + len(_TAR))
    for magic, (what, hint) in _REFUSED.items():
        if begin.startswith(magic):
            raise UsageError(f"the {kind} {path} is not read: it is {what}", hint=hint)
    if begin[_TAR_AT:] == _TAR:
        raise UsageError(f"the {kind} {path} is not read: it is a TAR archive", hint="tar -x it")
    try:
        opener = next((it for magic, it in _OPENERS.items() if begin.startswith(magic)), None)
        with cast(IO[bytes], opener(path)) if opener else path.open("rb") as opened:
            yield opened
    except (EOFError, OSError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's; what unpacks has no number
        raise UsageError(
            f"the {kind} {path} cannot be unpacked", cause=error, hint="was it copied whole?"
        ) from None
