"""A forecast from operations whose parts are known."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from scale_runs import MadeSide, make_scale_run

from dyno.judge.analysis.scaling import WAYS, CandidateForecast, forecast_scaling
from dyno.judge.analysis.scaling_verdict import describe_full, judge_scaling
from dyno.record.scaling import LineTransfer, LockUse, ScaleRun, WakeUp

WAKEUP = WakeUp(10_000.0, 8_000.0, 12_000.0)


def forecast_alone(run: ScaleRun) -> CandidateForecast:
    (found,) = forecast_scaling(run).candidates
    return found


def test_cores_alone_let_throughput_grow_with_them_and_the_client_is_elsewhere() -> None:
    found = forecast_alone(make_scale_run({"it": MadeSide(server_ns=50_000.0)}))
    assert found.full.name == ""
    for point in found.points:
        assert point.rate_per_s.middle == pytest.approx(point.cores * 20_000, rel=0.02)
        assert point.rate_per_s.low < point.rate_per_s.middle < point.rate_per_s.high
    assert found.points[-1].rate_per_s.high < 1.1 * found.points[-1].rate_per_s.middle


def test_a_lock_fills_where_its_share_of_an_operation_says() -> None:
    run = make_scale_run({"it": MadeSide(held={"lock": 5000.0})})
    forecast = forecast_scaling(run)
    (found,) = forecast.candidates
    assert found.full.name == "lock" and 9 <= found.full.cores <= 11
    assert found.points[-1].rate_per_s.middle == pytest.approx(1e9 / 5120, rel=0.01)
    assert found.full.gain == pytest.approx(192 * 20_000 / (1e9 / 5120), rel=0.02)
    assert found.points[-1].idle.middle > 0.9
    said = judge_scaling(run, forecast).sentence
    assert said.startswith("Forecast, not measured: on 64 cores it does ")
    full = describe_full(found)
    assert full.startswith("it: lock lock fills first, at about") and "would do 19." in full


def test_a_granted_lock_fills_sooner_by_the_wake_ups_of_who_gets_it() -> None:
    run = replace(make_scale_run({"it": MadeSide(held={"lock": 5000.0})}), wakeup=WAKEUP)
    plain = forecast_alone(run).points[-1].rate_per_s.middle
    plays = [
        replace(it, locks=[replace(lock, kind="granted") for lock in it.locks]) for it in run.plays
    ]
    handed = forecast_alone(replace(run, plays=tuple(plays))).points[-1].rate_per_s
    assert plain == pytest.approx(1e9 / 5120, rel=0.01)
    assert handed.middle == pytest.approx(1e9 / (5120 + 2 * WAKEUP.ns), rel=0.01)
    assert handed.low < handed.middle < handed.high


def test_a_shared_lock_fills_by_its_line() -> None:
    run = make_scale_run({"it": MadeSide(shared={"grants": 20.0})})
    found = forecast_alone(run)
    assert found.full.name == "grants" and found.kinds["grants"] == "shared"
    last = found.points[-1].rate_per_s
    assert last.middle == pytest.approx(1e9 / (20 * sum(WAYS) / 2 * 60), rel=0.05)
    assert last.low < 0.7 * last.middle and last.high > 1.3 * last.middle
    far = LineTransfer(60.0, 55.0, 66.0, 1, far_ns=300.0, near_cores=24)
    points = forecast_alone(replace(run, line=far)).points
    by_cores = {it.cores: it.rate_per_s.middle for it in points}
    assert by_cores[48] < 0.8 * by_cores[24]
    assert forecast_alone(replace(run, line=None)).full.name == ""


def test_a_forecast_from_one_user_that_was_right_is_sound_and_else_doubtful() -> None:
    right = make_scale_run({"it": MadeSide(held={"lock": 5000.0})})
    forecast = forecast_scaling(right)
    found = judge_scaling(right, forecast)
    assert [it.soundness for it in found.findings if it.audit == "forecast"] == ["sound"]
    assert all(abs(it.off) < 0.03 for it in forecast.candidates[0].checks)
    wrong = make_scale_run({"it": MadeSide(off=0.7)})
    found = judge_scaling(wrong, forecast_scaling(wrong))
    assert found.overall == "measured" and "off by +42.9 % with 2 users" in found.doubts[0].sentence


def test_where_a_candidate_overtakes_the_base() -> None:
    sides = {"old": MadeSide(held={"lock": 5000.0}), "new": MadeSide(server_ns=60_000.0)}
    forecast = forecast_scaling(make_scale_run(sides))
    ((name, cores, is_ahead),) = forecast.crossings
    assert name == "new" and is_ahead and 8 < cores < 16
    alike = forecast_scaling(make_scale_run({"old": MadeSide(), "new": MadeSide()}))
    assert alike.crossings == ()


def test_what_is_held_is_inferred_from_waits_where_only_these_are_known() -> None:
    run = make_scale_run({"it": MadeSide(held={"lock": 8000.0})})
    plays = []
    for play in run.plays:
        waited_ns = 0.0 if play.users == 1 else 1500.0
        locks = [LockUse(it.name, it.kind, 2.0, None, waited_ns) for it in play.locks]
        plays.append(replace(play, locks=tuple(locks)))
    found = forecast_alone(replace(run, plays=tuple(plays)))
    assert 2000 < found.demand.held_ns["lock"] < 30_000 and found.unknown == ()
    plays = [
        replace(it, locks=tuple(replace(lock, waited_ns=None) for lock in it.locks)) for it in plays
    ]
    lost = replace(run, plays=tuple(plays))
    forecast = forecast_scaling(lost)
    assert forecast.candidates[0].unknown == ("lock",)
    told = [it.sentence for it in judge_scaling(lost, forecast).findings]
    assert any("how long it holds lock is not known" in it for it in told)


def test_a_lock_that_was_met_in_one_restart_of_three_is_in_no_forecast() -> None:
    run = make_scale_run({"it": MadeSide(held={"lock": 8000.0})})
    plays = [replace(it, locks=it.locks if it.restart == 0 else ()) for it in run.plays]
    run = replace(run, plays=tuple(plays))
    forecast = forecast_scaling(run)
    assert forecast.candidates[0].demand.held_ns == {} and not forecast.candidates[0].full.name
    told = [it.sentence for it in judge_scaling(run, forecast).list_findings("not checked")]
    assert "it: lock in few restarts, and counts as nothing" in told


def test_users_may_be_given_by_core() -> None:
    few = forecast_alone(make_scale_run({"it": MadeSide()}, users_per_core=1.0))
    many = forecast_alone(make_scale_run({"it": MadeSide()}))
    assert few.points[3].users == 8 < many.points[3].users
    assert few.points[3].rate_per_s.middle < 0.9 * many.points[3].rate_per_s.middle


def test_what_is_not_known_is_said() -> None:
    run = make_scale_run({"it": MadeSide(tells=False)}, line=None)
    forecast = forecast_scaling(run)
    verdict = judge_scaling(run, forecast)
    unseen = {it.audit for it in verdict.list_findings("not checked")}
    assert {"locks", "cache lines", "memory", "frequency", "scheduler", "data"} <= unseen
    noisy = replace(run.plays[0], others_percent={"foreign_percent": 40.0})
    run = replace(run, plays=(noisy, *run.plays[1:]))
    doubts = judge_scaling(run, forecast).doubts
    assert [it.audit for it in doubts] == ["noise"]
