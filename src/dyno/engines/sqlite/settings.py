"""SQLite's settings: PRAGMAs, what each may be, and how the engine reports it."""

from __future__ import annotations

from collections.abc import Mapping

from dyno.errors import UsageError, build_unknown_error

#: Named values of a setting; the engine reports their place in the list.
NAMES = {
    "auto_vacuum": ("none", "full", "incremental"),
    "synchronous": ("off", "normal", "full", "extra"),
    "temp_store": ("default", "file", "memory"),
    "secure_delete": ("off", "on", "fast"),
    "foreign_keys": ("off", "on"),
}
#: Named values that the engine reports by name. `off` is left out: a rollback would be undefined.
JOURNAL_MODES = ("wal", "delete", "truncate", "persist", "memory")
#: Settings that are sizes, counts or times, and the least that each may be.
NUMBERS = {
    "page_size": 512,
    "cache_size": -(2**31),
    "mmap_size": 0,
    "wal_autocheckpoint": 0,
    "busy_timeout": 0,
}
#: Settings that shape the file.
FILED = ("page_size", "auto_vacuum", "journal_mode")
#: Settings that the driver keeps itself: its own handler waits for a lock, and counts that.
DRIVEN = ("busy_timeout",)
#: Each setting's default and meaning, in the order in which they are set.
OPTIONS = {
    "page_size": ("4096", "bytes of a page, a power of two; SQLite's default since 3.12"),
    "auto_vacuum": ("none", "none, full or incremental: give free pages back to the disk"),
    "journal_mode": ("wal", f"{', '.join(JOURNAL_MODES)}: readers beside a writer need wal"),
    "synchronous": (
        "normal",
        "off, normal, full or extra: in wal, normal flushes at checkpoints only (a power cut "
        "may lose the last commits, a crash of the program none), full at each commit",
    ),
    "cache_size": (
        "-65536",
        "pages, or KiB where negative, for each connection; SQLite's own 2 MB would measure "
        "the kernel's page cache",
    ),
    "mmap_size": ("0", "bytes of the file read through a memory map"),
    "temp_store": ("default", "default, file or memory: where sorts spill to"),
    "secure_delete": ("off", "off, on or fast: overwrite what is deleted with zeros"),
    "foreign_keys": ("off", "off or on: check references; off is SQLite's default"),
    "wal_autocheckpoint": ("1000", "pages in the write-ahead log that start a checkpoint"),
    "busy_timeout": ("5000", "ms that a statement waits for a lock before it fails"),
}


PROFILES = ("cached", "durable", "stock")
#: No PRAGMA: which values the PRAGMAs have that are not chosen.
OURS = {
    "profile": (
        "cached",
        "cached (the defaults below), durable (synchronous=full: a commit waits for the disk) or "
        "stock (none is set: the library's own)",
    )
}


def check_profile(profile: str) -> None:
    """`UsageError` where SQLite has no such profile."""
    if profile == "io-bound":
        hint = "it has no cache for all connections: data beyond memory, or cache_size, make reads"
        raise UsageError("sqlite has no profile 'io-bound'", hint=hint)
    if profile not in PROFILES:
        raise build_unknown_error("value of profile", profile, PROFILES)


def list_pragmas(settings: Mapping[str, str]) -> list[list[str]]:
    """All PRAGMAs that are set, in their order: those of the profile, and the user's on top.

    Under `stock` only the user's, and those that the driver keeps itself.
    """
    own = {name: check_setting(name, value) for name, value in settings.items() if name not in OURS}
    profile = settings.get("profile", PROFILES[0])
    table = {name: default for name, (default, _) in OPTIONS.items()}
    if profile == "stock":
        table = {name: table[name] for name in table if name in DRIVEN or name in own}
    if profile == "durable":
        table["synchronous"] = "full"
    return [list(pair) for pair in (table | own).items()]


def compute_cache_bytes(values: Mapping[str, str]) -> int:
    """The page cache of a connection; what is not among `values` is the library's own."""
    pages, page = int(values.get("cache_size", "-2000")), int(values.get("page_size", "4096"))
    return pages * page if pages > 0 else -pages * 1024


def check_setting(name: str, value: str) -> str:
    """The value as SQLite will report it; `UsageError` where it is none of the setting's."""
    if name not in OPTIONS:
        raise build_unknown_error("sqlite setting", name, OPTIONS)
    if name in NUMBERS:
        return _check_number(name, value)
    names = NAMES.get(name, JOURNAL_MODES)
    if value.lower() not in names:
        raise build_unknown_error(f"value of {name}", value, names)
    return value.lower()


def _check_number(name: str, value: str) -> str:
    least = NUMBERS[name]
    if not value.removeprefix("-").isdecimal() or int(value) < least:
        raise UsageError(f"cannot set {name} to '{value}'", hint=f"a whole number from {least} on")
    number = int(value)
    if name == "page_size" and (number > 65_536 or number & (number - 1)):
        raise UsageError(f"cannot set {name} to '{value}'", hint="a power of two, 512 to 65536")
    return str(number)


def name_answer(name: str, answer: str) -> str:
    """What a PRAGMA answers, by its name where the engine says the name's place."""
    names = NAMES.get(name, ())
    return names[int(answer)] if answer.isdigit() and int(answer) < len(names) else answer
