"""Ten records of each kind of run, judged as an older Dyno judged them: the numbers of
`tests/golden/verdicts_of_kinds.json` are of its code, when each kind had a judge of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from made_old_runs import draw_capacities, draw_counts, draw_disks

from dyno.instruments.disk.verdict import judge_disks
from dyno.judge.analysis.capacity import judge_capacity, measure_change
from dyno.judge.analysis.counts import judge_counts
from dyno.judge.analysis.effect_words import describe_verdict, describe_word

GOLDEN: dict[str, list[Any]] = json.loads(
    (Path(__file__).parents[1] / "golden" / "verdicts_of_kinds.json").read_text()
)


def near(found: Sequence[Any], known: Sequence[Any]) -> bool:
    """The same words, and numbers to nine digits; None where one is not known."""
    plain = [None if isinstance(it, float) and isnan(it) else it for it in found]
    return plain == [
        pytest.approx(it, rel=1e-8, abs=1e-9) if isinstance(it, float) else it for it in known
    ]


@pytest.mark.parametrize(("count", "known"), [*zip(draw_counts(), GOLDEN["count"], strict=True)])
def test_a_count_has_the_numbers_and_the_word_of_its_own_judge(count: Any, known: Any) -> None:
    verdict = judge_counts(count)
    assert describe_word(count.metric, verdict.overall) == known["overall"]
    for row, (candidate, word, *numbers) in zip(verdict.comparisons, known["rows"], strict=True):
        ends = (row.low_percent, row.high_percent)
        if isnan(row.low_percent):  # it was counted once: what it had was no interval
            assert word == "inconclusive" and numbers[2] == numbers[3] == numbers[4]
            ends = (row.change_percent, row.change_percent)
        found = (row.base_value, row.candidate_value, row.change_percent, *ends)
        assert (row.candidate, describe_verdict(row)) == (candidate, word)
        assert near(found, numbers)


@pytest.mark.parametrize(
    ("made", "known"), [*zip(draw_capacities(), GOLDEN["capacity"], strict=True)]
)
def test_a_capacity_has_the_numbers_and_the_word_of_its_own_judge(made: Any, known: Any) -> None:
    verdict = judge_capacity(*made)
    metric = made[0].metric
    word = describe_word(metric, verdict.overall).removesuffix(" capacity")
    assert word == (known["overall"] or "measured")
    for row, own in zip(verdict.comparisons, known["rows"], strict=True):
        word = describe_word(metric, row.verdict).removesuffix(" capacity")
        assert near((row.candidate, word, *measure_change(row)), own)
        assert near([row.change_percent], own[2:3])
    for side, own in zip(verdict.candidates, known["rates"], strict=True):
        assert near((side.candidate, side.rate_per_s, side.low, side.high), own)


@pytest.mark.parametrize(("run", "known"), [*zip(draw_disks(), GOLDEN["disk"], strict=True)])
def test_a_run_of_disks_has_the_numbers_and_the_word_of_its_own_judge(run: Any, known: Any) -> None:
    verdict = judge_disks(run)
    assert verdict.overall == (known["overall"] or "measured")
    for row, own in zip(verdict.comparisons, known["rows"], strict=True):
        rates = (row.base_value, row.candidate_value)
        ends = (row.slowdown_percent, row.low_percent, row.high_percent, row.p_value)
        assert near((row.candidate, row.metric.phase, row.verdict, *rates, *ends), own)
