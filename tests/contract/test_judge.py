"""The judge on made-up runs: what counts, what is decided when, and what sets the verdict."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from fakes import (
    CALM,
    make_phase,
    make_readings,
    make_record,
    make_run,
    make_tally,
    make_trial,
    make_trials,
    make_workload,
)

from dyno.judge import judge, look
from dyno.record import FLOOR, Comparison, Finding, Run, Trial, Verdict

NOISY = {"steal_ns": 1.0, "busy_ns": 1.0, "idle_ns": 1.0, "own_ns": 1.0}
CROWDED = {"steal_ns": 0.0, "busy_ns": 2.0, "idle_ns": 1.0, "own_ns": 1.0}


def logs(mean: float, sd: float, blocks: int, seed: int = 1) -> list[float]:
    """Blocks whose mean and spread are exactly these, to leave nothing to chance."""
    dice = random.Random(seed)
    raw = [dice.gauss(0.0, 1.0) for _ in range(blocks)]
    middle = sum(raw) / blocks
    spread = (sum((x - middle) ** 2 for x in raw) / (blocks - 1)) ** 0.5
    return [mean + sd * (x - middle) / spread for x in raw]


def primary(verdict: Verdict, candidate: str = "new") -> Comparison:
    return next(c for c in verdict.comparisons if c.primary and c.candidate == candidate)


def judged(mean: float, sd: float = 0.005, blocks: int = 6, **design: Any) -> Verdict:
    return judge(make_run(**design), make_trials({"new": logs(mean, sd, blocks)}))


def noisy(trials: Sequence[Trial], blocks: set[int], host: dict[str, float]) -> list[Trial]:
    """The same trials; in `blocks` one candidate's saw this `host`."""
    return [
        dataclasses.replace(
            trial,
            phases=tuple(
                dataclasses.replace(record, readings=make_readings(host)) for record in trial.phases
            ),
        )
        if trial.block in blocks and trial.candidate == "new"
        else trial
        for trial in trials
    ]


class Heard:
    """An audit that says what it was made with."""

    summary = "a test's own"

    def __init__(self, finding: Finding) -> None:
        self.finding = finding

    def judge(self, run: Run, trials: Sequence[Trial]) -> list[Finding]:
        return [self.finding]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No audit but the test's own: made-up trials need not be sound in every way."""
    monkeypatch.setattr("dyno.judge.hearing.audits", dict)


