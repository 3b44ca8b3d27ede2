"""DuckDB's settings: what each may be, and how the engine reports it."""

from __future__ import annotations

import re

from dyno.errors import UsageError, unknown

#: Units of a size, in bytes. DuckDB reports a size in the binary ones.
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
SIZE = re.compile(r"([0-9]+(?:\.[0-9])?) ?(KiB|MiB|GiB|TiB)")
SIZES = ("memory_limit", "checkpoint_threshold")
SWITCHES = (
    "preserve_insertion_order",
    "autoinstall_known_extensions",
    "autoload_known_extensions",
)
#: A reported size is rounded to a tenth of its unit.
ROUNDED = 0.06
#: Each setting's default and meaning.
OPTIONS = {
    "threads": (
        "1",
        "threads that work at a statement, the connection's own included; DuckDB's default, "
        "one per core, would let one connection's query take another's core",
    ),
    "memory_limit": ("1GiB", "memory of the buffer pool; DuckDB's own is 80 % of the machine"),
    "checkpoint_threshold": (
        "16MiB",
        "size of the write-ahead log that starts a checkpoint; DuckDB's own is 16 MB",
    ),
    "preserve_insertion_order": ("true", "true or false: rows without ORDER BY come in order"),
    "autoinstall_known_extensions": ("false", "true or false: fetch extensions when named"),
    "autoload_known_extensions": ("false", "true or false: load extensions when named"),
}


def valid(name: str, value: str) -> str:
    """The value as it is handed to DuckDB; `UsageError` where it is none of the setting's."""
    if name not in OPTIONS:
        raise unknown("duckdb setting", name, OPTIONS)
    if name in SIZES:
        if not SIZE.fullmatch(value):
            raise UsageError(f"cannot set {name} to '{value}'", hint="a size, for instance 512MiB")
        return value
    if name in SWITCHES:
        if value.lower() not in ("true", "false"):
            raise unknown(f"value of {name}", value, ("true", "false"))
        return value.lower()
    if not value.isdecimal() or int(value) < 1:
        raise UsageError(f"cannot set {name} to '{value}'", hint="a whole number from 1 on")
    return str(int(value))


def agree(asked: str, found: str) -> bool:
    """Is this what was asked for, as DuckDB reports it?"""
    wanted_bytes, told_bytes = size_bytes(asked), size_bytes(found)
    if wanted_bytes is None or told_bytes is None:
        return asked == found
    return abs(told_bytes - wanted_bytes) <= ROUNDED * UNITS[found[-3:]]


def size_bytes(text: str) -> float | None:
    """A size in bytes; None where the text is none."""
    found = SIZE.fullmatch(text)
    return float(found[1]) * UNITS[found[2]] if found else None
