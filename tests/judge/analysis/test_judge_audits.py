"""The judge and the audits' findings: what one condemns, be it of a candidate or of a phase."""

from __future__ import annotations

import pytest
from fakes import (
    make_phase,
    make_record,
    make_run,
    make_tally,
    make_trial,
    make_trials,
    make_workload,
)
from judging import FixedAudit, logs, primary
from msgspec import structs

from dyno.judge.analysis.judge import judge
from dyno.judge.audits import Audit
from dyno.record import CLIENT_BASELINE, Finding, Trial, Verdict


def audits_that_find(*trials: int) -> dict[str, Audit]:
    """One audit, which finds these trials invalid."""
    return {"mock": FixedAudit(Finding("mock", "invalid", "rows are missing", trials))}


def test_an_invalid_finding_condemns_the_candidate_that_it_names() -> None:
    trials = make_trials({"b": logs(0.0, 0.005, 10), "c": logs(0.0, 0.005, 10)})
    audits = audits_that_find(next(t.number for t in trials if t.candidate == "b"))
    verdict = judge(make_run(["old", "b", "c"]), trials, audits)
    words = {c.candidate: c.verdict for c in verdict.comparisons if c.primary}
    assert words == {"b": "invalid", "c": "not slower"}
    assert (verdict.overall, verdict.complete) == ("invalid", True)
    assert "rows are missing" in verdict.sentence


def test_an_invalid_base_or_baseline_condemns_all() -> None:
    baseline = make_trial(50, CLIENT_BASELINE, -1, 1e6)
    trials = [*make_trials({"new": logs(0.0, 0.005, 10)}), baseline]
    for named in ((1,), (50,), ()):
        verdict = judge(make_run(), trials, audits_that_find(*named))
        assert primary(verdict).verdict == "invalid"


def test_a_trial_that_counts_for_nothing_condemns_nothing() -> None:
    trials = make_trials({"new": logs(0.0, 0.005, 10)})
    torn = make_trial(77, "new", 10, 1.0, status="interrupted")
    assert judge(make_run(), [*trials, torn], audits_that_find(77)).overall == "not slower"


def _judged(phase: str, *numbers: int, judged: tuple[str, ...]) -> Verdict:
    """Ten blocks of a load and a run, with an injected finding on `phase`."""
    injected = FixedAudit(Finding("injected", "invalid", "the client slept", numbers, phase))
    primary = {name: ("rate_per_s",) if name in judged else () for name in ("load", "run")}
    phases = [make_phase(name, primary=primary[name]) for name in primary]
    records = tuple(make_record([make_tally(1000)], phase=name) for name in primary)
    steady = [0.001, -0.001] * 5
    trials = [structs.asdict(trial) | {"phases": records} for trial in make_trials({"new": steady})]
    run = make_run(workloads=[make_workload(phases=phases)])
    return judge(run, [Trial(**fields) for fields in trials], {"injected": injected})


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
