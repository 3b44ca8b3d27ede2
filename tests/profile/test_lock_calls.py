"""The library that counts locks, in a program of which each acquisition is known."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dyno.profile.lock_calls import (
    CountedLock,
    LockCounts,
    build_environment,
    compute_uses,
    read_counts,
)
from dyno.record.scaling import LockUse

PROGRAM = Path(__file__).with_name("known_lock_calls.c")
TIMES = 20

Play = Callable[..., dict[CountedLock, LockCounts]]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Plays it with so many threads; the counts of its process."""
    folder = tmp_path_factory.mktemp("program")
    program = folder / "known"
    compiled = ["cc", "-O1", "-g", "-pthread", "-o", str(program), str(PROGRAM)]
    subprocess.run(compiled, check=True, timeout=60)

    def start(threads: int, *in_turn: str) -> dict[CountedLock, LockCounts]:
        counts = folder / f"{threads}{in_turn}"
        counts.mkdir()
        words = [str(program), str(threads), str(TIMES), str(folder / "locked"), *in_turn]
        around = {**os.environ, **build_environment(counts)}
        subprocess.run(words, env=around, check=True, timeout=60)
        return read_counts(counts)

    return start


def find(uses: tuple[LockUse, ...], name: str) -> LockUse:
    (found,) = [each for each in uses if each.name.startswith(name)]
    return found


def test_one_thread_s_locks_are_counted_and_held_as_long_as_they_were(play: Play) -> None:
    uses = compute_uses({}, play(1), TIMES, users=1)
    mutex = find(uses, "mutex in take_all (known)")
    assert (mutex.kind, mutex.acquisitions, mutex.waited_ns) == ("exclusive", 1.0, 0.0)
    assert mutex.held_ns is not None and mutex.held_ns >= 2e6
    assert find(uses, "mutex in take_own").acquisitions == 1.0
    reader, writer = find(uses, "read lock in work"), find(uses, "write lock in work")
    assert (reader.kind, writer.kind) == ("shared", "exclusive")
    assert find(uses, "spin lock in work").acquisitions == 1.0

    nested = [each for each in uses if "mutex in wait_and_nest" in each.name]
    assert sorted(round(each.acquisitions * TIMES) for each in nested) == [1, 2]
    assert all(each.held_ns is not None and each.held_ns < 9e8 for each in nested), "it waited"


def test_a_file_s_lock_is_called_by_its_byte_and_ends_where_it_becomes_another(play: Play) -> None:
    uses = compute_uses({}, play(3), 1, users=1)
    names = {each.name.partition(" (")[0]: each for each in uses if "lock_file" in each.name}
    assert names.keys() == {
        "file's read lock of byte 120 in lock_file",
        "file's write lock of byte 120 in lock_file",
        "file's write lock of byte 65535 in lock_file",
    }
    assert all(each.acquisitions == 1.0 and each.waited_ns is None for each in names.values())


def test_with_several_users_a_lock_that_one_thread_alone_took_is_left_out(play: Play) -> None:
    counts = play(2)
    uses = compute_uses({}, counts, 2 * TIMES, users=2)
    assert not [each for each in uses if "take_own" in each.name]
    mutex = find(uses, "mutex in take_all")
    assert mutex.acquisitions == 1.0
    assert mutex.waited_ns is not None and mutex.waited_ns > 0
    assert compute_uses(counts, counts, 2 * TIMES, users=2) == (), "nothing since"


def test_threads_one_after_the_other_are_several(play: Play) -> None:
    uses = compute_uses({}, play(2, "in turn"), 2 * TIMES, users=2)
    mutex = find(uses, "mutex in take_all")
    assert (mutex.acquisitions, mutex.waited_ns) == (1.0, 0.0)


def test_a_folder_without_counts_has_none(tmp_path: Path) -> None:
    (tmp_path / "1").write_bytes(b"half of a file")
    assert read_counts(tmp_path) == {}
