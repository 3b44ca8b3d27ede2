"""A step is judged by requests due: those that failed or were never sent are no goodput."""

from __future__ import annotations

import pytest
from hdr import encoded
from msgspec.structs import replace

from dyno.errors import TrialFailed
from dyno.instruments.capacity.limits import parse_limits
from dyno.instruments.capacity.steps import judge_step
from dyno.record import Latency, PhaseRecord, Series, Tally, Usage

NOTHING = Latency(0, 0.0, 0, {}, encoded([]))


def make_latency(values: list[int]) -> Latency:
    return Latency(len(values), sum(values) / len(values), max(values), {}, encoded(values))


def make_record(
    values: list[int], failed: int = 0, skipped: int = 0, done_by_second: tuple[int, ...] = ()
) -> PhaseRecord:
    done = len(values)
    series = Series(done_by_second or (done,), (failed,) + (0,) * (len(done_by_second) - 1), ())
    tally = Tally(
        name="event", unit="event", units_per_event=1, connections=4, target_per_s=1.0,
        intended=done + failed + skipped, done=done, failed=failed, skipped=skipped, warmup=0,
        restarted=0, queries=0, rows_read=0, rows_changed=0, busy=0, errors={}, service_ns=None,
        latency=make_latency(values) if values else NOTHING, lateness=NOTHING, transactions={},
        series=series,
    )  # fmt: skip
    seconds = max(1, len(done_by_second))
    usage = Usage(0, 0, 0, 0, 0)
    return PhaseRecord("run", 0, 0, seconds * 10**9, False, usage, (tally,))


def test_requests_that_failed_count_as_too_late() -> None:
    fast = [1_000_000] * 980
    terms = parse_limits("p99<10ms")
    assert judge_step(make_record(fast), terms, 1000).holds
    step = judge_step(make_record(fast, failed=20), terms, 1000)
    assert not step.holds and step.values == (None,)
    assert step.goodput_per_s == 980


def test_requests_that_were_never_sent_count_beyond_those_that_may_wait() -> None:
    fast, terms = [1_000_000] * 900, parse_limits("p99<10ms")
    # 10 ms of 1,000 a second: ten may wait at the end, and chance is allowed for
    assert judge_step(make_record(fast, skipped=10), terms, 1000).holds
    step = judge_step(make_record(fast, skipped=100), terms, 1000)
    assert not step.holds and step.load is None


def test_an_overload_is_said_from_the_second_since_when_the_backlog_stays() -> None:
    record = make_record([5_000_000] * 3500, skipped=500, done_by_second=(1000, 1000, 800, 700))
    step = judge_step(record, parse_limits("p99<10ms"), 1000)
    assert step.overloaded_since_s == 3
    calm = make_record([5_000_000] * 4000, done_by_second=(1000, 900, 1000, 1100))
    assert judge_step(calm, parse_limits("p99<10ms"), 1000).overloaded_since_s is None


def test_goodput_is_what_came_within_the_limit() -> None:
    step = judge_step(make_record([1_000_000] * 90 + [50_000_000] * 10), parse_limits("p50<5ms"), 9)
    assert step.holds and step.goodput_per_s == 90


def test_each_limit_has_its_value_and_the_worst_decides() -> None:
    terms = parse_limits("p50<2ms, mean<1.5ms, max<9ms, errors<1%")
    step = judge_step(make_record([1_000_000] * 99 + [8_000_000], failed=1), terms, 100)
    p50, mean, longest, errors = step.values
    assert p50 == pytest.approx(1e6, rel=0.01) and mean == pytest.approx(1.07e6, rel=0.01)
    assert longest == 8e6 and errors == pytest.approx(1 / 101)
    assert step.load == pytest.approx(max(0.5, 1.07 / 1.5, 8 / 9, 100 / 101), rel=0.01)


def test_a_step_that_was_broken_off_is_no_answer() -> None:
    record = replace(make_record([1_000_000] * 9), interrupted=True)
    with pytest.raises(TrialFailed, match="measured nothing"):
        judge_step(record, parse_limits("p99<10ms"), 9)
