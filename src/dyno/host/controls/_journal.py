"""The journal of host-wide knobs: the value that each had is on disk before a run sets it.

One entry per knob, in one folder per host, written and fsynced before the knob is set, removed when
it was put back. The holder of a knob keeps a shared lock on its entry, so the kernel knows who is
alive: the last one out puts back, and an entry without lock was left by a run that was killed.

Root's journal is `/run/dyno`: one for all runs of the host. Another user, who may be allowed a knob
or two, has one in `$XDG_RUNTIME_DIR`, else in /var/tmp: what root puts back must come from root
alone. Limit: two containers that do not share `/run` know nothing of each other.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Literal

from dyno.errors import HostError
from dyno.host.controls import _knob
from dyno.host.controls._knob import KnobRefused
from dyno.locks import share_lock, try_lock

#: Names another folder.
CHOSEN = "DYNO_JOURNAL"


ROOTS = Path("/run/dyno")


LOCK = "lock"


#: What the others may take over a knob; they hold the lock for milliseconds.
PATIENCE_S = 10.0


PAUSE_S = 0.01


def find_own_journal() -> Path:
    """Our journal's folder; it need not exist yet."""
    if chosen := os.environ.get(CHOSEN):
        return Path(chosen).absolute()
    if os.geteuid() == 0:
        return ROOTS
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "dyno" if runtime else Path(f"/var/tmp/dyno-{os.geteuid()}")


def list_knobs_of_root() -> list[str]:
    """The knobs in root's journal, where it is not ours: their names are all that we may see."""
    return [] if find_own_journal() == ROOTS else sorted(file.stem for file in ROOTS.glob("*.json"))


@contextmanager
def hold_journal(journal: Path) -> Iterator[None]:
    """Hold the journal's lock; the kernel frees it if we die.

    `KnobRefused` if the folder cannot be made, `HostError` if others could write what we would put
    back, or hold the lock for good.
    """
    try:
        journal.mkdir(mode=0o755, parents=True, exist_ok=True)
        _check(journal)
        lock = open_private_file(journal / LOCK)
    except OSError as error:
        why = f"{error.strerror or error} ({error.filename})".lower()
        raise KnobRefused(f"no journal can be kept: {why}") from error
    with lock:
        _wait(lock.fileno(), journal)
        yield


def open_private_file(path: Path) -> IO[str]:
    """A file to write to that only its owner can open, and so only its owner can lock."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w")


def flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check(journal: Path) -> None:
    found = journal.lstat()
    others = stat.S_IWGRP | stat.S_IWOTH
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & others:
        hint = f"{CHOSEN} names a folder of your own"
        raise HostError(f"others can write to the journal in {journal}", hint=hint)


def _wait(lock: int, journal: Path) -> None:
    ends_s = time.monotonic() + PATIENCE_S
    while not try_lock(lock):
        if time.monotonic() > ends_s:
            message = f"the journal in {journal} is locked"
            raise HostError(message, hint="end the stopped dyno that holds it")
        time.sleep(PAUSE_S)


UNDER_WAY, KIND = ".making-", ".json"

State = Literal["put back", "as found", "changed since", "host restarted", "refused", "in use"]


@dataclass(frozen=True)
class JournalEntry:
    """A knob that is held: its file, the value found there, the value set, the host's start."""

    path: str
    found: str
    set: str
    boot: str


@dataclass(frozen=True)
class KnobOutcome:
    """What became of a knob that was held; `now` is its value when last read."""

    entry: JournalEntry
    state: State
    now: str
    why: str = ""

    @property
    def intended(self) -> str:
        """Return the value to be put back."""
        return f"{self.entry.path}: {self.entry.set} to {self.entry.found}"

    def __str__(self) -> str:
        entry, kept = self.entry, f"{self.entry.path} holds {self.now}"
        return {
            "put back": f"{entry.path}: {entry.set} is {entry.found} again",
            "as found": f"{kept}, as it was found",
            "changed since": f"{kept} and is left so: {entry.found} was found and {entry.set} set, "
            "and it was changed since",
            "host restarted": f"{kept} and is left so: the host has restarted since",
            "refused": f"{kept} and not {entry.found}, as it was found: {self.why}",
            "in use": f"{kept}: a run under way holds it",
        }[self.state]


def name_entry(path: str) -> str:
    return path.strip("/").replace("/", "+") + KIND


