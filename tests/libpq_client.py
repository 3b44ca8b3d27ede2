"""PostgreSQL's own client library, for tests that need a client beside ours: statements as text, by
parameters, and prepared (PostgreSQL's manual, 34.3).
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from types import TracebackType
from typing import Self

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import find_engine
from dyno.runs.experiment.candidates import parse_candidate


@functools.cache
def _load() -> ctypes.CDLL:
    """The library that comes with PostgreSQL 16, which brings all that it needs."""
    spec = parse_candidate("postgres@16")
    build = find_engine("postgres", driver.ask).program(spec.build, {}, lambda _: None)
    library = ctypes.CDLL(str(next(build.program.parents[1].glob("lib/libpq.so.5"))))
    for name in ("PQconnectdb", "PQexec", "PQexecParams", "PQprepare", "PQexecPrepared"):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("PQerrorMessage", "PQresultErrorMessage"):
        getattr(library, name).restype = ctypes.c_char_p
    return library


class Connection:
    """A connection of libpq's to a server's socket."""

    def __init__(self, session: Session) -> None:
        self._library, socket = _load(), Path(str(session["host"]))
        words = {
            **{"host": str(socket.parent), "port": socket.suffix[1:]},
            **{"user": session["user"], "password": session["password"] or ""},
            **{"dbname": session["database"], "application_name": "it's v1.2: [7]"},
        }
        quoted = {name: str(it).replace("'", "\\'") for name, it in words.items()}
        text = " ".join(f"{name}='{it}'" for name, it in quoted.items())
        self._handle = ctypes.c_void_p(self._library.PQconnectdb(text.encode()))
        assert not self._library.PQstatus(self._handle), self.error

    def __enter__(self) -> Self:
        """Nothing more."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, it: BaseException | None, at: TracebackType | None
    ) -> None:
        """Says goodbye."""
        self._library.PQfinish(self._handle)

    @property
    def error(self) -> str:
        """What went wrong last on it."""
        return str(self._library.PQerrorMessage(self._handle), "utf-8", "replace")

    def _end(self, result: int | None) -> str:
        """The error of a result, empty without one."""
        it = ctypes.c_void_p(result)
        said = str(self._library.PQresultErrorMessage(it), "utf-8", "replace")
        self._library.PQclear(it)
        return said

    def query(self, text: bytes) -> str:
        """Sends a text; the error, empty without one."""
        return self._end(self._library.PQexec(self._handle, text))

    def bind(self, text: bytes, values: tuple[bytes | None, ...]) -> str:
        """Sends a text with its values as text, in one request (PQexecParams)."""
        given = (ctypes.c_char_p * len(values))(*values)
        words = (text, len(values), None, given, None, None, 0)
        return self._end(self._library.PQexecParams(self._handle, *words))

    def execute(self, name: bytes, text: bytes, *rows: tuple[bytes | None, ...]) -> None:
        """Prepares a statement under a name, and runs it once with each row of values."""
        said = self._end(self._library.PQprepare(self._handle, name, text, 0, None))
        assert not said, said
        for values in rows:
            given = (ctypes.c_char_p * len(values))(*values)
            words = (name, len(values), given, None, None, 0)
            said = self._end(self._library.PQexecPrepared(self._handle, *words))
            assert not said, said
