"""The first sentence of a verdict: what a person would say, and never a gain hidden."""

from __future__ import annotations

import pytest
from fakes import make_phase, make_run, make_workload
from judging import judged, primary
from msgspec import structs

from dyno.judge.analysis.effect_words import (
    describe_bound,
    describe_range,
    describe_size,
    describe_verdict,
)
from dyno.judge.analysis.sentence import build_sentence, find_worst_verdict
from dyno.record import Comparison, Metric, Pilot, Saturation, TriedLoad, VerdictName

RUN = make_run(
    workloads=[make_workload("insert", [make_phase(n) for n in ("l.i0", "l.i1", "qr100")])]
)


def comparison(
    phase: str,
    word: VerdictName,
    slowdown: float,
    metric: tuple[str, str] = ("rate_per_s", "query/s"),
    margin: float = 5.0,
) -> Comparison:
    """A comparison whose interval reaches 2 to either side."""
    template = primary(judged(0.0))
    return structs.replace(
        template,
        metric=Metric("insert", phase, "reader", *metric, "lower"),
        slowdown_percent=slowdown,
        low_percent=slowdown - 2.0,
        high_percent=slowdown + 2.0,
        margin_percent=margin,
        verdict=word,
        notes=(),
    )


def said(*found: Comparison) -> str:
    word = find_worst_verdict(found, len(found), invalid=False)
    return build_sentence(RUN, word, found, "")


def test_a_gain_comes_first_and_the_rest_by_its_bound() -> None:
    found = [
        comparison("l.i0", "faster", -45.0),
        comparison("l.i1", "not slower", 1.5),
        comparison("qr100", "faster", -12.0),
    ]
    assert said(*found) == (
        "new is faster than old: l.i0 takes 45 % less time [43, 47], qr100 takes 12 % less time "
        "[10, 14]; l.i1 is at most 3.5 % slower (margin 5 %)"
    )


def test_what_is_only_not_slower_is_told_by_its_bound_alone() -> None:
    found = [comparison("l.i0", "not slower", -0.8), comparison("l.i1", "not slower", 1.0)]
    assert said(*found) == (
        "new is not slower than old: l.i1 is at most 3.0 % slower (margin 5 %; the others by less)"
    )


def test_a_loss_is_told_beside_a_gain() -> None:
    found = [
        comparison("l.i0", "slower", 6.0),
        comparison("l.i1", "faster", -30.0),
        comparison("qr100", "not slower", 0.0),
    ]
    assert said(*found) == (
        "new is slower than old: l.i0 takes 6.0 % more time [4.0, 8.0] (slower: the interval is "
        "above 0 and reaches the margin of 5 %, the estimate passes it); but l.i1 takes 30 % less "
        "time [28, 32]; 1 of its 3 primary comparisons is not slower"
    )


def test_an_open_question_is_told_by_both_ends() -> None:
    text = said(comparison("l.i0", "inconclusive", 0.5, margin=2.0))
    assert text.startswith("inconclusive after 6 blocks: new may be slower than old or not: ")
    assert text.endswith("insert takes between 1.5 % less and 2.5 % more time; margin 2 %")


@pytest.mark.parametrize(
    ("slowdown", "guess"), [(-38.0, "faster than old"), (9.0, "slower than old")]
)
def test_an_open_question_that_leans_to_one_side_says_which(slowdown: float, guess: str) -> None:
    text = said(comparison("l.i0", "inconclusive", slowdown))
    assert text.startswith(f"inconclusive after 6 blocks: new may be {guess}: insert takes ")


def test_what_was_found_is_told_before_what_is_open() -> None:
    text = said(comparison("l.i0", "faster", -27.0), comparison("qr100", "inconclusive", -1.0))
    assert text.startswith(
        "new is faster than old in part: l.i0 takes 27 % less time [25, 29]; inconclusive after 6 "
        "blocks: new may be slower than old or not: qr100 "
    )


def test_a_gain_that_is_surely_smaller_than_the_margin_is_not_called_faster() -> None:
    slight = structs.replace(comparison("l.i0", "faster", -0.03), low_percent=-0.04)
    slight = structs.replace(slight, high_percent=-0.02)
    assert describe_verdict(slight) == "not slower"
    assert said(slight) == "new is not slower than old: insert is no slower (margin 5 %)"


