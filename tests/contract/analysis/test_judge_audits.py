"""The judge and the audits' findings: what one condemns, and what it does not."""

from __future__ import annotations

from fakes import make_run, make_trial, make_trials
from judging import FixedAudit, logs, primary

from dyno.analysis.judge import judge
from dyno.audits import Audit
from dyno.record import FLOOR, Finding


def audits_that_find(*trials: int) -> dict[str, Audit]:
    """One audit, which finds these trials invalid."""
    return {"mock": FixedAudit(Finding("mock", "invalid", "rows are missing", trials))}


def test_an_invalid_finding_condemns_the_candidate_that_it_names() -> None:
    trials = make_trials({"b": logs(0.0, 0.005, 6), "c": logs(0.0, 0.005, 6)})
    audits = audits_that_find(next(t.number for t in trials if t.candidate == "b"))
    verdict = judge(make_run(["old", "b", "c"]), trials, audits)
    words = {c.candidate: c.verdict for c in verdict.comparisons if c.primary}
    assert words == {"b": "invalid", "c": "not slower"}
    assert (verdict.overall, verdict.complete) == ("invalid", True)
    assert "rows are missing" in verdict.sentence


def test_an_invalid_base_or_floor_condemns_all() -> None:
    floor = make_trial(50, FLOOR, -1, 1e6)
    trials = [*make_trials({"new": logs(0.0, 0.005, 6)}), floor]
    for named in ((1,), (50,), ()):
        verdict = judge(make_run(), trials, audits_that_find(*named))
        assert primary(verdict).verdict == "invalid"


def test_a_trial_that_counts_for_nothing_condemns_nothing() -> None:
    trials = make_trials({"new": logs(0.0, 0.005, 6)})
    torn = make_trial(77, "new", 6, 1.0, status="interrupted")
    assert judge(make_run(), [*trials, torn], audits_that_find(77)).overall == "not slower"
