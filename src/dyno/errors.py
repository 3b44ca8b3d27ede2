"""What can go wrong, named by who can put it right.

    DynoError
    ├── UsageError      the user: a word, a number, a file (exit 64)
    ├── HostError       the machine: no compiler, no space, no permission (exit 64)
    ├── TrialFailed     the engine or the script; the trial is kept as failed, the run goes on
    │                   (exit 64 where it cannot: a candidate that never works)
    └── InternalError   us (exit 70)

A message is one clause in lower case without a full stop; its cause follows a colon; its remedy
stands on a ``hint:`` line.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

USAGE_EXIT = 64
INTERNAL_EXIT = 70
INTERRUPTED_EXIT = 130


class DynoError(Exception):
    """A failure with a cause and a remedy; `str()` of it is all that a user sees."""

    exit_code = INTERNAL_EXIT
    #: File and line of a script, where it failed there, the message without them, and what sysbench
    #: calls the function that failed.
    place = without_place = function = ""
    #: The engine's SQLSTATE, where it refused a statement.
    state = ""

    @property
    def is_never_understood(self) -> bool:
        """A statement that fails however often it is sent: its syntax, a name that is unknown."""
        return self.state.startswith("42")

    def __init__(self, message: str, *, cause: object = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.cause, self.hint = message, str(cause), hint

    @property
    def sentence(self) -> str:
        """The message with its cause, without the hint."""
        return f"{self.message}: {self.cause}" if self.cause else self.message

    def __str__(self) -> str:
        return f"{self.sentence}\nhint: {self.hint}" if self.hint else self.sentence


class UsageError(DynoError):
    """A word, number or file of the user's that cannot be right."""

    exit_code = USAGE_EXIT


class HostError(DynoError):
    """Something that this machine lacks or refuses, and its owner can change."""

    exit_code = USAGE_EXIT


class TrialFailed(DynoError):
    """The engine or the script gave up in a trial; what it measured before is kept."""

    exit_code = USAGE_EXIT


class InternalError(DynoError):
    """A fault of Dyno's own."""


#: The kernel's codes for a disk, or a share of it, that is full.
FULL = (errno.ENOSPC, errno.EDQUOT)


def find_fullest(error: OSError, *places: Path) -> str:
    """Of a disk that is full: the fullest of `places`, or of those above that are there, and how
    much is free in it, as ` (0.3 MB free in /runs)`; empty for any other error.
    """
    if error.errno not in FULL:
        return ""
    import shutil  # with all that it unpacks, longer to load than the rest of this file

    found: list[tuple[int, Path]] = []
    for place in places:
        with suppress(OSError, StopIteration):
            there = next(p for p in (place.absolute(), *place.absolute().parents) if p.is_dir())
            found.append((shutil.disk_usage(there).free, there))
    if not found:
        return ""
    free_bytes, there = min(found)
    return f" ({free_bytes / 2**20:.1f} MB free in {there})"


#: How many names a hint lists.
OFFERED = 12


def build_unknown_error(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that does not exist, with the nearest names that do, in either case.

    `kind` is a noun of the trade ("engine", "option"); `known` is every valid name.
    """
    import difflib

    names = sorted(known)
    spelled = {each.lower(): each for each in reversed(names)}
    near = difflib.get_close_matches(name.lower(), spelled, n=3, cutoff=0.5)
    if near:
        offer = " or ".join(spelled[each] for each in near)
        return UsageError(f"unknown {kind} '{name}'", hint=f"did you mean {offer}?")
    more = f", … and {len(names) - OFFERED} more" if len(names) > OFFERED else ""
    offer = ", ".join(names[:OFFERED]) + more or "none"
    return UsageError(f"unknown {kind} '{name}'", hint=f"known: {offer}")


#: How a page or a list begins to tell what no record should have brought about.
OWN_FAULT = "a fault of Dyno's own: "


def describe_damage(error: Exception) -> str:
    """Why a run cannot be read, in a line: the file and its field, or `OWN_FAULT`."""
    if isinstance(error, DynoError | OSError):
        told = error.sentence if isinstance(error, DynoError) else str(error)
    else:
        told = f"{OWN_FAULT}{type(error).__name__}: {error}"
    return " ".join(told.split())
