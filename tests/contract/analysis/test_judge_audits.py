"""The judge and the audits' findings: what one condemns, and what it does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fakes import make_run, make_trial, make_trials
from judging import logs, primary

from dyno.analysis.judge import judge
from dyno.analysis.run_view import RunView
from dyno.record import FLOOR, Finding

pytestmark = pytest.mark.usefixtures("quiet")


class Heard:
    """An audit that says what it was made with."""

    summary = "a test's own"

    def __init__(self, finding: Finding) -> None:
        self.finding = finding

    def judge(self, view: RunView) -> list[Finding]:
        return [self.finding]


@pytest.fixture
def hear(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def only(*trials: int) -> None:
        finding = Finding("mock", "invalid", "rows are missing", trials)
        monkeypatch.setattr("dyno.analysis.analysis.audits", lambda: {"mock": Heard(finding)})

    return only


def test_an_invalid_finding_condemns_the_candidate_that_it_names(
    hear: Callable[..., None],
) -> None:
    trials = make_trials({"b": logs(0.0, 0.005, 6), "c": logs(0.0, 0.005, 6)})
    hear(next(t.number for t in trials if t.candidate == "b"))
    verdict = judge(make_run(["old", "b", "c"]), trials)
    words = {c.candidate: c.verdict for c in verdict.comparisons if c.primary}
    assert words == {"b": "invalid", "c": "not slower"}
    assert (verdict.overall, verdict.complete) == ("invalid", True)
    assert "rows are missing" in verdict.sentence


def test_an_invalid_base_or_floor_condemns_all(hear: Callable[..., None]) -> None:
    floor = make_trial(50, FLOOR, -1, 1e6)
    trials = [*make_trials({"new": logs(0.0, 0.005, 6)}), floor]
    for named in ((1,), (50,), ()):
        hear(*named)
        assert primary(judge(make_run(), trials)).verdict == "invalid"


def test_a_trial_that_counts_for_nothing_condemns_nothing(hear: Callable[..., None]) -> None:
    trials = make_trials({"new": logs(0.0, 0.005, 6)})
    hear(77)
    torn = make_trial(77, "new", 6, 1.0, status="interrupted")
    assert judge(make_run(), [*trials, torn]).overall == "not slower"
