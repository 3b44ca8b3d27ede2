"""Audit `coordinated_omission`: latencies that leave a wait out are found, honest ones are not."""

from __future__ import annotations

from typing import Any

import pytest
from audit_records import a_run, a_trial, findings, only, recorded
from fakes import make_latency, make_phase
from msgspec.structs import replace

from dyno.record import Finding, Run, Series, Switches


def _run(metric: str = "rate_per_s", **changes: Any) -> Run:
    phase = make_phase(primary=(metric,)) | changes
    return a_run(phase=phase)


def _judged(run: Run, **changes: Any) -> Finding:
    return only("coordinated_omission", run, a_trial(3, "new", **changes))


def test_an_event_is_never_answered_before_it_is_late() -> None:
    late = _judged(_run(), target_per_s=1e3, lateness=make_latency(2e6, 10_000))
    assert (late.soundness, late.trials, late.phase) == ("invalid", (3,), "run")
    assert "the wait was left out" in late.sentence
    waited = make_latency(2e6, 10_000), make_latency(1.9e6, 10_000)
    honest = _judged(_run(), target_per_s=1e3, latency=waited[0], lateness=waited[1])
    assert honest.soundness == "sound"


def test_coordinated_omission_is_seen_in_one_percentile() -> None:
    lateness = make_latency(1.0, 10_000)
    tail = lateness.percentiles_ns | {"99.9": 9_000_000_000}
    spoiled = replace(lateness, percentiles_ns=tail)
    assert _judged(_run(), lateness=spoiled).soundness == "invalid"


@pytest.mark.parametrize(
    ("connections", "soundness"), [(1, "sound"), (2, "doubtful"), (3, "invalid")]
)
def test_users_of_a_closed_loop_are_always_in_an_event(connections: int, soundness: str) -> None:
    """One user's latencies, though so many are said to have been at work."""
    finding = _judged(_run(), connections=connections)
    assert finding.soundness == soundness
    assert soundness == "sound" or "% of the users' time" in finding.sentence
    interleaved = _judged(_run(), connections=connections, overrun=500)
    assert soundness == "sound" or "5.0 % of events outlasted their slice" in interleaved.sentence
    counted = _run(stop={"kind": "count", "events": 10_000})
    assert _judged(counted, connections=connections).soundness == "sound"


@pytest.mark.parametrize(("rested_s", "soundness"), [(20, "sound"), (14, "doubtful")])
def test_users_who_rest_as_their_script_said_leave_nothing_out(
    rested_s: int, soundness: str
) -> None:
    """Three users in 10 s, of whom one was always in an event."""
    finding = _judged(_run(), connections=3, rested_ns=rested_s * 1_000_000_000)
    assert finding.soundness == soundness
    assert soundness == "sound" or "latencies and rests fill 8" in finding.sentence


def test_a_phase_of_one_long_answer_is_not_blamed_for_its_ends() -> None:
    """An event that began in the warm-up and is counted there fills half of the phase."""
    one = make_latency(5e9 / 1.1, 1)
    one = replace(one, max_ns=5_000_000_000)
    assert _judged(_run(), latency=one, lateness=make_latency(1.0, 1)).soundness == "sound"


@pytest.mark.parametrize(
    ("skipped", "metric", "soundness"),
    [
        (50, "latency_ns_p99", "sound"),
        (200, "latency_ns_p99", "doubtful"),
        (200, "latency_ns_p95", "sound"),
        (200, "rate_per_s", "sound"),
        (200, "latency_ns_max", "sound"),
    ],
)
def test_what_was_due_and_never_begun_is_missing_from_the_tail(
    skipped: int, metric: str, soundness: str
) -> None:
    skips = {"skipped": skipped, "intended": 10_000 + skipped, "target_per_s": 1e3}
    finding = _judged(_run(metric), **skips)
    assert finding.soundness == soundness
    assert soundness == "sound" or "2.0 % of what was due was never begun" in finding.sentence


def test_a_stream_that_never_began_is_doubtful() -> None:
    idle: dict[str, Any] = {"done": 0, "intended": 500, "skipped": 500, "target_per_s": 50.0}
    empty = {"latency": make_latency(1, 0), "series": Series((), (), ())}
    finding = _judged(_run(), **idle, **empty)
    assert finding.soundness == "doubtful" and "none of the events" in finding.sentence


