"""Audit `storage`: was something written where data last, and was there room for it?

- A workload that changes rows, on a file system that lies in memory, or on an engine whose
  processes owed the disk nothing in the whole trial (probe `process`): doubtful, since no storage
  was measured. Reads alone need none.
- Less than a twentieth of the file system free and under 20 GB, or under 1 GB, at a trial's end:
  doubtful, since a full disk, above all a flash one, is slower than the same with room.
- Candidates on different file systems: doubtful.
- A control group's limit on bytes per second (`io.max`) of which 90 % was used: doubtful, since
  the limit was measured. What a hypervisor or a cloud allows cannot be known here, and the sound
  finding says so; a rate that falls during a phase is the affair of the audits of time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    KEEPS_NOTHING,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    keeps_data,
)
from dyno.record import Candidate, Finding, PhaseRecord, Trial

#: File systems that a power cut empties.
IN_MEMORY = ("tmpfs", "ramfs")
FREE_SHARE, FREE_BYTES, FREE_BYTES_LEAST = 1 / 20, 20e9, 1e9
LIMIT_SHARE = 0.9
LIMITED = re.compile(r"\b[rw]bps=(\d+)")


class Storage:
    """The file system, its room and limits, and the bytes that went there."""

    summary = "all candidates wrote to the same storage, which has room"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate and fault; else one with what was written."""
        run, trials = view.run, view.trials
        keeping = {side.name for side in run.candidates if keeps_data(side)}
        good = [t for t in trials if t.status == "ok" and t.block >= 0 and t.candidate in keeping]
        findings: list[Finding] = []
        unjudged: list[Unjudged] = []
        for side in run.candidates:
            own = [t for t in good if t.candidate == side.name]
            findings += list(_find_faults(side, own))
            unjudged += _list_unjudged(side, own)
        places = {side.name: _find_places(side, good) for side in run.candidates}
        findings += _compare_places({name: found for name, found in places.items() if found})
        return conclude("storage", findings, _describe_sound(good), unjudged)


def _list_unjudged(side: Candidate, own: Sequence[Trial]) -> Iterator[Unjudged]:
    if not keeps_data(side):
        yield Inapplicable(KEEPS_NOTHING, side.name)
    elif not own:
        yield Unchecked("no trial ended well", side.name)
    elif all(_sum_readings(trial.phases, "written_bytes") is None for trial in own):
        yield Unchecked("the bytes that the engine wrote are not known", side.name)
    elif all(trial.conditions.storage is None for trial in own):
        yield Unchecked("the file system is not known", side.name)


def _find_faults(side: Candidate, own: Sequence[Trial]) -> Iterator[Finding]:
    checks = {
        "lies in memory": _is_in_memory,
        "wrote nothing to any storage, though rows were changed": _is_unwritten,
        "had a nearly full file system": _is_full,
        "reached the I/O limit of its control group": _is_limited,
    }
    for words, check in checks.items():
        meant = tuple(trial.number for trial in own if check(trial))
        if meant:
            found = next(t for t in own if t.number == meant[0]).conditions.storage
            free = f"{(found.free_bytes if found else 0) / 1e9:.1f} GB free"
            place = f"{(found and found.file_system) or 'an unknown file system'}, {free}"
            yield Finding("storage", "doubtful", f"{side.name} {words} ({place})", meant)


def _is_in_memory(trial: Trial) -> bool:
    return _find_kind(trial) in IN_MEMORY and _has_writes(trial)


def _is_unwritten(trial: Trial) -> bool:
    written = _sum_readings(trial.phases, "written_bytes")
    return written == 0.0 and _has_writes(trial) and _find_kind(trial) not in IN_MEMORY


def _is_full(trial: Trial) -> bool:
    found = trial.conditions.storage
    if found is None or not _has_writes(trial):
        return False
    free, size = found.free_bytes, found.size_bytes
    return free < FREE_BYTES_LEAST or (free < FREE_SHARE * size and free < FREE_BYTES)


def _is_limited(trial: Trial) -> bool:
    limits = LIMITED.findall(_find_limits(trial))
    if not limits:
        return False
    least = min(map(int, limits))
    return any(
        max(_compute_rates(record), default=0.0) > LIMIT_SHARE * least for record in trial.phases
    )


def _compute_rates(record: PhaseRecord) -> Iterator[float]:
    """Bytes per second read, and written."""
    seconds = record.own_time_ns / 1e9
    for name in ("read_bytes", "written_bytes"):
        moved = _sum_readings([record], name)
        if moved is not None and seconds > 0:
            yield moved / seconds


def _sum_readings(records: Sequence[PhaseRecord], name: str) -> float | None:
    """A probe's number over phases; None where nobody read it."""
    found = [r.value for record in records for r in record.readings if r.name == name]
    return sum(found) if found else None


def _has_writes(trial: Trial) -> bool:
    return any(tally.rows_changed for record in trial.phases for tally in record.streams)


def _find_kind(trial: Trial) -> str:
    found = trial.conditions.storage
    return found.file_system.partition(" ")[0] if found else ""


def _find_limits(trial: Trial) -> str:
    return trial.conditions.storage.limits if trial.conditions.storage else ""


def _find_places(side: Candidate, good: Sequence[Trial]) -> set[str]:
    found = (t.conditions.storage for t in good if t.candidate == side.name)
    return {each.file_system for each in found if each and each.file_system}


def _compare_places(places: dict[str, set[str]]) -> list[Finding]:
    if len(set().union(*places.values())) <= 1:
        return []
    told = "; ".join(f"{name} on {' and '.join(sorted(p))}" for name, p in places.items())
    return [Finding("storage", "doubtful", f"the data lay on different file systems: {told}")]


def _describe_sound(good: Sequence[Trial]) -> str:
    written = [w for t in good if (w := _sum_readings(t.phases, "written_bytes")) is not None]
    if not written:
        return ""
    most = f"up to {max(written) / 1e6:.0f} MB written in a trial"
    limits = any(_find_limits(trial) for trial in good)
    known = "within its limits" if limits else "no limit is visible; the host's own is unknown"
    return f"{most}, with room to spare; {known}"


AUDIT = Storage()
