"""Samples and counts of a server's locks, as what an operation does with them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dyno.engines import BESIDE
from dyno.engines.null import Engine
from dyno.errors import TrialFailed
from dyno.instruments.time.locks import (
    MOST,
    Counts,
    LockSamples,
    compute_uses,
    divide_cores,
    place_threads,
    select_uses,
    watch_locks,
)
from dyno.record.scaling import LockUse

TABLE = ("mutex/sql/LOCK_table", "exclusive", "1")


def make_samples(*rows: list[str | None], taken: int = 100) -> LockSamples:
    samples = LockSamples()
    for _ in range(taken):
        samples.add(rows)
    return samples


def compute(samples: LockSamples, before: Counts, after: Counts, users: int = 1) -> list[LockUse]:
    """For 1,000 operations, of whose time 50 ns stand for a sample."""
    return compute_uses(samples, before, after, 50.0, 1000, users)


def test_the_share_of_samples_is_the_time_held_and_waiting_sessions_are_time_waited() -> None:
    advisory: list[str | None] = ["advisory lock 0 62", "exclusive", "", "1", "3"]
    (found,) = compute(make_samples(advisory), {}, {})
    assert found == LockUse("advisory lock 0 62", "exclusive", 1.0, 5_000.0, 15_000.0)


def test_a_lock_that_few_samples_met_has_no_known_time() -> None:
    rows: list[str | None] = ["advisory lock 0 62", "exclusive", "", "1", "1"]
    (found,) = compute(make_samples(rows, taken=9), {}, {})
    assert (found.held_ns, found.waited_ns) == (None, 450.0)


def test_counts_are_those_of_the_users_alone() -> None:
    beside = (TABLE[0], "exclusive", BESIDE)
    before: Counts = {TABLE: (500, 9_000), beside: (100, 1_000)}
    after: Counts = {TABLE: (3_000, 159_000), beside: (600, 51_000)}
    held: list[str | None] = [*TABLE, "1", "0"]
    (found,) = compute(make_samples(held, taken=40), before, after)
    assert found == LockUse(TABLE[0], "exclusive", 2.0, 1_000.0, 50.0)


def test_what_is_gone_with_its_session_is_no_lock_between_sessions() -> None:
    gone: list[str | None] = ["mutex/sql/THD", "exclusive", "7", "1", "0"]
    assert compute(make_samples(gone), {}, {TABLE: (0, 0)}) == []


@pytest.mark.parametrize(("users", "told"), [(1, 1), (4, 0)])
def test_a_class_that_each_user_has_one_of_is_left_out(users: int, told: int) -> None:
    after: Counts = {("mutex/sql/THD", "exclusive", str(n)): (1_000, 0) for n in range(4)}
    assert len(compute(LockSamples(), {}, after, users)) == told


def test_writers_of_a_read_write_lock_stand_beside_all_who_take_it() -> None:
    held: list[str | None] = ["rwlock/sql/LOCK", "exclusive", "3", "1", "0"]
    after: Counts = {("rwlock/sql/LOCK", "shared", "3"): (4_000, 0)}
    found = compute(make_samples(held), {}, after)
    assert {each.kind: each.acquisitions for each in found} == {"exclusive": 1.0, "shared": 4.0}


def test_the_locks_that_matter_come_first_and_the_others_are_counted() -> None:
    often = [LockUse(f"lock {n}", "exclusive", 1.0, 1_000.0 * n) for n in range(MOST + 2)]
    seldom = LockUse("seldom", "shared", 0.001, 9e9)
    found = select_uses([*often, seldom], ("atomics",), 2)
    assert [each.name for each in found.uses[:2]] == [f"lock {MOST + 1}", f"lock {MOST}"]
    assert len(found.uses) == MOST
    assert found.unseen == ("atomics", "2 more locks, which take less of an operation's time")


def test_an_embedded_engine_that_did_not_count_is_said(tmp_path: Path) -> None:
    engine = Engine(lambda session, statements: [])
    server = engine.start(engine.program("0", {}, print), tmp_path, {})
    watch = watch_locks(engine, server, os.getpid(), tmp_path)
    assert watch
    watch.stop()
    with pytest.raises(TrialFailed, match="did not count its locks"):
        watch.describe(1, 1)
    watch.close()


def test_who_asks_has_a_core_of_its_own_where_there_are_several() -> None:
    core, others = divide_cores()
    assert not core & others and others
    assert core | others == os.sched_getaffinity(0)
    assert len(core) == (len(core | others) > 1)


def test_threads_are_placed_but_for_some() -> None:
    core, others = divide_cores()
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as two:
        try:
            place_threads([one.pid, two.pid, 2**22], others, [two.pid])
            assert os.sched_getaffinity(one.pid) == others
            assert os.sched_getaffinity(two.pid) == core | others
        finally:
            one.kill()
            two.kill()