@pytest.mark.parametrize(
    ("stall_ms", "metric", "soundness"),
    [
        (10, "latency_ns_p99", "sound"),
        (50, "latency_ns_p99", "doubtful"),
        (50, "latency_ns_p95", "sound"),
        (50, "rate_per_s", "sound"),
    ],
)
def test_a_closed_loop_hides_stalls_from_its_tail(
    stall_ms: int, metric: str, soundness: str
) -> None:
    """A stall each second, beside 1000 events of 1 ms whose p99 is 3 ms."""
    series = Series((1000,) * 10, (0,) * 10, (stall_ms * 1_000_000,) * 10)
    finding = _judged(_run(metric), series=series)
    assert finding.soundness == soundness
    assert soundness == "sound" or "only a paced stream shows that" in finding.sentence


@pytest.mark.parametrize(
    ("cut", "metric", "soundness"),
    [
        (200, "latency_ns_p99", "doubtful"),
        (200, "latency_ns_p95", "sound"),
        (2, "latency_ns_p99", "sound"),
        (2, "latency_ns_p99.9", "sound"),
        (200, "rate_per_s", "sound"),
    ],
)
def test_a_percentile_among_events_that_were_cut_off_is_a_lower_bound(
    cut: int, metric: str, soundness: str
) -> None:
    lost = {"cut": cut, "cut_ns_max": 13_000_000_000, "failed": cut, "intended": 10_000 + cut}
    finding = _judged(_run(metric), latency=make_latency(1e6, 10_000 + cut), **lost)
    assert finding.soundness == soundness
    assert soundness == "sound" or "200 of 10200 events were cut off" in finding.sentence


@pytest.mark.parametrize(
    ("held", "soundness", "told"),
    [
        ({"waited_ns": 7_000_000_000}, "doubtful", "this host is too noisy"),
        ({"stood_still_ns": 7_000_000_000}, "doubtful", "this host is too noisy"),
        ({"switches": Switches(100, 90_000_000, 7_000_000_000)}, "doubtful", "is too noisy"),
        ({"waited_ns": 3_000_000_000}, "doubtful", "waits are in neither"),
        ({"waited_ns": 1_000_000_000}, "invalid", "waits are in neither"),
    ],
)
def test_time_in_which_the_driver_could_not_send_is_no_wait_that_was_left_out(
    held: dict[str, Any], soundness: str, told: str
) -> None:
    """Three users of whom one was always in an event: latencies fill two fifths of their time."""
    trial = recorded(a_trial(3, "new", connections=3), **held)
    finding = only("coordinated_omission", _run(), trial)
    assert (finding.soundness, told in finding.sentence) == (soundness, True)
    assert ("dyno doctor" in finding.sentence) == ("noisy" in told)


@pytest.mark.parametrize("failed", [1, 5, 90])
def test_a_failed_event_does_not_hide_a_wait_that_was_left_out(failed: int) -> None:
    """Failed events have a lateness and no latency, which explains as many late ones."""
    lateness = make_latency(1.0, 10_000 + failed)
    levels = {"99" if failed > 9 else "99.9": 9_000_000_000}
    spoiled = replace(lateness, percentiles_ns=lateness.percentiles_ns | levels)
    counts = {"failed": failed, "intended": 10_000 + failed}
    assert _judged(_run(), lateness=spoiled, **counts).soundness == "invalid"
    late = make_latency(4e6, 10_000 + failed)
    assert _judged(_run(), target_per_s=1e3, lateness=late, **counts).soundness == "invalid"


def test_late_events_that_may_all_have_failed_are_no_fault() -> None:
    lateness = make_latency(1.0, 10_020)
    late = lateness.percentiles_ns | {"99.9": 9_000_000_000}
    spoiled = replace(lateness, percentiles_ns=late, mean_ns=2e7, max_ns=10_000_000_000)
    assert _judged(_run(), lateness=spoiled, failed=20, intended=10_020).soundness == "sound"


def test_where_many_events_failed_the_users_time_is_not_checked() -> None:
    lateness = make_latency(1.0, 20_000)
    many: dict[str, Any] = {
        "failed": 10_000,
        "intended": 20_000,
        "lateness": lateness,
        "connections": 3,
    }
    told = findings("coordinated_omission", _run(), a_trial(3, "new", **many))
    assert "not checked" in {each.soundness for each in told}
    assert any("too many events failed" in each.sentence for each in told)
