"""The judge on made-up runs: what counts, what is decided when, and what sets the verdict."""

from __future__ import annotations

import pytest
from fakes import make_run, make_trials
from judging import analyse_unaudited, judge_unaudited, judged, logs, primary


@pytest.mark.parametrize(
    "mean,word,overall",
    [(0.05, "slower", "slower"), (-0.05, "faster", "not slower")],
)
def test_a_clear_case_is_decided_at_the_first_analysis(
    mean: float, word: str, overall: str
) -> None:
    verdict = judged(mean)
    assert (primary(verdict).verdict, verdict.overall) == (word, overall)
    assert verdict.complete
    assert [row["blocks"] for row in verdict.analyses] == [6]


def test_to_clear_a_candidate_takes_ten_blocks_and_says_what_they_may_have_missed() -> None:
    six, ten = judged(0.0), judged(0.0, blocks=10)
    assert (six.overall, six.complete) == ("inconclusive", False)
    assert primary(six).share_unseen_percent is None
    assert any("not slower is said from 10 blocks on" in note for note in primary(six).notes)
    assert (ten.overall, ten.complete) == ("not slower", True)
    assert primary(ten).share_unseen_percent == pytest.approx(25.9, abs=0.1)
    assert "a slow mode in less than 26 % of restarts may have been missed" in primary(ten).notes
    only = primary(judged(0.0, blocks=5, analyses=(5,)))
    assert (only.verdict, round(only.share_unseen_percent or 0.0)) == ("not slower", 45)


def test_blocks_with_a_long_tail_are_not_called_slower_for_what_most_of_them_show() -> None:
    even = primary(judged(0.03, sd=0.02, blocks=10, analyses=(10,)))
    values = [0.045, 0.04, 0.05, 0.042, 0.048, 0.044, 0.046, 0.043, 0.041, -0.05]
    skewed = primary(judge_unaudited(make_run(analyses=(10,)), make_trials({"new": values})))
    assert even.verdict == "slower"
    assert skewed.low_percent > 0.0
    assert skewed.verdict == "inconclusive"
    assert any("its blocks are skewed" in note for note in skewed.notes)


def test_a_slowdown_is_the_time_ratio_and_the_change_is_the_metrics_own() -> None:
    found = primary(judge_unaudited(make_run(), make_trials({"new": [0.5] * 6})))
    assert found.slowdown_percent == pytest.approx(64.87, abs=0.01)
    assert found.change_percent == pytest.approx(-39.35, abs=0.01)
    assert found.candidate_value / found.base_value == pytest.approx(0.6065, abs=1e-4)


def test_an_unclear_case_goes_on_from_analysis_to_analysis_until_max() -> None:
    values = logs(0.01, 0.03, 24)
    run, trials = make_run(analyses=(6, 10)), make_trials({"new": values[:10]})
    for blocks, following in ((0, 6), (5, 6), (6, 10), (9, 10)):
        now = analyse_unaudited(run, trials[: 2 * blocks])
        assert (now.state, now.blocks) == ("go on", following)
        assert now.missing == {"select": following - blocks}
    assert analyse_unaudited(run, trials).state == "undecided"
    assert judge_unaudited(run, trials).overall == "inconclusive"


def test_a_run_with_a_precision_goes_on_beyond_its_verdict_until_that_is_reached() -> None:
    trials = make_trials({"new": logs(0.2, 0.02, 24)})
    reach = primary(judge_unaudited(make_run(), trials[:12])).reach_percent
    assert 1.5 < reach < 4
    wide, narrow = make_run(precision_percent=4.0), make_run(precision_percent=1.5)
    assert analyse_unaudited(wide, trials[:12]).state == "decided"
    assert analyse_unaudited(narrow, trials[:12]).blocks == 10
    reached = judge_unaudited(narrow, trials)
    assert (reached.overall, reached.complete) == ("slower", True)
    assert "was not reached" not in reached.sentence
    never = judge_unaudited(make_run(precision_percent=0.5), trials)
    assert (never.overall, never.complete) == ("slower", True)
    assert "the precision asked for, 0.5 %, was not reached: the widest interval" in never.sentence


