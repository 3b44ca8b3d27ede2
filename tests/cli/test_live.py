"""What is shown while trials play: a panel on a terminal, one line per trial on a pipe."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import make_run, make_trial
from msgspec import structs

from dyno.cli import play
from dyno.cli.terminal import live
from dyno.instruments.time import watch
from dyno.record import CLIENT_BASELINE, Failure
from dyno.runs.forecast.estimate import Forecast

FORECAST = Forecast(40.0, 240.0, 1000, 6, 24, {1.0: 1.2})


def started(block: int, place: int = 1, candidate: str = "old") -> watch.TrialStarted:
    return watch.TrialStarted(block, 1, "select", candidate, 2 * block + place, place, 2)


def play_a_block(told: watch.Watch) -> None:
    """A block whose second trial fails."""
    told(watch.RunStarted(make_run(), Path("x"), 0))
    told(started(0))
    told(watch.PhaseStarted("run", 10.0))
    stream = watch.StreamProgress("reader", 10, 0, 10.0, 1000)
    told(watch.Progressed("run", 1.0, (stream,)))
    told(watch.TrialEnded(make_trial(1, "old", 0, 1234.0)))
    failed = make_trial(2, "new", 0, 1.0, status="failed", failure=Failure("no room", hint="x"))
    told(watch.TrialEnded(failed))
    told(watch.BlockDropped(0, "steal 9 %"))
    told(watch.BlockJudged(6, {"select": 0}, "go on", "0 of 6"))
    told(watch.RunEnded("decided"))


def test_a_pipe_gets_one_plain_line_per_block_and_what_went_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with live.watch_live(FORECAST) as told:
        play_a_block(told)
    assert capsys.readouterr().out.splitlines() == [
        "block 1/24  trial 2  new  select  failed: no room",
        "block 1 dropped: steal 9 %",
        "block 1/24  old 1,234 queries/s",
    ]


def test_a_block_of_several_workloads_has_a_line_for_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = make_run()
    (plan,) = run.workloads
    both = structs.replace(run, workloads=(plan, structs.replace(plan, name="other")))
    with live.watch_live(FORECAST) as told:
        told(watch.RunStarted(both, Path("x"), 0))
        told(watch.TrialEnded(make_trial(1, "old", 0, 1234.0)))
        other = structs.replace(make_trial(2, "old", 0, 99.0), workload="other")
        told(watch.TrialEnded(other))
        told(watch.BlockJudged(6, {"select": 1}, "go on", "1 of 6"))
    first, second = capsys.readouterr().out.splitlines()
    assert first == "block 1/24  select  old 1,234 queries/s"
    assert second == "block 1/24  other  old 99.0 queries/s"


def test_a_pipe_gets_one_line_per_trial_where_all_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with live.watch_live(FORECAST, verbose=True) as told:
        play_a_block(told)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "block 1/24  trial 1  old  select  ok  run 1,234 queries/s  10 s"
    assert second == "block 1/24  trial 2  new  select  failed: no room"


def test_a_trial_that_is_interrupted_in_its_warm_up_has_a_rate_of_0() -> None:
    trial = make_trial(1, "old", 0, 1234.0, status="interrupted")
    (phase,) = trial.phases
    tally = structs.replace(phase.streams[0], done=0, intended=0)
    # the end of the warm-up is still to come
    early = structs.replace(phase, measured_ns=phase.ended_ns + 1, streams=(tally,))
    assert early.duration_s == 0.0
    trial = structs.replace(trial, phases=(early,))
    line = live.format_trial(make_run(), trial)
    assert "interrupted  run 0 queries/s" in line
    assert str(play.format_stream_rows(trial)[0][2]) == "0 queries"


def test_the_line_says_how_far_the_run_is_and_who_plays_how_fast() -> None:
    state = live.RunState(FORECAST)
    assert live.format_panel(state) == "  starting …"
    state.take(watch.RunStarted(make_run(), Path("x"), 0))
    state.take(started(0, 2, "new"))
    state.take(watch.PhaseStarted("run", 10.0))
    stream = watch.StreamProgress("reader", 10, 2, 4321.0, 1_500_000)
    state.take(watch.Progressed("run", 3.0, (stream,)))
    assert live.format_panel(state) == (
        "  ░░░░░░░░░░░░░░░░  block 1/24 · 1 min left, at most 4 min · new · reader 4,321/s, "
        "slowest 1.50 ms, 2 failed"
    )


def test_the_bar_is_the_share_of_the_blocks_that_the_next_analysis_takes() -> None:
    state = live.RunState(None)
    state.take(watch.RunStarted(make_run(), Path("x"), 0))
    state.take(watch.BlockJudged(6, {"select": 3}, "go on", "3 of 6"))
    assert live.draw_bar(state) == "█" * 8 + "░" * 8
    state.take(watch.BlockJudged(6, {"select": 6}, "decided", "6 of 6"))
    assert live.draw_bar(state) == "█" * 16


def test_the_baseline_is_called_by_its_name() -> None:
    state = live.RunState(FORECAST)
    state.take(watch.RunStarted(make_run(), Path("x"), 0))
    state.take(started(-1, 1, CLIENT_BASELINE))
    assert "baseline · null" in live.format_panel(state)


def test_what_should_stay_on_the_screen_is_a_failed_trial_and_a_dropped_block() -> None:
    state = live.RunState(None)
    state.take(watch.RunStarted(make_run(), Path("x"), 0))
    assert not state.take(watch.TrialEnded(make_trial(1, "old", 0, 5.0)))
    failed = make_trial(2, "new", 0, 1.0, status="failed", failure=Failure("no room"))
    assert "no room" in state.take(watch.TrialEnded(failed))
    assert "steal 9 %" in state.take(watch.BlockDropped(3, "steal 9 %"))


def test_a_block_beyond_the_last_replays_what_noise_has_spoilt() -> None:
    assert live.format_block_place(make_run(), 23) == "block 24/24"
    assert live.format_block_place(make_run(), 24) == "block 25 (replay)"


def test_measured_blocks_replace_the_forecast() -> None:
    state = live.RunState(FORECAST)
    assert state.estimate_block_s() == 10.0
    state.take(started(0))
    state.take(started(0, 2, "new"))
    state.take(started(1))
    assert state.estimate_block_s() < 10.0