@pytest.fixture
def hear(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def only(*trials: int) -> None:
        finding = Finding("mock", "invalid", "rows are missing", trials)
        monkeypatch.setattr("dyno.judge.hearing.audits", lambda: {"mock": Heard(finding)})

    return only


@pytest.mark.parametrize(
    "mean,word,overall",
    [
        (0.05, "slower", "slower"),
        (0.0, "not slower", "not slower"),
        (-0.05, "faster", "not slower"),
    ],
)
def test_a_clear_case_is_decided_at_the_first_look(mean: float, word: str, overall: str) -> None:
    verdict = judged(mean)
    assert (primary(verdict).verdict, verdict.overall) == (word, overall)
    assert verdict.complete
    assert [row["blocks"] for row in verdict.looks] == [6]


def test_a_slowdown_is_the_time_ratio_and_the_change_is_the_metrics_own() -> None:
    found = primary(judge(make_run(), make_trials({"new": [0.5] * 6})))
    assert found.slowdown_percent == pytest.approx(64.87, abs=0.01)
    assert found.change_percent == pytest.approx(-39.35, abs=0.01)
    assert found.candidate_value / found.base_value == pytest.approx(0.6065, abs=1e-4)


def test_an_unclear_case_goes_on_from_look_to_look_until_max() -> None:
    values = logs(0.01, 0.03, 24)
    run, trials = make_run(looks=(6, 10)), make_trials({"new": values[:10]})
    for blocks, following in ((0, 6), (5, 6), (6, 10), (9, 10)):
        now = look(run, trials[: 2 * blocks])
        assert (now.state, now.blocks) == ("go on", following)
        assert now.missing == {"select": following - blocks}
    assert look(run, trials).state == "undecided"
    assert judge(run, trials).overall == "inconclusive"


def test_a_look_uses_its_own_blocks_and_later_ones_wait() -> None:
    values = logs(0.01, 0.03, 6)
    between = judge(make_run(), make_trials({"new": [*values, 0.9, 0.9]}))
    assert primary(between).blocks == 6
    assert primary(between).slowdown_percent == pytest.approx(1.005, abs=0.001)
    assert not between.complete


def test_before_the_first_look_nothing_is_decided() -> None:
    verdict = judged(0.5, blocks=4)
    assert verdict.overall == primary(verdict).verdict == "inconclusive"
    assert "4 of 6 valid blocks" in verdict.sentence


def test_a_run_without_blocks_is_inconclusive_and_says_why() -> None:
    verdict = judge(make_run(), [])
    assert (verdict.overall, verdict.complete, verdict.comparisons) == ("inconclusive", False, ())
    assert "not finished: 0 of 6 valid blocks" in verdict.sentence


def test_the_last_look_needs_no_estimate_beyond_the_margin() -> None:
    assert primary(judged(0.015, sd=0.01)).verdict == "inconclusive"
    assert primary(judged(0.015, sd=0.01, looks=(6,))).verdict == "slower"


def test_a_slowdown_within_the_margin_is_not_slower_and_said() -> None:
    found = primary(judged(0.01, sd=0.002))
    assert found.verdict == "not slower"
    assert "slower, but by less than 2 %" in found.notes


def test_a_primary_may_have_a_margin_of_its_own() -> None:
    phase = make_phase()
    phase["primary"][0]["margin_percent"] = 8.0
    trials = make_trials({"new": logs(0.05, 0.005, 6)})
    verdict = judge(make_run(workloads=[make_workload(phases=[phase])]), trials)
    assert (primary(verdict).verdict, primary(verdict).margin_percent) == ("not slower", 8.0)


def test_blocks_that_agree_exactly_are_decided_without_a_warning() -> None:
    assert primary(judge(make_run(), make_trials({"new": [0.0] * 6}))).verdict == "not slower"


def test_from_eight_blocks_on_a_second_opinion_stands_beside() -> None:
    six, ten = primary(judged(0.01, sd=0.03)), primary(judged(0.01, sd=0.03, blocks=10))
    assert six.sign_flip_p is six.hodges_lehmann_percent is None
    assert ten.sign_flip_p is not None and ten.hodges_lehmann_percent is not None


def test_a_disagreeing_second_opinion_is_a_note_and_not_a_vote() -> None:
    values = [*logs(0.01, 0.001, 9), 0.3]
    found = primary(judge(make_run(looks=(10,)), make_trials({"new": values})))
    assert found.verdict == "inconclusive"
    assert any("sign-flip test disagrees: p = 0.002" in note for note in found.notes)


def test_a_noisy_block_is_dropped_whole_counted_and_named() -> None:
    trials = make_trials({"new": logs(0.05, 0.005, 8)})
    verdict = judge(make_run(), noisy(trials, {2, 5}, NOISY))
    assert verdict.dropped == {
        "select/2": "steal 33.3 % > 5 %",
        "select/5": "steal 33.3 % > 5 %",
    }
    assert (primary(verdict).blocks, primary(verdict).dropped) == (6, 2)


def test_foreign_cpu_is_noise_too_and_our_own_is_not() -> None:
    trials = make_trials({"new": [0.0] * 7})
    busy = CALM | {"busy_ns": 9.0, "own_ns": 9.0}
    assert judge(make_run(), noisy(trials, {0}, CROWDED)).dropped.keys() == {"select/0"}
    assert not judge(make_run(), noisy(trials, {0}, busy)).dropped


def test_a_host_that_stays_noisy_ends_the_run() -> None:
    trials = make_trials({"new": logs(0.05, 0.005, 9)})
    run = make_run(looks=(6,))
    broken = noisy(trials, {0, 2, 4, 6}, NOISY)
    assert look(run, broken[:-2]).state == "go on"
    assert look(run, broken).state == "too noisy"
    verdict = judge(run, broken)
    assert (verdict.overall, verdict.complete) == ("inconclusive", True)
    assert "this host is too noisy: 4 of 9 blocks" in verdict.sentence


def test_a_host_that_spoils_every_block_is_given_up_at_the_first_look_with_the_remedy() -> None:
    trials = noisy(make_trials({"new": [0.0] * 6}), set(range(6)), CROWDED)
    assert look(make_run(), trials[:-2]).state == "go on"
    assert look(make_run(), trials).state == "too noisy"
    said = judge(make_run(), trials).sentence
    assert "6 of 6 blocks of select were dropped (foreign CPU" in said
    assert "`dyno doctor`" in said
    assert "[limits]" in said
    one_good = noisy(make_trials({"new": [0.0] * 7}), set(range(1, 7)), CROWDED)
    assert look(make_run(), one_good).state == "go on"


def test_a_block_with_a_failed_trial_counts_for_nothing() -> None:
    trials = make_trials({"new": logs(0.0, 0.005, 6)})
    trials[-1] = dataclasses.replace(trials[-1], status="failed", failure="disk full")
    verdict = judge(make_run(), trials)
    assert (verdict.complete, verdict.overall) == (False, "inconclusive")
    assert "new failed: disk full" in verdict.sentence
    assert look(make_run(), trials).valid == {"select": 5}


def test_only_the_latest_attempt_of_a_block_counts() -> None:
    trials = make_trials({"new": logs(0.0, 0.005, 6)})
    torn = make_trial(99, "new", 3, 10.0, attempt=2)
    assert look(make_run(), [*trials, torn]).valid == {"select": 5}
    whole = make_trial(100, "old", 3, 10.0, attempt=2)
    assert look(make_run(), [*trials, torn, whole]).valid == {"select": 6}


def test_every_workload_needs_its_blocks() -> None:
    run = make_run(workloads=[make_workload("select"), make_workload("update")])
    trials = make_trials({"new": [0.0] * 6})
    now = look(run, trials)
    assert now.missing == {"select": 0, "update": 6}
    verdict = judge(run, trials)
    assert (verdict.overall, verdict.complete) == ("inconclusive", False)


def test_holm_asks_more_of_a_primary_among_many() -> None:
    alone = judge(make_run(looks=(6,)), make_trials({"b": logs(0.02, 0.018, 6)}))
    assert alone.overall == "inconclusive"  # candidate "new" was never played
    values = {name: logs(0.03 if name == "b" else 0.0, 0.024, 6) for name in "bcd"}
    one = judge(make_run(["old", "b"], looks=(6,)), make_trials({"b": values["b"]}))
    many = judge(make_run(["old", "b", "c", "d"], looks=(6,)), make_trials(values))
    assert primary(one, "b").verdict == "slower"
    assert primary(many, "b").verdict == "inconclusive"
    assert primary(many, "b").p_value == pytest.approx(3 * primary(one, "b").p_value, rel=0.01)
    assert primary(many, "b").mde80_percent > primary(one, "b").mde80_percent
    assert any("among 3 primaries" in note for note in primary(many, "b").notes)


def test_the_worst_primary_is_the_verdict() -> None:
    trials = make_trials({"b": logs(0.05, 0.005, 6), "c": logs(0.0, 0.005, 6)})
    assert judge(make_run(["old", "b", "c"]), trials).overall == "slower"


def test_what_is_explored_never_sets_the_verdict() -> None:
    trials = [
        dataclasses.replace(
            trial,
            phases=(
                make_record(
                    [make_tally(1000.0)],
                    readings=make_readings(server_cpu_us=2.0 if trial.candidate == "new" else 1.0),
                ),
            ),
        )
        for trial in make_trials({"new": [0.0] * 6})
    ]
    verdict = judge(make_run(), trials)
    cost = next(c for c in verdict.comparisons if c.metric.name == "server_cpu_us_per_op")
    assert (cost.primary, cost.verdict, verdict.overall) == (False, "slower", "not slower")


def paced(done: int, candidate: str) -> Trial:
    """A phase with a paced writer that was to play 1000 events, beside a reader."""
    intended = {"intended": 1000, "done": done, "skipped": 1000 - done, "target_per_s": 100.0}
    writer = make_tally(100.0, name="writer", **intended)
    rate = 900.0 if candidate == "new" else 1000.0
    streams = [writer, make_tally(rate)]
    return make_trial(1, candidate, 0, 1.0, phases=(make_record(streams),))


@pytest.mark.parametrize("done,word", [(940, "inconclusive"), (960, "slower")])
def test_a_phase_whose_paced_writers_fell_behind_gets_no_verdict(done: int, word: str) -> None:
    phase = make_phase()
    writer = phase["streams"][0] | {
        "name": "writer",
        "role": "writer",
        "pace": {"kind": "uniform", "rate_per_s": 100.0},
    }
    phase["streams"].append(writer)
    phase["primary"].append({"stream": "writer", "metric": "rate_per_s", "margin_percent": None})
    run = make_run(workloads=[make_workload(phases=[phase])])
    trials = [
        dataclasses.replace(paced(done, name), block=block, number=2 * block + place)
        for block in range(6)
        for place, name in enumerate(["old", "new"])
    ]
    verdict = judge(run, trials)
    assert [c.verdict for c in verdict.comparisons if c.primary] == [word]
    assert look(run, trials).state == "decided"


def test_an_invalid_finding_condemns_the_candidate_that_it_names(
    hear: Callable[..., None],
) -> None:
    trials = make_trials({"b": logs(0.0, 0.005, 6), "c": logs(0.0, 0.005, 6)})
    hear(next(t.number for t in trials if t.candidate == "b"))
    verdict = judge(make_run(["old", "b", "c"]), trials)
    words = {c.candidate: c.verdict for c in verdict.comparisons if c.primary}
    assert words == {"b": "invalid", "c": "not slower"}
    assert (verdict.overall, verdict.complete) == ("invalid", True)
    assert "rows are missing" in verdict.sentence


def test_an_invalid_base_or_floor_condemns_all(hear: Callable[..., None]) -> None:
    floor = make_trial(50, FLOOR, -1, 1e6)
    trials = [*make_trials({"new": logs(0.0, 0.005, 6)}), floor]
    for named in ((1,), (50,), ()):
        hear(*named)
        assert primary(judge(make_run(), trials)).verdict == "invalid"


def test_a_trial_that_counts_for_nothing_condemns_nothing(hear: Callable[..., None]) -> None:
    trials = make_trials({"new": logs(0.0, 0.005, 6)})
    hear(77)
    torn = make_trial(77, "new", 6, 1.0, status="interrupted")
    assert judge(make_run(), [*trials, torn]).overall == "not slower"


def test_a_quick_run_speaks_of_this_shortened_workload() -> None:
    verdict = judged(0.05, blocks=5, looks=(5,), quick=True)
    assert verdict.overall == "slower"
    assert verdict.sentence.startswith("QUICK, on this shortened workload: new is slower")


def test_a_larger_max_after_a_look_makes_the_result_exploratory() -> None:
    verdict = judged(0.05, extended_from=24)
    assert verdict.overall == "inconclusive"
    assert "MAX was raised" in verdict.sentence
    assert not any(c.primary for c in verdict.comparisons)


def test_no_sentence_says_no_change() -> None:
    for mean in (0.05, 0.0, 0.01, -0.05):
        text = judged(mean, sd=0.02).sentence
        assert "no change" not in text and "same" not in text
