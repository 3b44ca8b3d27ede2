"""Audit `dropped_blocks`: a word that the dropped blocks speak against is doubtful."""

from __future__ import annotations

from fakes import make_run, make_trials
from judging import CROWDED, NOISY, logs, noisy

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Finding

CALM = logs(0.0, 0.005, 10)


def found(values: list[float], blocks: set[int], host: dict[str, float]) -> Finding:
    """The finding on a run whose `blocks` are dropped because of `host`."""
    trials = noisy(make_trials({"new": values}), blocks, host)
    (finding,) = load_audits()["dropped_blocks"].judge(RunView(make_run(), trials))
    return finding


def test_without_a_dropped_block_there_is_nothing_to_ask() -> None:
    assert found(CALM, set(), NOISY).sentence == "none of 10 blocks was dropped for noise"


def test_slow_blocks_that_were_dropped_make_a_pass_doubtful() -> None:
    finding = found([*CALM, 0.10, 0.12, 0.11], {10, 11, 12}, CROWDED)
    assert finding.soundness == "doubtful"
    assert "not slower" in finding.sentence and "without the 3 blocks" in finding.sentence
    assert finding.trials == (21, 22, 23, 24, 25, 26)


def test_dropped_blocks_that_are_like_the_others_are_sound() -> None:
    assert found([*CALM, 0.002, -0.003], {10, 11}, NOISY).soundness == "sound"


def test_a_word_that_is_lost_because_noise_spreads_is_no_doubt() -> None:
    assert found([*CALM, 0.10, -0.11], {10, 11}, NOISY).soundness == "sound"


def test_blocks_that_flattered_the_base_make_slower_doubtful() -> None:
    slow = logs(0.05, 0.005, 6)
    assert found([*slow, -0.10, -0.12], {6, 7}, CROWDED).soundness == "doubtful"
    assert found([*slow, 0.10, 0.12], {6, 7}, CROWDED).soundness == "sound"


def test_a_run_that_has_no_word_yet_is_not_asked() -> None:
    assert found([*CALM[:7], 0.10, 0.12], {7, 8}, CROWDED).soundness == "sound"