def test_an_analysis_uses_its_own_blocks_and_later_ones_wait() -> None:
    values = logs(0.01, 0.03, 6)
    between = judge_unaudited(make_run(), make_trials({"new": [*values, 0.9, 0.9]}))
    assert primary(between).blocks == 6
    assert primary(between).slowdown_percent == pytest.approx(1.005, abs=0.001)
    assert not between.complete


def test_before_the_first_look_nothing_is_decided() -> None:
    verdict = judged(0.5, blocks=4)
    assert verdict.overall == primary(verdict).verdict == "inconclusive"
    assert "4 of 6 valid blocks" in verdict.sentence


def test_a_run_without_blocks_is_inconclusive_and_says_why() -> None:
    verdict = judge_unaudited(make_run(), [])
    assert (verdict.overall, verdict.complete, verdict.comparisons) == ("inconclusive", False, ())
    assert "not finished: 0 of 6 valid blocks" in verdict.sentence


def test_the_last_analysis_needs_an_estimate_of_three_quarters_of_the_margin() -> None:
    assert primary(judged(0.015, sd=0.01)).verdict == "inconclusive"
    assert primary(judged(0.015, sd=0.01, analyses=(6,))).verdict == "slower"
    short = primary(judged(0.0145, sd=0.01, analyses=(6,)))
    assert (short.verdict, short.low_percent > 0.0) == ("inconclusive", True)
    assert any("slower, but by less than 1.5 %" in note for note in short.notes)


def test_a_slowdown_within_the_margin_is_not_slower_and_said() -> None:
    found = primary(judged(0.01, sd=0.002, blocks=10))
    assert found.verdict == "not slower"
    assert "slower, but by less than 2 %" in found.notes


def test_blocks_that_agree_exactly_are_decided_without_a_warning() -> None:
    assert (
        primary(judge_unaudited(make_run(), make_trials({"new": [0.0] * 10}))).verdict
        == "not slower"
    )


def test_from_eight_blocks_on_a_second_opinion_stands_beside() -> None:
    six, ten = primary(judged(0.01, sd=0.03)), primary(judged(0.01, sd=0.03, blocks=10))
    assert six.sign_flip_p is six.hodges_lehmann_percent is None
    assert ten.sign_flip_p is not None and ten.hodges_lehmann_percent is not None


def test_a_disagreeing_second_opinion_is_a_note_and_not_a_vote() -> None:
    values = [*logs(0.01, 0.001, 9), 0.3]
    found = primary(judge_unaudited(make_run(analyses=(10,)), make_trials({"new": values})))
    assert found.verdict == "inconclusive"
    assert any("sign-flip test disagrees: p = 0.002" in note for note in found.notes)


def test_a_quick_run_says_at_the_sentence_s_end_that_it_is_one() -> None:
    verdict = judged(0.05, blocks=5, analyses=(5,), quick=True)
    assert verdict.overall == "slower"
    assert verdict.sentence.startswith("new is slower")
    assert verdict.sentence.endswith(" (QUICK, on a shortened workload)")


def test_no_sentence_says_no_change() -> None:
    for mean in (0.05, 0.0, 0.01, -0.05):
        text = judged(mean, sd=0.02).sentence
        assert "no change" not in text and "same" not in text


def test_what_is_found_by_luck_is_said_to_exaggerate() -> None:
    """Blocks that vary as much find so small an effect by luck alone."""
    lucky = primary(judged(0.042, sd=0.05, blocks=10, analyses=(10,)))
    sure = primary(judged(0.045, sd=0.005, blocks=10, analyses=(10,)))
    assert (lucky.verdict, sure.verdict) == ("slower", "slower")
    assert lucky.mde80_percent > lucky.slowdown_percent
    assert any("true effect is probably smaller" in note for note in lucky.notes)
    assert not any("probably smaller" in note for note in sure.notes)


def test_a_rehearsal_without_time_is_over_without_a_block() -> None:
    run = make_run(untimed=True)
    now = analyse_unaudited(run, [])
    assert now.over and not now.missing
    assert judge_unaudited(run, []).complete