@pytest.mark.parametrize(
    ("name", "unit", "worse", "told"),
    [
        ("rate_per_s", "query/s", "slower", "takes 6.0 % more time [4.0, 8.0]"),
        ("latency_ns_p99", "ns", "slower", "is 6.0 % longer [4.0, 8.0]"),
        ("database_bytes", "bytes", "larger", "is 6.0 % larger [4.0, 8.0]"),
        ("resident_bytes", "B", "more memory", "takes 6.0 % more memory [4.0, 8.0]"),
        ("server_cpu_us_per_op", "us", "dearer", "takes 6.0 % more CPU time [4.0, 8.0]"),
    ],
)
def test_each_kind_of_metric_has_its_own_words(name: str, unit: str, worse: str, told: str) -> None:
    found = comparison("run", "slower", 6.0, metric=(name, unit))
    assert (describe_verdict(found), describe_size(found)) == (worse, told)
    passed = structs.replace(found, verdict="not slower")
    assert describe_verdict(passed) == f"not {worse}"
    assert describe_bound(passed) in (f"is at most 8.0 % {worse}", f"takes at most 8.0 % {worse}")
    gained = comparison("run", "faster", -30.0, metric=(name, unit))
    assert describe_verdict(gained) in ("faster", "smaller", "less memory", "cheaper")
    assert "[28, 32]" in describe_size(gained)
    open_one = comparison("run", "inconclusive", 0.0, metric=(name, unit))
    assert "between 2.0 % " in describe_range(open_one)


SIZE, MEMORY = ("database_bytes", "B"), ("resident_bytes", "B")


@pytest.mark.parametrize(
    ("metric", "word", "slowdown", "told"),
    [
        (SIZE, "slower", 9.0, "new is larger than old: insert database size is 9.0 % larger"),
        (SIZE, "faster", -9.0, "new is smaller than old: insert database size is 9.0 % smaller"),
        (SIZE, "not slower", 1.0, "new is not larger than old: insert database size is at most"),
        (MEMORY, "slower", 9.0, "new takes more memory than old: insert resident memory"),
        (MEMORY, "faster", -9.0, "new takes less memory than old: insert resident memory"),
        (MEMORY, "not slower", 1.0, "new takes no more memory than old: insert resident memory"),
        (MEMORY, "inconclusive", 0.0, "blocks: new may take more memory than old or not: insert"),
    ],
)
def test_the_claim_about_a_size_or_memory_is_none_about_time(
    metric: tuple[str, str], word: VerdictName, slowdown: float, told: str
) -> None:
    text = said(comparison("run", word, slowdown, metric=metric))
    assert told in text and "slower" not in text and "faster" not in text


def test_metrics_of_several_kinds_are_slower_with_time_among_them_and_else_worse() -> None:
    size, memory = (comparison("run", "slower", 9.0, metric=m) for m in (SIZE, MEMORY))
    assert said(size, memory).startswith("new is worse than old: insert database size")
    assert said(size, comparison("run", "slower", 7.0)).startswith("new is slower than old: ")


def test_the_rule_of_slower_stands_with_an_interval_that_begins_below_the_margin() -> None:
    clear = said(comparison("l.i0", "slower", 9.0))
    assert "(slower:" not in clear
    near = structs.replace(comparison("l.i0", "slower", 3.0, margin=2.0), low_percent=0.6)
    rule = "(slower: the interval is above 0 and reaches the margin of 2 %, the estimate passes it)"
    assert rule in said(near)
    last = structs.replace(near, slowdown_percent=1.6)
    assert said(last).endswith("of 2 %, the estimate is at least 0.75 of it)")


def test_what_the_pilot_chose_stands_behind_the_finding_and_before_a_reason() -> None:
    found = Saturation("insert", "old", 8, (TriedLoad(8, 2.0),))
    piloted = structs.replace(RUN, pilot=Pilot(saturation=(found,)))
    told = [comparison("l.i0", "not slower", 1.0)]
    plain, chosen = (build_sentence(run, "not slower", told, "not over") for run in (RUN, piloted))
    assert chosen == plain.replace(" (not over)", " (8 connections, at saturation) (not over)")
