"""The injected delay reaches real engines: an embedded one by its unlocking, a server by its
sending.
"""

from __future__ import annotations

import pytest

from dyno.compare.calibration.cases import list_cases
from dyno.compare.calibration.pilot import Shape, add_keys, measure_baseline, sum_reading
from dyno.instruments.time.run import play_once
from dyno.judge.analysis.measures import count_operations
from dyno.runs.resolve.experiment import draft_run

pytestmark = [pytest.mark.timeout(300)]

TINY = Shape(options={"time": "0.3", "warmup_time": "0.1", "table_size": "200"}, blocks=3)
ENGINES = ("sqlite", "postgres@18", "mysql@8.0.33")
SPIN_NS = 200_000


@pytest.mark.parametrize("engine", ENGINES)
def test_each_operation_has_one_answer_to_hold_up(engine: str) -> None:
    pilot = measure_baseline(engine, TINY, lambda _: None)
    assert pilot.answers_per_op == pytest.approx(1.0, abs=0.05)
    assert {lot.kind for lot in list_cases(engine, pilot, {"delay": 1, "p99": 1})} == {
        "delay",
        "p99 delay",
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_injected_is_what_the_client_waits_for(engine: str) -> None:
    """200 µs in each answer: counted by the library, and seen by the driver in every latency."""
    injected = add_keys(engine, {"inject": f"{SPIN_NS}ns"})
    prepared = draft_run(TINY.build_experiment([injected], "rate_per_s"), lambda _: None)
    trial = play_once(prepared, lambda _: None)
    assert trial.status == "ok", trial.failure
    record = trial.phases[-1]
    assert sum_reading(record, "injected_ns") / count_operations(record) >= 0.95 * SPIN_NS
    assert record.streams[0].latency.percentiles_ns["50"] >= SPIN_NS


def test_an_engine_that_gives_no_such_answer_gets_no_delay() -> None:
    pilot = measure_baseline("duckdb", TINY, lambda _: None)
    assert pilot.answers_per_op < 0.5
    assert list_cases("duckdb", pilot, {"delay": 1, "p99": 1}) == []
