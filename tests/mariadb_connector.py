"""MariaDB's Connector/C, the client library of another make, for tests that need one beside ours:
statements as text and prepared (its manual, "Prepared Statement Functions").
"""

from __future__ import annotations

import ctypes
import functools
from datetime import datetime
from types import TracebackType
from typing import Self

from dump_programs import PROGRAMS

from dyno.builds.suite_tree import fetch_tree
from dyno.driver.plan import Session

_PLUGINS = 22  # MYSQL_PLUGIN_DIR
#: The numbers of enum_field_types.
_DOUBLE, _NULL, _LONG, _DATETIME, _BLOB, _STRING = 5, 6, 8, 12, 252, 254
Value = int | float | str | bytes | datetime | None


class _Time(ctypes.Structure):
    """MYSQL_TIME."""

    _fields_ = (
        *((name, ctypes.c_uint) for name in ("year", "month", "day", "hour", "minute", "second")),
        ("second_part", ctypes.c_ulong),
        ("neg", ctypes.c_char),
        ("time_type", ctypes.c_int),
    )


class _Bind(ctypes.Structure):
    """MYSQL_BIND of Connector/C 3."""

    _fields_ = (
        ("length", ctypes.POINTER(ctypes.c_ulong)),
        ("is_null", ctypes.c_void_p),
        ("buffer", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in ("error", "u", "store", "fetch", "skip")),
        *((name, ctypes.c_ulong) for name in ("buffer_length", "offset", "length_value")),
        *((name, ctypes.c_uint) for name in ("flags", "pack_length")),
        ("buffer_type", ctypes.c_int),
        *((f"flag_{n}", ctypes.c_char) for n in range(4)),
        ("extension", ctypes.c_void_p),
    )


@functools.cache
def _load() -> tuple[ctypes.CDLL, bytes]:
    """The library, and the folder of its plugins for authentication."""
    tree = fetch_tree(PROGRAMS["mariadb-dump-10.11"], "", lambda _: None).folder
    library = ctypes.CDLL(str(next(tree.glob("usr/lib/*/libmariadb.so.3"))))
    for name in ("mysql_init", "mysql_stmt_init", "mysql_use_result"):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("mysql_error", "mysql_stmt_error"):
        getattr(library, name).restype = ctypes.c_char_p
    plugins = next(iter(tree.glob("usr/lib/*/libmariadb3/plugin")), tree)
    return library, str(plugins).encode()


class Connection:
    """A connection of Connector/C to a server's socket."""

    def __init__(self, session: Session) -> None:
        self._library, plugins = _load()
        self._account = [str(session["user"]).encode(), (session["password"] or "").encode()]
        self._database = str(session["database"]).encode()
        self._handle = ctypes.c_void_p(self._library.mysql_init(None))
        self._library.mysql_options(self._handle, _PLUGINS, plugins)
        off = ctypes.byref(ctypes.c_char(0))
        for option in (21, 35):  # verify the certificate, enforce TLS: not on a socket
            self._library.mysql_options(self._handle, option, off)
        self._library.mysql_options(self._handle, 7, b"utf8mb4")
        words = (None, *self._account, self._database, 0, str(session["host"]).encode())
        flags = ctypes.c_ulong(1 << 16)  # several statements in one text
        if not self._library.mysql_real_connect(self._handle, *words, flags):
            raise OSError(self.error)

    def __enter__(self) -> Self:
        """Nothing more."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, it: BaseException | None, at: TracebackType | None
    ) -> None:
        """Says goodbye."""
        self._library.mysql_close(self._handle)

    @property
    def error(self) -> str:
        """What the server said last against it."""
        return str(self._library.mysql_error(self._handle), "utf-8", "replace")

    def query(self, text: bytes) -> str:
        """Sends a text; the error, empty without one."""
        size = ctypes.c_ulong(len(text))
        if self._library.mysql_real_query(self._handle, text, size):
            return self.error
        while True:
            result = ctypes.c_void_p(self._library.mysql_use_result(self._handle))
            if result:
                while self._library.mysql_fetch_row(result):
                    pass
                self._library.mysql_free_result(result)
            if self._library.mysql_next_result(self._handle):
                return self.error

    def use(self, database: str) -> None:
        """Goes there by the protocol's own command (COM_INIT_DB)."""
        assert not self._library.mysql_select_db(self._handle, database.encode()), self.error

    def begin_anew(self) -> None:
        """The same account again (COM_CHANGE_USER)."""
        words = (*self._account, self._database)
        assert not self._library.mysql_change_user(self._handle, *words), self.error

    def execute(self, text: bytes, *rows: tuple[Value, ...]) -> None:
        """Prepares a statement, and runs it once with each row of values."""
        statement = ctypes.c_void_p(self._library.mysql_stmt_init(self._handle))
        size = ctypes.c_ulong(len(text))
        failed = self._library.mysql_stmt_prepare(statement, text, size)
        assert not failed, self._library.mysql_stmt_error(statement)
        for values in rows:
            binds = (_Bind * len(values))()
            held = [_bind(bind, value) for bind, value in zip(binds, values, strict=True)]
            self._library.mysql_stmt_bind_param(statement, binds)
            failed = self._library.mysql_stmt_execute(statement)
            assert not failed, self._library.mysql_stmt_error(statement)
            self._library.mysql_stmt_free_result(statement)
            del held
        self._library.mysql_stmt_close(statement)


def _bind(bind: _Bind, value: Value) -> object:
    """Fills it in; what has to live as long as it does."""
    buffer: ctypes.Array[ctypes.c_char] | ctypes.c_longlong | ctypes.c_double | _Time
    if value is None:
        bind.buffer_type = _NULL
        return None
    if isinstance(value, datetime):
        parts = (value.year, value.month, value.day, value.hour, value.minute, value.second)
        buffer, bind.buffer_type = _Time(*parts, value.microsecond, b"\0", 1), _DATETIME
    elif isinstance(value, int):
        buffer, bind.buffer_type = ctypes.c_longlong(value), _LONG
    elif isinstance(value, float):
        buffer, bind.buffer_type = ctypes.c_double(value), _DOUBLE
    else:
        data = value.encode() if isinstance(value, str) else value
        bind.buffer_type = _STRING if isinstance(value, str) else _BLOB
        buffer = ctypes.create_string_buffer(data, max(len(data), 1))
        bind.buffer_length = len(data)
    length = ctypes.c_ulong(bind.buffer_length)
    bind.length = ctypes.pointer(length)
    bind.buffer = ctypes.addressof(buffer)
    return buffer, length
