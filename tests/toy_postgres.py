"""A server that speaks PostgreSQL's protocol and knows none of its catalogue: SQLite answers.

What an engine's developer has who began with the protocol. It answers statements and what drivers
ask of a protocol, `version()`, and nothing else that PostgreSQL has beside SQL.
"""

from __future__ import annotations

import re
import socketserver
import sqlite3
import struct
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

#: Requests for TLS and GSSAPI in the place of a start-up message.
WISHES = (80877103, 80877104)
TEXT, INT = 25, 23
Values = list[str | int | None]


class Answer:
    """The rows of a statement; `names` is None where it has none."""

    def __init__(self, names: list[str] | None, rows: Sequence[Sequence[object]], tag: str) -> None:
        self.names, self.rows, self.tag = names, rows, tag


def pack(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return kind + struct.pack("!i", len(body) + 4) + body


def describe(names: Sequence[str] | None) -> bytes:
    if names is None:
        return pack(b"n")
    columns = (it.encode() + struct.pack("!xihihih", 0, 0, TEXT, -1, -1, 0) for it in names)
    return pack(b"T", struct.pack("!h", len(names)), *columns)


def pack_row(row: Sequence[object]) -> bytes:
    cells = [None if it is None else str(it).encode() for it in row]
    fields = (struct.pack("!i", -1) if it is None else pack_text(it) for it in cells)
    return pack(b"D", struct.pack("!h", len(cells)), *fields)


def pack_text(text: bytes) -> bytes:
    return struct.pack("!i", len(text)) + text


class Connection(socketserver.StreamRequestHandler):
    """One client's connection."""

    disable_nagle_algorithm = True
    server: ToyServer

    def handle(self) -> None:
        while (start := self._read_body())[:4] and struct.unpack("!i", start[:4])[0] in WISHES:
            self.wfile.write(b"N")
        self._database = self.server.open()
        self._statements: dict[bytes, str] = {}
        self._portal: tuple[str, Values] = ("", [])
        self.wfile.write(pack(b"R", struct.pack("!i", 0)))
        for name, value in (("server_version", "13.0"), ("client_encoding", "UTF8")):
            self.wfile.write(pack(b"S", f"{name}\0{value}\0".encode()))
        self._tell_ready()
        has_failed = False
        while (kind := self.rfile.read(1)) not in (b"", b"X"):
            body = self._read_body()
            if kind == b"S":
                has_failed = False
                self._tell_ready()
            elif not has_failed:
                has_failed = not self._obey(kind, body)

    def _read_body(self) -> bytes:
        (length,) = struct.unpack("!i", self.rfile.read(4))
        return self.rfile.read(length - 4)

    def _tell_ready(self) -> None:
        self.wfile.write(pack(b"Z", b"T" if self._database.in_transaction else b"I"))

    def _obey(self, kind: bytes, body: bytes) -> bool:
        try:
            self.wfile.write(b"".join(self._answer(kind, body)))
        except sqlite3.Error as refused:
            self.wfile.write(pack(b"E", b"SERROR\0C42601\0M", str(refused).encode(), b"\0\0"))
            if kind == b"Q":
                self._tell_ready()
            return kind == b"Q"
        if kind == b"Q":
            self._tell_ready()
        return True

    def _answer(self, kind: bytes, body: bytes) -> Iterator[bytes]:
        if kind == b"Q":
            answer = self._run(body[:-1].decode(), [])
            yield describe(answer.names) if answer.names else b""
            yield from map(pack_row, answer.rows)
            yield pack(b"C", answer.tag.encode(), b"\0")
        elif kind == b"P":
            name, statement, _ = body.split(b"\0", 2)
            self._statements[name] = statement.decode()
            yield pack(b"1")
        elif kind == b"B":
            self._bind(body)
            yield pack(b"2")
        elif kind == b"D":
            text = self._statements[body[1:-1]] if body[:1] == b"S" else self._portal[0]
            if body[:1] == b"S":
                count = len(set(re.findall(r"\$\d+", text)))
                yield pack(b"t", struct.pack(f"!h{count}i", count, *[INT] * count))
            is_read = text.lower().startswith("select")
            yield describe(self._run(re.sub(r"\$\d+", "NULL", text), []).names if is_read else None)
        elif kind == b"E":
            answer = self._run(*self._portal)
            yield from map(pack_row, answer.rows)
            yield pack(b"C", answer.tag.encode(), b"\0")
        elif kind == b"C":
            yield pack(b"3")

    def _bind(self, body: bytes) -> None:
        _, name, rest = body.split(b"\0", 2)
        (count,) = struct.unpack_from("!h", rest)
        formats, rest = struct.unpack_from(f"!{count}h", rest, 2), rest[2 + 2 * count :]
        (count,), rest = struct.unpack_from("!h", rest), rest[2:]
        values: Values = []
        for at in range(count):
            (length,), rest = struct.unpack_from("!i", rest), rest[4:]
            raw, rest = (None, rest) if length < 0 else (rest[:length], rest[length:])
            is_binary = bool(formats) and bool(formats[at if len(formats) > 1 else 0])
            values.append(None if raw is None else read_value(raw, is_binary))
        self._portal = (self._statements[name], values)

    def _run(self, text: str, values: Values) -> Answer:
        if re.match(r"(?i)(set|discard|reset)\b", text):
            return Answer(None, [], "SET")
        if text.lower() == "select version()":
            return Answer(["version"], [["ToyDB 1.0"]], "SELECT 1")
        found = self._database.execute(re.sub(r"\$(\d+)", r"?\1", text), values)
        names = [it[0] for it in found.description] if found.description else None
        rows = found.fetchall()
        word = text.split()[0].upper()
        number = f"0 {found.rowcount}" if word == "INSERT" else max(found.rowcount, len(rows))
        return Answer(names, rows, f"{word} {number}")


def read_value(raw: bytes, is_binary: bool) -> str | int:
    if is_binary:
        return int.from_bytes(raw, "big", signed=True)
    text = raw.decode()
    return int(text) if re.fullmatch(r"-?\d+", text) else text


class ToyServer(socketserver.ThreadingTCPServer):
    """Listens on loopback."""

    daemon_threads = True

    def __init__(self, folder: str) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self._file = f"{folder}/toy"
        self.open().execute("PRAGMA journal_mode = wal")

    def open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=30.0, isolation_level=None)


@contextmanager
def serving_toy() -> Iterator[str]:
    """The address of a toy server: `127.0.0.1:PORT`."""
    with tempfile.TemporaryDirectory() as folder, ToyServer(folder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
