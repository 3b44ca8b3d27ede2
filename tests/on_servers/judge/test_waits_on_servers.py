"""Waits of known size on real engines: the first cause named is the right one."""

from __future__ import annotations

from pathlib import Path

import pytest
from causes_played import find_cause, play
from repository import ROOT

from dyno.judge.analysis.measures import count_operations
from dyno.record import Trial

pytestmark = [pytest.mark.timeout(300)]

#: How long the function sleeps that an operation calls.
SLEEP_US = 5000.0
#: Three users, of whom the first holds what the others update, where `held`: the bench's own.
HELD = (Path(__file__).resolve().parents[3] / "bench" / "held_lock.lua").read_text()


def compute_updates_us(trial: Trial) -> float:
    """What the two users that update waited for their answers, for an operation of all three."""
    record = trial.phases[-1]
    (stream,) = record.streams
    whole_us = stream.latency.mean_ns * stream.latency.count / 1e3
    return (whole_us - record.duration_s * 1e6) / count_operations(record)


@pytest.mark.parametrize(
    ("engine", "held", "is_counted", "event"),
    [
        ("postgres@18", "rows", False, "transactionid"),
        ("mysql@8.0.33", "rows", True, ""),
        ("mariadb", "tables", False, "waiting for table metadata lock"),
        ("sqlite", "file", True, ""),
    ],
)
def test_a_lock_that_another_session_holds_is_named_first_with_its_size(
    engine: str, held: str, is_counted: bool, event: str, tmp_path: Path
) -> None:
    path = tmp_path / "held.lua"
    path.write_text(HELD)
    options = {"threads": "3", "time": "2", "warmup_time": "0"}
    base = play(engine, str(path), **options)
    other = play(engine, str(path), held=held, **options)
    cause = find_cause(base, other)
    assert cause.sentence.startswith("an operation waits "), cause.sentence
    assert " longer for locks [" in cause.sentence.partition(";")[0]
    (wait,) = [each for each in cause.waits if each.kind == "locks" and each.differs]
    truth_us = compute_updates_us(other) - compute_updates_us(base)
    assert abs(wait.difference_us - truth_us) < 0.2 * truth_us, (wait, truth_us)
    assert wait.is_counted == is_counted and event in (wait.events or {"": 0.0})
    unheld = find_cause(base, base)
    assert not any(each.differs for each in unheld.waits)


def test_a_function_that_sleeps_is_named_as_a_wait_and_no_cpu_time(tmp_path: Path) -> None:
    path = tmp_path / "routine.lua"
    path.write_text((ROOT / "bench/routine.lua").read_text())
    base, other = (
        play("mysql@8.0.33", str(path), threads="1", time="2", sleep=sleep)
        for sleep in ("0", f"{SLEEP_US / 1e6:g}")
    )
    cause = find_cause(base, other)
    assert "longer for other things [" in cause.sentence.partition(";")[0], cause.sentence
    (wait,) = [each for each in cause.waits if each.kind == "other"]
    (stream,) = other.phases[-1].streams
    # the rest of the latency is what the host took before the sleep and after it
    latency_us = stream.latency.mean_ns / 1e3
    assert 0.8 * SLEEP_US < wait.difference_us < 1.2 * latency_us
    assert "user sleep" in (wait.events or {})


def test_commits_that_are_not_flushed_take_one_fsync_less_and_wait_less_for_files() -> None:
    durable = "postgres@18?synchronous_commit=on&fsync="
    options = {"table_size": "500", "threads": "1", "time": "0.5"}
    flushed, lazy = (
        play(f"{durable}{way}", "oltp_update_non_index", **options) for way in ("on", "off")
    )
    cause = find_cause(flushed, lazy)
    (fsyncs,) = [each for each in cause.counters if each.counter == "fsyncs"]
    assert fsyncs.differs and -1.2 < fsyncs.difference < -0.8
    first = next(part for part in cause.sentence.split("; ") if part.startswith("an operation"))
    assert first.startswith("an operation takes ") and "fewer fsyncs" in first.partition("]")[0]


def test_what_a_server_is_asked_is_not_counted_as_its_clients_work() -> None:
    """As many statements as the driver sent, and not one for each sample."""
    for engine in ("mysql@8.0.33", "postgres@18"):
        trial = play(engine, "oltp_point_select", table_size="500", threads="1", time="3", rate="5")
        record = trial.phases[-1]
        assert record.waits and record.waits.samples > 15
        # a reading of the counters before and one after are statements, too: a fixed number
        counted = {each.name: each.value for each in record.readings if each.probe == "server"}
        (own,) = [n for name, n in counted.items() if name != "server_commits"]
        assert own - (record.streams[0].claimed or 0) < 15, (counted, record.streams[0].claimed)
