"""What goes through a channel: a line of JSON each, and the bytes that follow it.

The agent's first line is `GREETING`; what a login shell prints before it is passed over.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from dyno import private_files
from dyno.compare.fleet import ConnectionLost
from dyno.errors import HostError, UsageError
from dyno.record import decode

T = TypeVar("T")

#: The agent's first line. Its number counts the changes of what is said here.
GREETING = b"dyno-fleet 1\n"
#: What a login shell may print before it.
GREETING_MAX_BYTES = 64 << 10
#: A line of JSON is no longer, and bytes behind it no more.
LINE_MAX_BYTES, PIECE_BYTES = 1 << 20, 256 << 10
#: What a host's share may bring here; a run of thousands of trials is far smaller.
SHARE_BYTES, SHARE_FILES = 4 << 30, 200_000
#: The caller says something that often, and the agent ends its play after so long without a word.
PING_S, SILENCE_S = 3.0, 30.0

#: A file's path below its folder: no way out of it, and nothing hidden.
_SAFE = re.compile(r"[\w@+=,-][\w.@+=, -]*(/[\w@+=,-][\w.@+=, -]*)*")


@dataclass(frozen=True)
class FleetMessage:
    """One message: what it is about, its data, and bytes."""

    kind: str
    data: dict[str, Any] = field(default_factory=dict)
    content: bytes = b""

    def encode(self) -> bytes:
        """As it is sent."""
        line = {"kind": self.kind, "data": self.data, "bytes": len(self.content)}
        return json.dumps(line, separators=(",", ":")).encode() + b"\n" + self.content

    def read_as(self, kind: type[T]) -> T:
        """Its data as a `kind`; `ConnectionLost` where they are none."""
        try:
            return decode.decode(kind, self.data)
        except decode.WrongShape as error:
            raise ConnectionLost("the host speaks another language", cause=error) from error


def make_message(kind: str, data: Any, content: bytes = b"") -> FleetMessage:
    """A message of a dataclass."""
    return FleetMessage(kind, asdict(data), content)


class MessageReader:
    """Cuts what comes through a channel into messages."""

    def __init__(self) -> None:
        self._held = b""

    def cut(self, data: bytes) -> Iterator[FleetMessage]:
        """The messages that are whole with `data`; `ConnectionLost` for what is none."""
        self._held += data
        while True:
            line, newline, rest = self._held.partition(b"\n")
            if not newline:
                if len(line) > LINE_MAX_BYTES:
                    raise _build_error(line)
                return
            try:
                found = json.loads(line)
                message, size = FleetMessage(found["kind"], found["data"]), int(found["bytes"])
            except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
                raise _build_error(line) from None
            if not 0 <= size <= PIECE_BYTES:
                raise _build_error(line)
            if len(rest) < size:
                return
            self._held = rest[size:]
            yield FleetMessage(message.kind, message.data, rest[:size])


def _build_error(line: bytes) -> ConnectionLost:
    shown = line[:80].decode(errors="replace")
    return ConnectionLost("the host speaks another language", cause=f"'{shown}'")


@dataclass(frozen=True)
class FilePiece:
    """A part of a file, whose bytes follow; the last one ends the file."""

    path: str
    last: bool


def is_safe_path(path: str) -> bool:
    """Does it stay within its folder?"""
    return _SAFE.fullmatch(path) is not None


def send_file(file: Path, path: str, send: Callable[[FleetMessage], None]) -> int:
    """Sends a file under the name `path`; answers its size in bytes."""
    total = 0
    with file.open("rb") as opened:
        while True:
            content = opened.read(PIECE_BYTES)
            total += len(content)
            last = len(content) < PIECE_BYTES
            send(make_message("piece", FilePiece(path, last), content))
            if last:
                return total


class FileReceiver:
    """Puts the files that come into a folder: each is there whole, or not at all."""

    def __init__(
        self, folder: Path, most_bytes: float = math.inf, most_files: int = SHARE_FILES
    ) -> None:
        """`most_bytes` are for what a host sends; who sends files there knows how many they are."""
        self.folder, self._most_bytes, self._most_files = folder, most_bytes, most_files
        self.size_bytes = self._files = 0
        self.clear_torn()

    def take_piece(self, message: FleetMessage) -> None:
        """Adds a part to its file; `UsageError` for a path that leads elsewhere, `HostError` for
        more than a share has.
        """
        piece = message.read_as(FilePiece)
        if not is_safe_path(piece.path):
            raise UsageError(f"'{piece.path[:80]}' is no file of a fleet's")
        self.size_bytes += len(message.content)
        self._files += len(message.content) < PIECE_BYTES  # as the last piece of each file
        if self.size_bytes > self._most_bytes or self._files > self._most_files:
            most = f"more than {self._most_bytes / (1 << 30):g} GiB or {self._most_files:,} files"
            hint = "look at its run folder there"
            raise HostError("what it sends of a share has no end", cause=most, hint=hint)
        file = self.folder / piece.path
        private_files.make_folder(file.parent, exist_ok=True)
        aside = file.with_name(f".{file.name}.part")
        with open(aside, "ab", opener=private_files.open_private) as out:
            out.write(message.content)
        if piece.last:
            private_files.sync(aside)
            aside.replace(file)

    def clear_torn(self) -> None:
        """Removes parts of files whose end never came."""
        for file in self.folder.rglob(".*.part"):
            file.unlink(missing_ok=True)


@dataclass(frozen=True)
class HostFacts:
    """What an agent says first: which dyno it is, and what its host has.

    `machine` is the host's identity: two hosts that have the same are one. `slot` is whether this
    agent alone may play there now.
    """

    dyno: str
    sources_sha256: str
    driver_sha256: str
    machine: str
    slot: bool
    cores: int
    memory_available_mb: int
    disk_free_mb: int
    calibrated: bool


@dataclass(frozen=True)
class ShippedFile:
    """A file of the experiment, by its path beside it, and its checksum."""

    path: str
    sha256: str


@dataclass(frozen=True)
class FleetExperiment:
    """What is played: the fleet's run, the experiment among the files that were sent, and the words
    of the command line that change it; on the host of that name, of that group.
    """

    fleet: str
    host: str
    group: str
    experiment: str
    words: tuple[str, ...]
    files: tuple[ShippedFile, ...]
    shares: int


@dataclass(frozen=True)
class Checked:
    """Whether the experiment can be played on a host: `faults` are why not, a sentence each.

    `programs` are the checksums of the candidates' programs and of the workloads' scripts, by what
    they are. `begun` are the shares that lie there from before.
    """

    faults: tuple[str, ...] = ()
    programs: dict[str, str] = field(default_factory=dict)
    begun: tuple[int, ...] = ()


@dataclass(frozen=True)
class ShareNumber:
    """The share to be played, from 1."""

    share: int


@dataclass(frozen=True)
class PlayLine:
    """A line that the share's play has printed."""

    text: str


@dataclass(frozen=True)
class Ended:
    """How a share's play ended: its exit code, and the last lines of its errors."""

    exit_code: int
    errors: str


@dataclass(frozen=True)
class Refused:
    """Why the agent cannot do what was asked."""

    sentence: str
