"""An invalid finding that names a phase condemns what was measured in it, and nothing else."""

from __future__ import annotations

import pytest
from fakes import make_phase, make_record, make_run, make_tally, make_trials, make_workload
from judging import FixedAudit

from dyno.analysis.judge import judge
from dyno.record import Finding, Trial, Verdict


def _judged(phase: str, *numbers: int, judged: tuple[str, ...]) -> Verdict:
    """Six blocks of a load and a run, with a planted finding on `phase`."""
    planted = FixedAudit(Finding("planted", "invalid", "the client slept", numbers, phase))
    primary = {name: ("rate_per_s",) if name in judged else () for name in ("load", "run")}
    phases = [make_phase(name, primary=primary[name]) for name in primary]
    records = tuple(make_record([make_tally(1000)], phase=name) for name in primary)
    steady = [0.001, -0.001] * 3
    trials = [vars(trial) | {"phases": records} for trial in make_trials({"new": steady})]
    run = make_run(workloads=[make_workload(phases=phases)])
    return judge(run, [Trial(**fields) for fields in trials], {"planted": planted})


def _words(verdict: Verdict) -> dict[str, str]:
    rates = [row for row in verdict.comparisons if row.metric.name == "rate_per_s"]
    return {row.metric.phase: row.verdict for row in rates}


@pytest.mark.parametrize("numbers", [(), (1,), (2,)])
def test_only_the_phase_named_is_condemned(numbers: tuple[int, ...]) -> None:
    verdict = _judged("load", *numbers, judged=("load", "run"))
    assert _words(verdict) == {"load": "invalid", "run": "not slower"}
    assert verdict.overall == "invalid"


def test_without_a_phase_all_are_condemned() -> None:
    verdict = _judged("", 2, judged=("load", "run"))
    assert set(_words(verdict).values()) == {"invalid"}


def test_a_phase_that_decides_nothing_leaves_the_run_its_verdict() -> None:
    verdict = _judged("load", 2, judged=("run",))
    assert _words(verdict)["load"] == "invalid"
    assert verdict.overall == "not slower"
