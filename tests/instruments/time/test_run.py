"""A run as it is played: the order of what it does is its behaviour, so that is looked at."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest
from fake_driver import GOOD, FakeSetup, begin_run, fake_setup, judge_by_blocks
from msgspec import structs

from dyno.errors import DynoError, HostError, TrialFailed, UsageError
from dyno.instruments.time import watch
from dyno.instruments.time.run import Rules, RunPlayer, play_run
from dyno.record import CLIENT_BASELINE, Failure, Stop, Trial, WorkloadPlan
from dyno.runs.resolve.draft import Prepared
from dyno.runs.run_folder import RunFolder


@pytest.fixture
def setup() -> FakeSetup:
    return fake_setup()


def played(setup: FakeSetup, prepared: Prepared, kept: RunFolder) -> None:
    """Plays with a judge who looks at 2 and 4 blocks, and has decided at 2."""
    rules = Rules(
        analyse=judge_by_blocks((2, 4), decided=2),
        needs_baseline=lambda _: setup.baseline,
        tools=setup.tools,
    )
    play_run(prepared, kept, setup.events.append, rules)


def _seeds(trials: list[Trial], block: int) -> set[int]:
    return {t.conditions.driver.seed for t in trials if t.conditions.driver and t.block == block}


def test_a_run_plays_blocks_until_the_judge_is_done(setup: FakeSetup, tmp_path: Path) -> None:
    prepared, kept = begin_run(setup, tmp_path)
    played(setup, prepared, kept)
    trials = kept.read_trials()
    assert [(t.number, t.block, t.order) for t in trials] == [
        *((1, 0, 0), (2, 0, 1)),
        *((3, 1, 0), (4, 1, 1)),
    ]
    for block in (0, 1):
        assert {t.candidate for t in trials if t.block == block} == {"a", "b"}
    assert {t.candidate for t in trials if t.order == 0} == {"a", "b"}
    alive = [line for line in setup.journal if line.split()[0] in ("start", "stop")]
    assert [line.split()[0] for line in alive] == ["start", "stop"] * 4
    assert isinstance(setup.events[-1], watch.RunEnded)
    assert not kept.find_homes().exists()
    assert _seeds(trials, 0) != _seeds(trials, 1)


def test_a_log_ends_within_its_budget_and_says_what_its_blocks_take(
    setup: FakeSetup, tmp_path: Path
) -> None:
    """A script by count guesses its length; every look at the clock is 50 s after the last."""
    prepared, kept = begin_run(setup, tmp_path)
    (plan,) = prepared.run.workloads
    counted = [structs.replace(it, stop=Stop("count", events=0)) for it in plan.phases]
    plan = structs.replace(plan, phases=tuple(counted))
    prepared = dataclasses.replace(prepared, run=structs.replace(prepared.run, workloads=(plan,)))
    clock = itertools.count(0.0, 50.0)
    rules = Rules(
        analyse=judge_by_blocks((4,), decided=4),
        needs_baseline=lambda _: False,
        tools=setup.tools,
        clock=lambda: next(clock),
    )
    play_run(prepared, kept, setup.events.append, rules, budget_s=160.0)
    assert {trial.block for trial in kept.read_trials()} == {0}
    told = [it.sentence for it in setup.events if isinstance(it, watch.LengthLearnt)]
    assert told[0].startswith("a block takes 50 s, not ")
    assert told[1:] == ["the budget of 160 s is spent before a verdict"]
    play_run(prepared, kept, setup.events.append, rules)
    assert {trial.block for trial in kept.read_trials()} == {0, 1, 2, 3}, "resumed"


class AskedPlayer(RunPlayer):
    """Notes whose answers are compared, and compares none."""

    def _compare_contents(self, workload: WorkloadPlan) -> None:
        self.watch(watch.LengthLearnt(workload.name))


def test_the_answers_of_a_rehearsal_count_with_its_budget(setup: FakeSetup, tmp_path: Path) -> None:
    """They come before any block, and one that is foretold to end too late
    does not begin.
    """
    prepared, kept = begin_run(setup, tmp_path)
    (plan,) = prepared.run.workloads
    counted = [structs.replace(it, stop=Stop("count", events=0)) for it in plan.phases]
    workloads = (structs.replace(plan, phases=tuple(counted)),)
    design = structs.replace(prepared.run.design, rehearses=True)
    run = structs.replace(prepared.run, workloads=workloads, design=design)
    prepared, clock = dataclasses.replace(prepared, run=run), itertools.count(0.0, 50.0)
    rules = Rules(needs_baseline=lambda _: False, tools=setup.tools, clock=lambda: next(clock))
    told = list[str]()

    def note(event: watch.Event) -> None:
        told.extend([event.sentence] if isinstance(event, watch.LengthLearnt) else [])

    AskedPlayer(prepared, kept, note, [], rules).begin()
    assert told == [plan.name] and not kept.read_trials()
    play_run(prepared, kept, note, rules, budget_s=50.1)
    assert told[1:] == ["the budget of 50.1 s is spent before a verdict"]
    assert not kept.read_trials()


def test_a_run_that_is_over_plays_nothing_more(setup: FakeSetup, tmp_path: Path) -> None:
    prepared, kept = begin_run(setup, tmp_path)
    played(setup, prepared, kept)
    setup.journal.clear()
    played(setup, prepared, kept)
    assert setup.journal == []
    assert len(kept.read_trials()) == 4


def test_a_block_with_a_failed_trial_is_replayed_once(setup: FakeSetup, tmp_path: Path) -> None:
    failing = (GOOD[0], TrialFailed("the driver was killed (signal 9)"))
    setup.driver_says = [GOOD, GOOD, failing]
    prepared, kept = begin_run(setup, tmp_path)
    played(setup, prepared, kept)
    states = [(t.block, t.attempt, t.status) for t in kept.read_trials()]
    assert states == [
        *((0, 1, "ok"), (0, 1, "ok")),
        (1, 1, "failed"),
        *((1, 2, "ok"), (1, 2, "ok")),
    ]
    assert kept.read_trials()[2].failure == Failure("the driver was killed (signal 9)")
    assert not any(isinstance(event, watch.BlockDropped) for event in setup.events)


def test_a_block_that_fails_twice_is_given_up_and_another_played(
    setup: FakeSetup, tmp_path: Path
) -> None:
    failing = (GOOD[0], TrialFailed("out of luck", cause="a\nb"))
    setup.driver_says = [GOOD, GOOD, GOOD, failing, GOOD, failing]
    prepared, kept = begin_run(setup, tmp_path)
    played(setup, prepared, kept)
    assert [t.block for t in kept.read_trials()] == [0, 0, 1, 1, 1, 1, 2, 2]
    dropped = [event for event in setup.events if isinstance(event, watch.BlockDropped)]
    assert [event.block for event in dropped] == [1]
    assert dropped[0].reason.endswith("failed: out of luck: a")


def test_a_candidate_that_never_works_ends_the_run_early(setup: FakeSetup, tmp_path: Path) -> None:
    setup.driver_says = [(TrialFailed("no such table"),)] * 9
    prepared, kept = begin_run(setup, tmp_path)
    with pytest.raises(TrialFailed, match="fails on select every time: no such table"):
        played(setup, prepared, kept)
    assert len(kept.read_trials()) == 2


def test_what_fails_alike_at_two_blocks_ends_the_run(setup: FakeSetup, tmp_path: Path) -> None:
    failing = (GOOD[0], TrialFailed("out of luck", cause="a"))
    setup.driver_says = [GOOD, GOOD, *[failing] * 9]
    prepared, kept = begin_run(setup, tmp_path)
    with pytest.raises(TrialFailed, match="fails on select every time: out of luck: a"):
        played(setup, prepared, kept)
    failed = [(t.block, t.attempt) for t in kept.read_trials() if t.status == "failed"]
    assert failed[:2] == [(1, 1), (1, 2)] and len(failed) < 6


@pytest.mark.parametrize("error", [UsageError("a wrong word"), HostError("no room")])
def test_what_more_trials_would_not_mend_ends_the_run_at_once(
    setup: FakeSetup, tmp_path: Path, error: DynoError
) -> None:
    setup.driver_says = [GOOD, (GOOD[0], error)]
    prepared, kept = begin_run(setup, tmp_path)
    with pytest.raises(type(error)):
        played(setup, prepared, kept)
    assert [t.status for t in kept.read_trials()] == ["ok", "failed"]


def test_an_interrupted_run_goes_on_with_its_torn_block_played_whole(
    setup: FakeSetup, tmp_path: Path
) -> None:
    setup.driver_says = [GOOD, GOOD, GOOD, (GOOD[0], KeyboardInterrupt())]
    prepared, kept = begin_run(setup, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        played(setup, prepared, kept)
    (kept.find_homes()).mkdir()
    played(setup, prepared, kept)
    states = [(t.block, t.attempt, t.status) for t in kept.read_trials()]
    assert states[2:] == [
        *((1, 1, "ok"), (1, 1, "interrupted")),
        *((1, 2, "ok"), (1, 2, "ok")),
    ]
    assert not kept.find_homes().exists()


def test_the_baseline_is_played_first_and_its_failure_is_borne(
    setup: FakeSetup, tmp_path: Path
) -> None:
    setup.baseline = True
    setup.driver_says = [(UsageError("no row came back"),)] * 2
    prepared, kept = begin_run(setup, tmp_path)
    played(setup, prepared, kept)
    baselines = [t for t in kept.read_trials() if t.candidate == CLIENT_BASELINE]
    assert [(t.number, t.block, t.attempt, t.status) for t in baselines] == [
        *((1, -1, 1, "failed"), (2, -1, 2, "failed")),
    ]
    assert setup.plans[0].session == {"kind": "null", "delay_ns": 0}
    assert len(kept.read_trials()) == 6


def test_a_full_disk_is_noticed_before_the_run(setup: FakeSetup, tmp_path: Path) -> None:
    prepared, kept = begin_run(setup, tmp_path)
    huge = dataclasses.replace(prepared, size_bytes=1 << 60)
    with pytest.raises(HostError, match=r"MB free(.|\n)*hint: free some"):
        played(setup, huge, kept)
    assert kept.read_trials() == []
