"""What a program of threads does with its locks, as the library counts that is preloaded into it
(`_lock_calls.c`, built by the set-up): an embedded engine, or any other.

A lock is its address; it is called by the function that took it first. What counting takes is in
the figures: an acquisition reads the clock twice, and the time between the two readings is held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dyno.profile.neighbours import read_functions
from dyno.record.scaling import LockKind, LockUse

#: What is preloaded; the set-up builds it beside this file.
LIBRARY = Path(__file__).resolve().with_name("_lock_calls.so")
#: `struct row`, `struct module` and `struct tables` of the library.
NAMES = ("lock", "site", "kind", "acquired", "contended", "waited_ns", "held_ns")
ROW = np.dtype([(name, "<u8") for name in NAMES])
THREADS, ROWS, MODULES, PATH_BYTES = 256, 512, 64, 504
TABLE = np.dtype([("thread", "<u8"), ("rows", ROW, ROWS)])
MODULE = np.dtype([("base", "<u8"), ("path", f"S{PATH_BYTES}")])
TABLES = np.dtype([("modules", MODULE, MODULES), ("threads", TABLE, THREADS)])
#: The library's kinds, from 1 on: how they are called, and what they are.
KINDS: tuple[tuple[str, LockKind], ...] = (
    ("mutex", "exclusive"),
    ("write lock", "exclusive"),
    ("read lock", "shared"),
    ("spin lock", "exclusive"),
    ("file's write lock", "exclusive"),
    ("file's read lock", "shared"),
)
#: Whether a wait for it can be seen: files' locks are tried again by whoever wants them.
WAITS = frozenset({"mutex", "write lock", "read lock", "spin lock"})
UNSEEN = (
    "locks that the engine makes of atomics or futexes itself",
    "locks that are taken with a time limit",
    "waits of who tries a file's lock again and again",
    "locks beyond the 511th of a thread, and threads beyond the 256th",
)


def build_environment(folder: Path) -> dict[str, str]:
    """Return what makes a program count its locks; each process writes a file into `folder`."""
    return {"LD_PRELOAD": str(LIBRARY), "DYNO_LOCK_CALLS": str(folder)}


@dataclass(frozen=True)
class CountedLock:
    """A lock of a process, taken in one way: `kind` as in `KINDS`, `place` its first caller."""

    process: str
    lock: int
    kind: str
    place: str


@dataclass(frozen=True)
class LockCounts:
    """What was counted of a lock: by all threads, and `threads`, how many of them took it."""

    acquired: int = 0
    contended: int = 0
    waited_ns: int = 0
    held_ns: int = 0
    threads: int = 0

    def subtract(self, before: LockCounts) -> LockCounts:
        """Return what came since; its threads are all that ever took it."""
        return LockCounts(
            self.acquired - before.acquired,
            self.contended - before.contended,
            self.waited_ns - before.waited_ns,
            self.held_ns - before.held_ns,
            self.threads,
        )


def read_counts(folder: Path) -> dict[CountedLock, LockCounts]:
    """Return the counts of all processes until now; what lacks a row of its own is left out."""
    found: dict[CountedLock, LockCounts] = {}
    for file in sorted(folder.iterdir()):
        content = file.read_bytes()
        if len(content) == TABLES.itemsize:
            (tables,) = np.frombuffer(content, TABLES)
            found |= _sum_threads(file.name, tables)
    return found


def _sum_threads(process: str, tables: np.void) -> dict[CountedLock, LockCounts]:
    rows = tables["threads"]["rows"].reshape(-1)
    rows = rows[(rows["kind"] > 0) & (rows["lock"] > 0)]
    found: dict[CountedLock, LockCounts] = {}
    for number, (name, _) in enumerate(KINDS, 1):
        of_kind = rows[rows["kind"] == number]
        for lock in np.unique(of_kind["lock"]):
            own = of_kind[of_kind["lock"] == lock]
            taken, contended, waited_ns, held_ns = (int(own[it].sum()) for it in NAMES[3:])
            place = find_place(int(own["site"][0]), tables["modules"])
            found[CountedLock(process, int(lock), name, place)] = LockCounts(
                taken, contended, waited_ns, held_ns, len(own)
            )
    return found


def find_place(site: int, modules: np.ndarray) -> str:
    """Return the function that a site is in and its file; the place in it where no name is sure."""
    path = bytes(modules[site >> 48]["path"]).decode(errors="replace")
    offset = site & ((1 << 48) - 1)
    functions = read_functions(path) if path else None
    if functions is not None and functions.names_all:
        begin = functions.segments[0][1]
        before, _ = functions.find_around(offset + begin - 1, 1)
        if before:
            return f"{before[0]} ({Path(path).name})"
    return f"{Path(path).name or 'unknown'}+{offset:#x}"


def compute_uses(
    before: Mapping[CountedLock, LockCounts],
    after: Mapping[CountedLock, LockCounts],
    operations: int,
    users: int,
) -> tuple[LockUse, ...]:
    """Return what an operation did with each lock between the two. With several users a lock that
    one thread alone took is no lock between them, and is left out.
    """
    none = LockCounts()
    since = {lock: counts.subtract(before.get(lock, none)) for lock, counts in after.items()}
    shared = {
        lock: counts
        for lock, counts in since.items()
        if counts.acquired and (users < 2 or counts.threads > 1)
    }
    names = _name_locks(sorted(shared, key=lambda lock: -shared[lock].held_ns))
    kinds = dict(KINDS)
    return tuple(
        LockUse(
            name=names[lock],
            kind=kinds[lock.kind],
            acquisitions=counts.acquired / operations,
            held_ns=counts.held_ns / counts.acquired,
            waited_ns=counts.waited_ns / counts.acquired if lock.kind in WAITS else None,
        )
        for lock, counts in shared.items()
    )


def _name_locks(locks: Sequence[CountedLock]) -> dict[CountedLock, str]:
    """Return a name for each; of several with one caller the second is number 2."""
    met: Counter[str] = Counter()
    names = {}
    for lock in locks:
        byte = f" of byte {lock.lock & 0xFFFF}" if lock.kind.startswith("file") else ""
        name = f"{lock.kind}{byte} in {lock.place}"
        met[name] += 1
        names[lock] = name if met[name] == 1 else f"{name}, {met[name]}"
    return names