def read_entry(file: Path) -> JournalEntry:
    try:
        return JournalEntry(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        hint = "remove it, and check the setting that it is named after"
        raise HostError(f"{file} is not an entry of the journal", cause=error, hint=hint) from error


def begin_entry(journal: Path, knob: Path, value: str) -> IO[str]:
    """Note what the knob holds; return the entry's file, with its shared lock.

    The lock is taken before the file has its name: no process ever sees an entry in use without it.
    """
    entry = JournalEntry(
        _knob.strip_root(knob), _knob.read_current_value(knob), value, _knob.read_boot_id()
    )
    fresh = journal / (UNDER_WAY + name_entry(entry.path))
    fresh.unlink(missing_ok=True)
    with open_private_file(fresh) as file:
        file.write(json.dumps(asdict(entry)) + "\n")
        file.flush()
        os.fsync(file.fileno())
    kept = share_entry(fresh)
    fresh.rename(journal / name_entry(entry.path))
    flush_folder(journal)
    return kept


def share_entry(file: Path) -> IO[str]:
    """The entry's file with our shared lock on it, until it is closed."""
    kept = file.open()
    share_lock(kept.fileno())
    return kept


def is_in_use(file: Path) -> bool:
    """Return whether a living process holds the entry."""
    with file.open() as tried:
        return not try_lock(tried.fileno())


def choose_outcome(entry: JournalEntry) -> KnobOutcome:
    """Return what is to be done with a knob, by what it holds now."""
    now = _knob.read_current_value(_knob.find_path(entry.path))
    if not now:
        return KnobOutcome(entry, "refused", "nothing", "it cannot be read")
    if entry.boot != _knob.read_boot_id():
        return KnobOutcome(entry, "host restarted", now)
    if now == entry.found:
        return KnobOutcome(entry, "as found", now)
    return KnobOutcome(entry, "put back" if now == entry.set else "changed since", now)


def settle_entry(file: Path, entry: JournalEntry) -> KnobOutcome:
    """Put the knob back if it is still as it was set; remove the file unless that failed."""
    outcome = choose_outcome(entry)
    if outcome.state == "put back":
        try:
            _knob.set_value(_knob.find_path(entry.path), entry.found)
        except _knob.KnobRefused as why:
            outcome = KnobOutcome(entry, "refused", outcome.now, str(why))
    if outcome.state != "refused":
        file.unlink()
        flush_folder(file.parent)
    return outcome


@dataclass
class KnobHold:
    """A knob that is held: what was found, and, once it is released, what became of it."""

    found: str
    outcome: KnobOutcome | None = None


@contextmanager
def hold_knob(knob: Path, value: str) -> Iterator[KnobHold]:
    """Hold `knob` at `value` and put back what was found there.

    `KnobRefused` if the host does not take it: then it is unchanged. `HostError` if a run under way
    holds it at another value; one at the same value is joined, and the last one out puts back.
    """
    journal = find_own_journal()
    file = journal / name_entry(_knob.strip_root(knob))
    with hold_journal(journal):
        lock = _join_entry(file, value) or begin_entry(journal, knob, value)
        entry = read_entry(file)
    holding = KnobHold(entry.found)
    try:
        if _knob.read_current_value(knob) != value:
            _knob.set_value(knob, value)
        yield holding
    finally:
        with hold_journal(journal):
            lock.close()
            holding.outcome = _release_entry(file, entry)


def put_back(*, dry: bool = False) -> list[KnobOutcome]:
    """Put back every knob that a dead run has left, and say what became of each.

    `dry` changes nothing and says what would become of it. A knob that holds another value than the
    one set was changed by others since, and is left alone.
    """
    journal = find_own_journal()
    if not _list_entries(journal):
        return []
    try:
        with hold_journal(journal):
            return [_put_back_entry(file, dry) for file in _list_entries(journal)]
    except _knob.KnobRefused as why:
        raise HostError(f"cannot read the journal in {journal}", cause=why) from why


def _list_entries(journal: Path) -> list[Path]:
    return sorted(file for file in journal.glob(f"*{KIND}") if file.name[0] != ".")


def _put_back_entry(file: Path, dry: bool) -> KnobOutcome:
    entry = read_entry(file)
    judged = choose_outcome(entry)
    if is_in_use(file):
        return KnobOutcome(entry, "in use", judged.now)
    return judged if dry else settle_entry(file, entry)


def _join_entry(file: Path, value: str) -> IO[str] | None:
    """The entry of a run under way, joined; None where there is none: a dead one is settled."""
    if not file.exists():
        return None
    entry = read_entry(file)
    if not is_in_use(file):
        outcome = settle_entry(file, entry)
        if outcome.state == "refused":
            raise _knob.KnobRefused(str(outcome))
        return None
    if entry.set != value:
        cause = f"a run under way holds it at {entry.set}"
        hint = "wait for its end, or ask for the same value"
        raise HostError(f"{entry.path} cannot be set to {value}", cause=cause, hint=hint)
    return share_entry(file)


def _release_entry(file: Path, entry: JournalEntry) -> KnobOutcome:
    """Return what became of a knob that we no longer hold; others who do put it back when they
    go.
    """
    if not is_in_use(file):
        return settle_entry(file, entry)
    judged = choose_outcome(entry)
    return judged if judged.state == "changed since" else KnobOutcome(entry, "in use", judged.now)
