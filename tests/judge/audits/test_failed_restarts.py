"""Audit `failed_restarts`: what is compared must not be the survivors, unsaid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from fakes import make_run, make_trial, make_trials
from msgspec.structs import replace

from dyno.judge.analysis.judge import judge
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import CLIENT_BASELINE, Failure, Finding, Trial

CLEAN = make_trials({"new": np.linspace(-0.002, 0.002, 10).tolist()})

DIED = Failure("the server died", "signal 11\nmore")


def crashed(
    number: int, candidate: str = "new", status: Literal["failed", "interrupted"] = "failed"
) -> Trial:
    """A first attempt at one of the blocks, which then ended well."""
    trial = make_trial(100 + number, candidate, number, 1.0)
    return replace(trial, status=status, attempt=0, failure=DIED)


def told(trials: Sequence[Trial]) -> list[Finding]:
    return load_audits()["failed_restarts"].judge(RunView(make_run(), trials))


def test_a_candidate_that_crashes_now_and_then_is_doubtful_though_its_blocks_are_replayed() -> None:
    (found,) = told([*CLEAN, crashed(1), crashed(4)])
    assert (found.soundness, found.trials) == ("doubtful", (101, 104))
    assert found.sentence == (
        "select on new: 2 of 12 restarts failed (at last: the server died: signal 11); what is "
        "compared are those that did not"
    )


def test_one_failure_is_an_accident_and_an_interruption_none() -> None:
    assert [each.soundness for each in told(CLEAN)] == ["sound"]
    assert [each.soundness for each in told([*CLEAN, crashed(1)])] == ["sound"]
    torn = [crashed(number, status="interrupted") for number in range(3)]
    baseline = [crashed(number, CLIENT_BASELINE) for number in range(3)]
    assert [each.soundness for each in told([*CLEAN, *torn, *baseline])] == ["sound"]


def test_two_failures_of_many_are_no_habit() -> None:
    many = make_trials({"new": np.linspace(-0.002, 0.002, 60).tolist()})
    assert [each.soundness for each in told([*many, crashed(1), crashed(4)])] == ["sound"]


def test_the_verdict_hears_of_it_where_every_block_counts() -> None:
    verdict = judge(make_run(), [*CLEAN, crashed(1), crashed(4)])
    assert verdict.overall == "not slower"
    assert "failed_restarts" in {f.audit for f in verdict.findings if f.soundness == "doubtful"}
