"""Audits of the data: how large, in which cache, on what storage. Clean and spoiled."""

from __future__ import annotations

from typing import Any

import pytest
from audit_records import a_run, a_trial, engine, findings, only, recorded
from fakes import make_readings
from msgspec import structs

from dyno.record import Conditions, DataCondition, Run, StorageCondition, Trial

MB = 1_000_000
DISK = StorageCondition("ext4 on /dev/sda", size_bytes=10**12, free_bytes=10**11)
MEMORY = structs.replace(DISK, file_system="tmpfs on tmpfs")


def _trial(
    number: int = 3,
    candidate: str = "new",
    *,
    read: float = 0.0,
    written: float = 1.0,
    **found: Any,
) -> Trial:
    """A trial that changes rows, with conditions (`data`, `storage`) as found."""
    readings = make_readings(read_bytes=read, written_bytes=written)
    trial = recorded(a_trial(number, candidate, rows_changed=5), readings=readings)
    return structs.replace(trial, conditions=Conditions(**{"storage": DISK, **found}))


def _data(held: float, cache: float, claim: str = "") -> DataCondition:
    return DataCondition(round(held * MB), round(cache * MB), claim)


@pytest.mark.parametrize(
    ("data", "read", "soundness", "words"),
    [
        ((100, 1000, "cached"), 0, "sound", "1 cases are as"),
        ((100, 1000, "cached"), 7, "sound", "1 cases are as"),
        ((1000, 2000, "cached"), 49, "sound", "1 cases are as"),
        ((1000, 2000, "cached"), 60, "doubtful", "fetched 60.0 MB from storage of 1000 MB"),
        ((3000, 1000, "cached"), 0, "doubtful", "claims to be cached, with 3000 MB of data"),
        ((1000, 64, "io-bound"), 500, "sound", "1 cases are as"),
        ((1000, 64, "io-bound"), 0, "doubtful", "page cache held them"),
        ((10, 64, "io-bound"), 0, "doubtful", "claims to be io-bound, with 10 MB of data"),
        ((3000, 1000, ""), 0, "does not apply", "no profile claims it"),
    ],
)
def test_a_claim_to_be_cached_or_not_is_held_against_what_was_read(
    data: tuple[float, float, str], read: float, soundness: str, words: str
) -> None:
    trial = _trial(read=read * MB, data=_data(*data))
    finding = only("caching", a_run(), trial)
    assert finding.soundness == soundness and words in finding.sentence
    assert finding.trials == ((3,) if soundness == "doubtful" else ())


def test_a_phase_that_reads_no_rows_may_leave_the_disk_alone() -> None:
    trial = structs.replace(
        recorded(a_trial(3, "new", rows_read=0), readings=make_readings(read_bytes=0.0)),
        conditions=Conditions(data=_data(1000, 64, "io-bound")),
    )
    assert only("caching", a_run(), trial).soundness == "sound"


def _sized(size: float) -> Run:
    run = a_run()
    plan = structs.replace(run.workloads[0], size_bytes=round(size * MB))
    return structs.replace(run, workloads=(plan,))


@pytest.mark.parametrize(
    ("said", "held", "soundness"),
    [
        (100, 100, "sound"),
        (100, 30, "sound"),
        (100, 20, "doubtful"),
        (100, 430, "sound"),
        (100, 440, "doubtful"),
        (2, 10, "sound"),
        (20, 1, "sound"),
        (2, 50, "doubtful"),
        (0, 500, "does not apply"),
    ],
)
def test_a_data_set_far_from_what_the_script_says_is_doubtful(
    said: float, held: float, soundness: str
) -> None:
    finding = only("data_size", _sized(said), _trial(data=_data(held, 1000)))
    assert finding.soundness == soundness
    assert soundness != "doubtful" or (
        finding.trials == (3,) and f"{held:.0f} MB held" in finding.sentence
    )


def _free(free_bytes: int) -> StorageCondition:
    return structs.replace(DISK, free_bytes=free_bytes)


def _limited(limits: str) -> StorageCondition:
    return structs.replace(DISK, limits=limits)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"storage": MEMORY}, "lies in memory (tmpfs on tmpfs"),
        ({"written": 0.0}, "wrote nothing to any storage"),
        ({"storage": _free(500 * MB)}, "nearly full file system"),
        ({"storage": _free(10**10)}, "nearly full file system"),
        ({"storage": _limited("8:0 wbps=1000000"), "written": 9.5e6}, "its control group"),
    ],
)
def test_a_storage_that_is_none_full_or_throttled_is_doubtful(
    changes: dict[str, Any], words: str
) -> None:
    old, new = _trial(2, "old"), _trial(**changes)
    told = findings("storage", a_run(), old, new)
    assert {each.soundness for each in told} == {"doubtful"}
    assert told[0].trials == (3,) and words in told[0].sentence


def test_a_storage_with_room_and_below_its_limit_is_sound() -> None:
    limited = _limited("8:0 rbps=max wbps=1000000 riops=max wiops=max")
    finding = only("storage", a_run(), _trial(storage=limited, written=1e6))
    assert finding.soundness == "sound" and "within its limits" in finding.sentence
    assert "own is unknown" in only("storage", a_run(), _trial()).sentence


def test_a_workload_that_only_reads_needs_no_storage() -> None:
    trial = a_trial(3, "new", rows_changed=0)
    reads = recorded(trial, readings=make_readings(written_bytes=0.0))
    reads = structs.replace(reads, conditions=Conditions(storage=MEMORY))
    assert only("storage", a_run(), reads).soundness == "sound"


def test_candidates_on_different_file_systems_are_doubtful() -> None:
    elsewhere = structs.replace(DISK, file_system="xfs on /dev/sdb")
    other = _trial(2, "old", storage=elsewhere)
    finding = only("storage", a_run(), other, _trial())
    assert finding.soundness == "doubtful" and "xfs on /dev/sdb" in finding.sentence


def test_null_is_not_asked_where_its_data_lie() -> None:
    null = engine("new", "null")
    assert only("storage", a_run(null), _trial(written=0.0)).soundness == "does not apply"
