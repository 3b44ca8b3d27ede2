"""The judge where factors are crossed: effects decide, interactions are explored."""

from __future__ import annotations

import math
import random

import pytest
from crossed import SIZES, crossed, played
from judging import FixedAudit, analyse_unaudited, judge_unaudited

from dyno.judge.analysis.judge import judge
from dyno.record import Comparison, Finding, Verdict


def rows(verdict: Verdict) -> dict[str, Comparison]:
    """The effects on the throughput, by name."""
    return {c.candidate: c for c in verdict.comparisons if c.metric.name == "rate_per_s"}


def off(levels: dict[str, str]) -> float:
    return 0.05 * (levels["aslr"] == "off")


def test_an_injected_effect_is_found_and_no_other() -> None:
    run = crossed()
    verdict = judge_unaudited(run, played(run, off))
    found = rows(verdict)
    assert list(found) == ["aslr=off", "preload=on", "aslr=off × preload=on"]
    assert found["aslr=off"].slowdown_percent == pytest.approx(5.1, abs=0.5)
    words = [(c.verdict, c.primary) for c in found.values()]
    assert words[:2] == [("slower", True), ("not slower", True)]
    assert not found["aslr=off × preload=on"].primary
    assert verdict.overall == "slower"
    assert verdict.sentence.startswith("aslr=off is slower than aslr=on: select takes 5")


def test_an_undecided_run_says_what_the_other_factors_do_too() -> None:
    run = crossed(analyses=(6,))
    noisy = played(run, lambda at: 0.4 * off(at) - 0.5 * (at["preload"] == "on"), sd=0.05)
    said = judge_unaudited(run, noisy).sentence
    assert said.startswith(
        "inconclusive after 6 blocks: aslr=off may be slower than aslr=on or not"
    )
    assert "; preload=on is faster than preload=off: select takes 40 % less time [" in said


def test_an_effect_is_over_all_cells_and_its_values_are_their_means() -> None:
    run = crossed()
    verdict = judge_unaudited(
        run, played(run, lambda at: off(at) * (at["preload"] == "on"), sd=1e-6)
    )
    row = rows(verdict)["aslr=off"]
    assert row.slowdown_percent == pytest.approx(100 * math.expm1(0.025), abs=0.01)
    assert row.candidate_value / row.base_value == pytest.approx(math.exp(-0.025), abs=1e-4)
    assert (row.base, row.levels) == ("aslr=on", {"aslr": "off"})


def test_an_interaction_is_measured_against_effects_that_multiply() -> None:
    run = crossed()
    verdict = judge_unaudited(run, played(run, lambda at: off(at) * (at["preload"] == "on")))
    row = rows(verdict)["aslr=off × preload=on"]
    assert row.slowdown_percent == pytest.approx(5.1, abs=0.6)
    assert row.base == "no interaction" and len(row.levels) == 2
    notes = rows(verdict)["aslr=off"].notes
    assert "its size depends on the other factor: interaction aslr=off × preload=on" in notes


def test_effects_that_multiply_are_no_interaction() -> None:
    run = crossed()
    verdict = judge_unaudited(run, played(run, lambda at: off(at) + 0.1 * (at["preload"] == "on")))
    row = rows(verdict)["aslr=off × preload=on"]
    assert row.low_percent < 0 < row.high_percent and row.verdict != "slower"


def test_nothing_injected_passes_and_says_so_of_every_factor() -> None:
    run = crossed()
    verdict = judge_unaudited(run, played(run, lambda _: 0.0))
    assert verdict.overall == "not slower" and verdict.complete
    assert verdict.sentence.startswith("aslr=off is not slower than aslr=on: select is at most 0.")
    assert "; preload=on is not slower than preload=off: select is at most " in verdict.sentence


def test_holm_counts_the_main_effects_alone() -> None:
    three = {**SIZES, "ahi": ("on", "off", "auto")}
    run = crossed(three)
    assert analyse_unaudited(run, played(run, lambda _: 0.0)).of == 1 + 1 + 2


def test_a_factor_of_three_levels_is_held_against_its_first() -> None:
    levels = {"cache": ("small", "middle", "large")}
    cost = {"small": 0.0, "middle": -0.04, "large": 0.04}
    run = crossed(levels)
    found = rows(judge_unaudited(run, played(run, lambda at: cost[at["cache"]])))
    assert found["cache=middle"].verdict == "faster"
    assert found["cache=large"].verdict == "slower"
    assert {c.base for c in found.values()} == {"cache=small"}


def test_one_at_a_time_compares_cells_with_the_base_and_knows_no_interaction() -> None:
    run = crossed(SIZES, "one at a time")
    assert len(run.candidates) == 3
    found = rows(judge_unaudited(run, played(run, off)))
    assert list(found) == ["aslr=off", "preload=on"]
    assert found["aslr=off"].verdict == "slower"


def test_an_invalid_cell_condemns_every_effect_that_rests_on_it() -> None:
    run = crossed(SIZES, "one at a time")
    trials = played(run, lambda _: 0.0)
    meant = tuple(t.number for t in trials if t.candidate == "aslr=on preload=on")
    own = FixedAudit(Finding("own", "invalid", "it was not measured", meant))
    found = rows(judge(run, trials, {"own": own}))
    assert found["preload=on"].verdict == "invalid" and found["aslr=off"].verdict == "not slower"


def test_the_spread_of_every_cell_is_told() -> None:
    run = crossed()
    trials = played(run, lambda at: random.Random(str(at)).gauss(0, 0.001), blocks=6, sd=0.0)
    found = judge_unaudited(run, trials).spread
    assert [each.candidate for each in found] == [side.name for side in run.candidates]
    own = [t for t in trials if t.candidate == found[0].candidate]
    rates = [t.phases[0].streams[0].done / 10 for t in own]
    assert found[0].restarts == 6
    assert found[0].range_percent == pytest.approx(100 * (max(rates) / min(rates) - 1))
    assert found[0].low_percent < found[0].cov_percent < found[0].high_percent
