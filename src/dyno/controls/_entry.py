"""An entry of the journal: a knob that is held, on the disk before the knob is touched."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Literal

from dyno.controls import _knob, _place
from dyno.errors import HostError

UNDER_WAY, KIND = ".making-", ".json"

State = Literal["put back", "as found", "changed since", "host restarted", "refused", "in use"]


@dataclass(frozen=True)
class Entry:
    """A knob that is held: its file, the value found there, the value set, the host's start."""

    path: str
    found: str
    set: str
    boot: str


@dataclass(frozen=True)
class Outcome:
    """What became of a knob that was held; `now` is what it held when that was looked at."""

    entry: Entry
    state: State
    now: str
    why: str = ""

    @property
    def intended(self) -> str:
        """What is to be put back."""
        return f"{self.entry.path}: {self.entry.set} to {self.entry.found}"

    def __str__(self) -> str:
        entry, kept = self.entry, f"{self.entry.path} holds {self.now}"
        return {
            "put back": f"{entry.path}: {entry.set} is {entry.found} again",
            "as found": f"{kept}, as it was found",
            "changed since": f"{kept} and is left so: {entry.found} was found and {entry.set} set, "
            "and somebody has changed it since",
            "host restarted": f"{kept} and is left so: the host has restarted since",
            "refused": f"{kept} and not {entry.found}, as it was found: {self.why}",
            "in use": f"{kept}: a run under way holds it",
        }[self.state]


def name(path: str) -> str:
    """The name of a knob's entry."""
    return path.strip("/").replace("/", "+") + KIND


def read(file: Path) -> Entry:
    """The entry; `HostError` where the file holds none."""
    try:
        return Entry(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError) as error:
        hint = "remove it, and look at the knob that it is named after"
        raise HostError(f"{file} is no entry of a journal", cause=error, hint=hint) from error


def begun(journal: Path, knob: Path, value: str) -> IO[str]:
    """Notes what the knob holds; the answer is the entry's file, and holds its shared lock.

    The lock is taken before the file has its name: nobody ever sees an entry under way without.
    """
    entry = Entry(_knob.shown(knob), _knob.value(knob), value, _knob.boot())
    fresh = journal / (UNDER_WAY + name(entry.path))
    fresh.unlink(missing_ok=True)
    with _place.private(fresh) as file:
        file.write(json.dumps(asdict(entry)) + "\n")
        file.flush()
        os.fsync(file.fileno())
    kept = shared(fresh)
    fresh.rename(journal / name(entry.path))
    _place.flush(journal)
    return kept


def shared(file: Path) -> IO[str]:
    """The entry's file with our shared lock on it, until it is closed."""
    kept = file.open()
    fcntl.flock(kept, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return kept


def in_use(file: Path) -> bool:
    """Does anybody alive hold the entry?"""
    with file.open() as tried:
        with suppress(BlockingIOError):
            fcntl.flock(tried, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        return True


def judged(entry: Entry) -> Outcome:
    """What is to be done with a knob, by what it holds now."""
    now = _knob.value(_knob.at(entry.path))
    if not now:
        return Outcome(entry, "refused", "nothing", "it cannot be read")
    if entry.boot != _knob.boot():
        return Outcome(entry, "host restarted", now)
    if now == entry.found:
        return Outcome(entry, "as found", now)
    return Outcome(entry, "put back" if now == entry.set else "changed since", now)


def settled(file: Path, entry: Entry) -> Outcome:
    """Puts the knob back where it is still as it was set; the file goes unless that failed."""
    outcome = judged(entry)
    if outcome.state == "put back":
        try:
            _knob.write(_knob.at(entry.path), entry.found)
        except _knob.Refused as why:
            outcome = Outcome(entry, "refused", outcome.now, str(why))
    if outcome.state != "refused":
        file.unlink()
        _place.flush(file.parent)
    return outcome
