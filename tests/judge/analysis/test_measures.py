"""Numbers of a trial: each has an identity, and costs are divided by the right operations."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import make_latency, make_readings, make_record, make_tally, make_trial

from dyno.judge.analysis.measures import compute_measures, count_operations, find_client_baselines
from dyno.record import CLIENT_BASELINE, Metric, PhaseRecord, Reading, Tally


def value(record: PhaseRecord, name: str, baseline: PhaseRecord | None = None) -> float:
    played = make_trial(1, "new", 0, 1.0, phases=(record,))
    own = make_trial(2, CLIENT_BASELINE, -1, 1.0, phases=(baseline,)) if baseline else None
    return {m.name: v for m, v in compute_measures(played, own).items()}[name]


def writers(**changes: Any) -> Tally:
    """100 rows an event, 10 events a second asked for."""
    paced: dict[str, Any] = {
        "name": "writer",
        "unit": "row",
        "units_per_event": 100,
        "target_per_s": 10.0,
    }
    return make_tally(10.0, **paced | changes)


def test_a_rate_is_units_done_in_the_measured_seconds() -> None:
    found = compute_measures(
        make_trial(1, "new", 0, 1.0, phases=(make_record([writers()], "l.i0"),))
    )
    assert found[Metric("select", "l.i0", "writer", "rate_per_s", "row/s", "higher")] == 1000.0


def test_latencies_are_those_of_the_stream_and_of_its_transaction_types() -> None:
    tally = make_tally(1000.0, transactions={"payment": make_latency(5e6)})
    found = compute_measures(make_trial(1, "new", 0, 1.0, phases=(make_record([tally]),)))
    assert found[Metric("select", "run", "reader", "latency_ns_p99", "ns", "lower")] == 3e6
    payment = ("select", "run", "reader/payment")
    assert found[Metric(*payment, "latency_ns_p50", "ns", "lower")] == 5e6
    per_min = 60 * tally.transactions["payment"].count / make_record([tally]).duration_s
    assert found[Metric(*payment, "rate_per_min", "payment/min", "higher")] == per_min > 0


def test_an_operation_is_a_query_where_readers_run_beside_paced_writers() -> None:
    record = make_record([writers(), make_tally(50.0)])
    assert count_operations(record) == 500


def test_an_operation_is_a_row_where_rows_are_inserted() -> None:
    assert count_operations(make_record([writers(target_per_s=None)])) == 10_000
    assert count_operations(make_record([writers()])) == 10_000


def test_the_warm_up_and_failures_cost_too() -> None:
    tally = make_tally(10.0, intended=103, failed=3, warmup=50)
    assert count_operations(make_record([tally])) == 153


def test_a_cost_is_divided_by_the_operations_and_a_gauge_is_not() -> None:
    gauge = Reading("process", "database_bytes", "B", "lower", 4096.0, False)
    readings = (*make_readings(server_cpu_us=2000.0), gauge)
    record = make_record([make_tally(100.0)], readings=readings)
    assert value(record, "server_cpu_us_per_op") == 2.0
    assert value(record, "database_bytes") == 4096.0


def test_the_client_only_baseline_is_subtracted_from_cpu_only_and_never_below_nothing() -> None:
    readings = make_readings(server_cpu_us=2000.0, read_bytes=2000.0)
    record = make_record([make_tally(100.0)], readings=readings)
    baseline = make_record(
        [make_tally(1000.0)], readings=make_readings(server_cpu_us=5000.0, read_bytes=5000.0)
    )
    assert value(record, "server_cpu_us_per_op", baseline) == pytest.approx(1.5)
    assert value(record, "read_bytes_per_op", baseline) == 2.0
    assert value(baseline, "server_cpu_us_per_op", record) == 0.0


def test_switches_come_from_the_driver_where_the_engine_lives_in_it() -> None:
    record = make_record([make_tally(1.0)], readings=make_readings(server_cpu_us=1.0))
    assert value(record, "context_switches_per_op") == 1.0


def test_the_surroundings_are_no_result() -> None:
    found = compute_measures(make_trial(1, "new", 0, 100.0))
    assert not [metric for metric in found if metric.name.startswith("steal")]


def test_a_phase_without_an_event_has_no_latency_and_no_cost() -> None:
    nothing = make_tally(1.0, intended=0, done=0, latency=make_latency(1.0, 0))
    record = make_record([nothing], readings=make_readings(server_cpu_us=1.0))
    found = compute_measures(make_trial(1, "new", 0, 1.0, phases=(record,)))
    assert {metric.name: v for metric, v in found.items()} == {"rate_per_s": 0.0}


def test_the_baseline_of_a_workload_is_its_last_good_trial() -> None:
    bad = make_trial(3, CLIENT_BASELINE, -1, 1.0, status="failed")
    trials = [make_trial(1, CLIENT_BASELINE, -1, 1.0), make_trial(2, CLIENT_BASELINE, -1, 1.0), bad]
    assert find_client_baselines(trials)["select", ()].number == 2


def test_the_costs_of_both_sides_stand_apart() -> None:
    server = Reading("process", "server_cpu_us", "µs", "lower", 5e6, True)
    busy = Reading("client", "driver_busy_percent", "%", "lower", 20.0, False)
    record = make_record([make_tally(1000.0)], readings=(server, busy))
    found = compute_measures(make_trial(1, "a", 0, 1.0, phases=(record,)))
    by_name = {metric.name: value for metric, value in found.items() if not metric.transaction}
    assert by_name["server_cpu_us_per_op"] == 500.0
    assert by_name["driver_cpu_us_per_op"] == 200.0
    assert by_name["driver_user_us_per_op"] == by_name["driver_system_us_per_op"] == 100.0
    assert "context_switches_per_op" not in by_name
