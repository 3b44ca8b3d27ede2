"""The journal of host-wide knobs: the value that each had is on disk before a run sets it.

One entry per knob, in one folder per host, written and fsynced before the knob is set, removed when
it was put back. Whoever holds a knob keeps a shared lock on its entry, so the kernel knows who is
alive: the last one out puts back, and an entry that nobody locks was left by a run that was killed.

Root's journal is `/run/dyno`: one for all runs of the host. Another user, who may be allowed a knob
or two, has one in `$XDG_RUNTIME_DIR`, else in /var/tmp: what root puts back must come from root
alone. Limit: two containers that do not share `/run` know nothing of each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dyno.errors import HostError
from dyno.host.controls import _journal_entry, _knob
from dyno.host.controls._journal_entry import (
    JournalEntry,
    KnobOutcome,
    find_own_journal,
    hold_journal,
)


@dataclass
class KnobHold:
    """A knob that is held: what was found, and, once it was let go, what became of it."""

    found: str
    outcome: KnobOutcome | None = None


@contextmanager
def hold_knob(knob: Path, value: str) -> Iterator[KnobHold]:
    """Holds `knob` at `value` and puts back what was found there.

    `KnobRefused` where the host does not take it, and then it is as it was. `HostError` where a run
    under way holds it at another value; one at the same value is joined, and the last one out
    puts back.
    """
    journal = find_own_journal()
    file = journal / _journal_entry.name_entry(_knob.strip_root(knob))
    with hold_journal(journal):
        lock = _join_entry(file, value) or _journal_entry.begin_entry(journal, knob, value)
        entry = _journal_entry.read_entry(file)
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
    """Puts back every knob that a run which is gone has left, and says what became of each.

    `dry` changes nothing and says what would become of it. A knob that holds another value than
    the one set was changed by somebody else since, and is left alone.
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
    return sorted(file for file in journal.glob(f"*{_journal_entry.KIND}") if file.name[0] != ".")


def _put_back_entry(file: Path, dry: bool) -> KnobOutcome:
    entry = _journal_entry.read_entry(file)
    judged = _journal_entry.choose_outcome(entry)
    if _journal_entry.is_in_use(file):
        return KnobOutcome(entry, "in use", judged.now)
    return judged if dry else _journal_entry.settle_entry(file, entry)


def _join_entry(file: Path, value: str) -> IO[str] | None:
    """The entry of a run under way, joined; None where there is none: a dead one is settled."""
    if not file.exists():
        return None
    entry = _journal_entry.read_entry(file)
    if not _journal_entry.is_in_use(file):
        outcome = _journal_entry.settle_entry(file, entry)
        if outcome.state == "refused":
            raise _knob.KnobRefused(str(outcome))
        return None
    if entry.set != value:
        cause = f"a run under way holds it at {entry.set}"
        hint = "wait for its end, or ask for the same value"
        raise HostError(f"{entry.path} cannot be set to {value}", cause=cause, hint=hint)
    return _journal_entry.share_entry(file)


def _release_entry(file: Path, entry: JournalEntry) -> KnobOutcome:
    """What became of a knob that we no longer hold; others who do put it back when they go."""
    if not _journal_entry.is_in_use(file):
        return _journal_entry.settle_entry(file, entry)
    judged = _journal_entry.choose_outcome(entry)
    return judged if judged.state == "changed since" else KnobOutcome(entry, "in use", judged.now)
