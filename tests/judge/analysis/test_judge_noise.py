"""The judge on a noisy host and on torn blocks: what is dropped, counted, named, given up."""

from __future__ import annotations

from fakes import CALM, make_run, make_trial, make_trials
from judging import CROWDED, NOISY, analyse_unaudited, judge_unaudited, logs, noisy, primary
from msgspec import structs

from dyno.record import Failure


def test_a_noisy_block_is_dropped_whole_counted_and_named() -> None:
    trials = make_trials({"new": logs(0.05, 0.005, 8)})
    verdict = judge_unaudited(make_run(), noisy(trials, {2, 5}, NOISY))
    assert [(each.workload, each.block, each.reason) for each in verdict.dropped] == [
        ("select", 2, "steal 33.3 % > 5 %"),
        ("select", 5, "steal 33.3 % > 5 %"),
    ]
    assert (primary(verdict).blocks, primary(verdict).dropped) == (6, 2)


def test_foreign_cpu_is_noise_too_and_our_own_is_not() -> None:
    trials = make_trials({"new": [0.0] * 7})
    busy = CALM | {"busy_ns": 9.0, "own_ns": 9.0}
    (dropped,) = judge_unaudited(make_run(), noisy(trials, {0}, CROWDED)).dropped
    assert (dropped.workload, dropped.block) == ("select", 0)
    assert not judge_unaudited(make_run(), noisy(trials, {0}, busy)).dropped


def test_a_host_that_stays_noisy_ends_the_run() -> None:
    trials = make_trials({"new": logs(0.05, 0.005, 9)})
    run = make_run(analyses=(6,))
    broken = noisy(trials, {0, 2, 4, 6}, NOISY)
    assert analyse_unaudited(run, broken[:-2]).state == "go on"
    assert analyse_unaudited(run, broken).state == "too noisy"
    verdict = judge_unaudited(run, broken)
    assert (verdict.overall, verdict.complete) == ("inconclusive", True)
    assert "this host is too noisy: 4 of 9 blocks" in verdict.sentence


def test_a_host_that_spoils_every_block_is_given_up_at_the_first_look_with_the_remedy() -> None:
    trials = noisy(make_trials({"new": [0.0] * 6}), set(range(6)), CROWDED)
    assert analyse_unaudited(make_run(), trials[:-2]).state == "go on"
    assert analyse_unaudited(make_run(), trials).state == "too noisy"
    said = judge_unaudited(make_run(), trials).sentence
    assert "6 of 6 blocks of select were dropped (foreign CPU" in said
    assert "`dyno doctor`" in said
    assert "[limits]" in said
    assert "--limit foreign_percent=" in said
    stolen = noisy(make_trials({"new": [0.0] * 6}), set(range(6)), NOISY)
    assert "--limit steal_percent=" in judge_unaudited(make_run(), stolen).sentence
    one_good = noisy(make_trials({"new": [0.0] * 7}), set(range(1, 7)), CROWDED)
    assert analyse_unaudited(make_run(), one_good).state == "go on"


def test_a_block_with_a_failed_trial_counts_for_nothing() -> None:
    trials = make_trials({"new": logs(0.0, 0.005, 6)})
    trials[-1] = structs.replace(trials[-1], status="failed", failure=Failure("disk full"))
    verdict = judge_unaudited(make_run(), trials)
    assert (verdict.complete, verdict.overall) == (False, "inconclusive")
    assert "new failed: disk full" in verdict.sentence
    assert analyse_unaudited(make_run(), trials).valid == {"select": 5}


def test_only_the_latest_attempt_of_a_block_counts() -> None:
    trials = make_trials({"new": logs(0.0, 0.005, 6)})
    torn = make_trial(99, "new", 3, 10.0, attempt=2)
    assert analyse_unaudited(make_run(), [*trials, torn]).valid == {"select": 5}
    whole = make_trial(100, "old", 3, 10.0, attempt=2)
    assert analyse_unaudited(make_run(), [*trials, torn, whole]).valid == {"select": 6}
