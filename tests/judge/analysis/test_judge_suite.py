"""The judge where the mean over the suite decides: one number, and each workload beside it."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import make_run, make_trials, make_workload
from judging import FixedAudit, analyse_unaudited, judge_unaudited, logs
from msgspec import structs

from dyno.judge.analysis.judge import judge
from dyno.record import Finding, Run, Trial

NAMES = [f"w{n}" for n in range(8)]


def suite(**design: Any) -> Run:
    return make_run(workloads=[make_workload(name) for name in NAMES], **design)


def played(means: list[float], sd: float = 0.03, blocks: int = 10) -> list[Trial]:
    """Blocks of every workload, each with its own mean."""
    trials: list[Trial] = []
    for at, (name, mean) in enumerate(zip(NAMES, means, strict=True)):
        made = make_trials({"new": logs(mean, sd, blocks, seed=at + 1)})
        first = len(trials)
        trials += [structs.replace(t, workload=name, number=first + t.number) for t in made]
    return trials


def test_a_suite_of_noisy_workloads_passes_by_its_mean() -> None:
    trials = played([0.0] * 8)
    each, mean = (judge_unaudited(suite(gate=gate), trials) for gate in ("each", "mean"))
    assert (each.overall, each.means) == ("inconclusive", ())
    (row,) = mean.means
    assert (mean.overall, mean.complete, row.verdict) == ("not slower", True, "not slower")
    assert row.slowdown_percent == pytest.approx(0.0, abs=1e-6)
    assert row.metric.workload == "all workloads"
    assert [c.verdict for c in mean.comparisons] == [c.verdict for c in each.comparisons]


def test_the_sentence_says_what_the_mean_may_hide() -> None:
    said = judge_unaudited(suite(gate="mean"), played([0.0] * 7 + [0.04])).sentence
    assert "new is not slower than old: all workloads mean is at most 1.4 % slower" in said
    assert "(margin 2 %); by itself w7 / run may take up to +" in said


def test_a_suite_that_is_slower_on_the_whole_is_slower() -> None:
    verdict = judge_unaudited(suite(gate="mean"), played([0.04] * 8))
    assert (verdict.overall, verdict.complete) == ("slower", True)


def test_the_run_goes_on_until_the_mean_is_decided() -> None:
    run = suite(gate="mean")
    six, ten = (analyse_unaudited(run, played([0.0] * 8, blocks=n)) for n in (6, 10))
    assert (six.state, six.decided, six.of) == ("go on", 0, 1)
    assert (ten.state, ten.decided, ten.of) == ("decided", 1, 1)


def test_a_mean_over_fewer_than_all_workloads_is_no_mean() -> None:
    trials = [trial for trial in played([0.0] * 8) if trial.workload != "w3"]
    verdict = judge_unaudited(suite(gate="mean"), trials)
    assert (verdict.overall, verdict.means) == ("inconclusive", ())


def test_neighbouring_blocks_that_are_alike_are_told() -> None:
    rising = [0.002 * at for at in range(-5, 5)]
    alternating = [0.002 * (at % 2) for at in range(10)]
    notes = [
        judge_unaudited(make_run(), make_trials({"new": values})).comparisons[0].notes
        for values in (rising, alternating)
    ]
    assert [any("neighbouring blocks are alike" in n for n in each) for each in notes] == [
        True,
        False,
    ]


def test_what_doubts_one_workload_doubts_the_mean_that_it_is_part_of() -> None:
    """Each workload by itself is open, and so claims nothing; the mean does."""
    trials = played([0.0] * 8)
    own = next(t.number for t in trials if (t.workload, t.candidate) == ("w7", "new"))
    audit = FixedAudit(Finding("noise", "doubtful", "w7 on new: a neighbour", (own,)))
    verdict = judge(suite(gate="mean"), trials, {"mock": audit})
    assert verdict.overall == "not slower" and verdict.means[0].is_doubtful
    assert verdict.sentence.startswith("Doubtful: new is not slower than old: all workloads mean")
    assert judge(suite(), trials, {"mock": audit}).doubts == ()
