"""What servers counted for an operation: which differences are named, in which order, and which
are not."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from fakes import make_run, make_trials
from judging import judge_unaudited
from msgspec import structs

from dyno.host.probes.work import COUNTERS
from dyno.judge.analysis import cause
from dyno.judge.analysis.counters import COUNTED_WAITS, NOMINAL_NS, compare_counters
from dyno.judge.analysis.measures import count_operations
from dyno.judge.analysis.run_view import RunView
from dyno.record import Cause, Reading, Trial
from dyno.record.cause import CounterDifference

BLOCKS = 6
#: Of a candidate by counter an operation's number in each block, or in all of them.
Counted = Mapping[str, float | Sequence[float]]


def make_counted(old: Counted, new: Counted, slowdown: float = 0.0) -> list[Trial]:
    """Six blocks in which the two sides' servers counted so much for an operation."""
    sides = {"old": old, "new": new}
    return [
        _with_readings(trial, sides[trial.candidate])
        for trial in make_trials({"new": [slowdown + 0.001 * (at % 2) for at in range(BLOCKS)]})
    ]


def _with_readings(trial: Trial, counted: Counted) -> Trial:
    record = trial.phases[0]
    own = tuple(
        Reading(
            "work",
            name,
            COUNTERS[name],
            "lower",
            count_operations(record)
            * (each if isinstance(each, int | float) else each[trial.block]),
            per_operation=False,
            condition=True,
        )
        for name, each in counted.items()
    )
    record = structs.replace(record, readings=(*record.readings, *own))
    return structs.replace(trial, phases=(record,))


def find_differences(trials: Sequence[Trial]) -> dict[str, CounterDifference]:
    found = compare_counters(RunView(make_run(), trials), "new")
    return {each.counter: each for each in found}


def find_cause(trials: Sequence[Trial]) -> Cause:
    (cause,) = judge_unaudited(make_run(), trials).causes
    return cause


def test_a_difference_has_an_interval_over_blocks_and_both_sides_values() -> None:
    own = [1.9, 2.0, 2.1, 1.9, 2.0, 2.1]
    difference = find_differences(make_counted({"fsyncs": 1.0}, {"fsyncs": own}))["fsyncs"]
    assert abs(difference.difference - 1.0) < 1e-9 and difference.differs
    assert 0.7 < difference.low < 1.0 < difference.high < 1.3
    assert abs(difference.base_value - 1.0) < 1e-9
    assert abs(difference.candidate_value - 2.0) < 1e-9


def test_counters_are_named_by_their_likely_cost_and_further_ones_are_counted() -> None:
    old = {"log_bytes": 1000.0, "rows_read": 1.0, "fsyncs": 0.0, "page_requests": 3.0}
    new = {"log_bytes": 900.0, "rows_read": 5.0, "fsyncs": 1.0, "page_requests": 50.0}
    assert find_cause(make_counted(old, new)).sentence == (
        "an operation takes 1.00 more fsyncs [1.00, 1.00] (0 → 1.00), "
        "47.0 more page requests [47.0, 47.0] (3.00 → 50.0), "
        "4.00 more rows read [4.00, 4.00] (1.00 → 5.00), and 1 further counter differs"
    )
    ranked = {*NOMINAL_NS, *COUNTED_WAITS}
    assert ranked >= COUNTERS.keys(), "a counter without a cost has no rank"


def test_zeros_are_allowed_and_what_nobody_counted_stands_nowhere() -> None:
    found = find_differences(make_counted({"fsyncs": 0.0, "rows_read": 0.0}, {"fsyncs": 0.5}))
    assert found.keys() == {"fsyncs"} and found["fsyncs"].differs
    assert not find_differences(make_counted({"fsyncs": 0.0}, {"fsyncs": 0.0}))


def test_a_counter_that_one_side_does_not_count_is_told_and_not_compared() -> None:
    trials = make_counted({"fsyncs": 1.0, "log_bytes": 5.0}, {"fsyncs": 1.0})
    assert find_differences(trials).keys() == {"fsyncs"}
    assert find_cause(trials).uncounted == ("log_bytes",)
    assert find_cause(make_counted({"fsyncs": 1.0}, {"fsyncs": 1.0})).uncounted == ()


def test_trifles_are_not_named() -> None:
    close = find_differences(make_counted({"rows_read": 100.0}, {"rows_read": 101.0}))
    assert not close["rows_read"].differs, "below the margin"
    few = find_differences(make_counted({"full_scans": 4e-7}, {"full_scans": 8e-7}))
    assert not few["full_scans"].differs, "four scans a trial are our own questions"
    bytes_only = find_differences(make_counted({"log_bytes": 0.4}, {"log_bytes": 1.7}))
    assert not bytes_only["log_bytes"].differs, "a byte of log is no cause"


def test_a_counter_of_one_of_several_workloads_says_of_which() -> None:
    differing = CounterDifference(
        "tpcc", "run", "new", "fsyncs", "fsyncs", 0.0, 1.0, 1.0, 1.0, 1.0, 0.001, True
    )
    alike = structs.replace(differing, workload="kv", differs=False)
    (told,) = cause.say_counters([differing, alike])
    assert told == "an operation takes 1.00 more fsyncs [1.00, 1.00] (0 → 1.00) in tpcc run"


def test_of_equal_builds_at_most_five_runs_of_a_hundred_name_a_counter() -> None:
    rng, named = random.Random(7), 0

    def draw() -> Counted:
        return {name: [rng.gauss(100, 20) for _ in range(BLOCKS)] for name in COUNTERS}

    for _ in range(100):
        found = find_differences(make_counted(draw(), draw()))
        named += any(each.differs for each in found.values())
    assert named <= 5


def test_where_nothing_differs_that_is_said_and_a_slower_build_is_not_explained() -> None:
    equal = make_counted({"fsyncs": 1.0}, {"fsyncs": 1.0})
    assert find_cause(equal).sentence == "no server counter is shown to differ"
    slower = make_counted({"fsyncs": 1.0}, {"fsyncs": 1.0}, slowdown=0.3)
    assert find_cause(slower).sentence == (
        "no server counter is shown to differ; nothing that "
        "was looked at is shown to explain the difference"
    )
