"""Audit `committed`: a server's own count of commits beside the driver's."""

from __future__ import annotations

import pytest
from audit_records import NEW, OLD, a_run, a_trial, findings, recorded
from fakes import make_readings
from msgspec import structs
from ways_to_be_fooled import assert_caught

from dyno.record import Candidate, Finding, Reading, Trial

SERVER = structs.replace(NEW, embedded=False)
THEIRS = structs.replace(SERVER, build={"address": "joe@db.example:5432/bench"})
COMMITS = 10_000


def counting(counted: float | None, *, lossy: bool = False, commits: int = COMMITS) -> Trial:
    """A trial whose server counted so many commits (None: none); the driver knows of `commits`."""
    counts = {"server_commits": counted, "server_collected_transactions": 0.0 if lossy else None}
    own = tuple(
        Reading("server", name, "commits", "lower", value, False)
        for name, value in counts.items()
        if value is not None
    )
    trial = a_trial(3, "new", commits=commits, rows_committed=commits)
    return recorded(trial, readings=(*make_readings(), *own))


def judged(trial: Trial, side: Candidate = SERVER) -> list[Finding]:
    found = findings("committed", a_run(OLD, side), a_trial(2, "old"), trial)
    return [each for each in found if "commits" in each.sentence]


def test_a_server_that_says_committed_and_has_not_is_invalid() -> None:
    found = judged(counting(9_000))
    assert_caught("uncommitted", found)
    (finding,) = found
    assert finding.trials == (3,) and "the server counted 9,000 commits" in finding.sentence
    assert "said that 10,000 transactions with changed rows were committed" in finding.sentence


@pytest.mark.parametrize("counted", [COMMITS - 50, COMMITS, 3 * COMMITS])
def test_as_many_commits_and_any_number_more_are_sound(counted: float) -> None:
    assert not judged(counting(counted))


def test_a_proxy_or_a_collector_may_have_lost_them() -> None:
    for trial, side in ((counting(9_000), THEIRS), (counting(9_000, lossy=True), SERVER)):
        (finding,) = judged(trial, side)
        assert finding.soundness == "doubtful"


def test_where_the_server_has_no_count_of_commits_it_is_said() -> None:
    for trial in (counting(None), counting(-5.0)):
        (finding,) = judged(trial)
        assert finding.soundness == "not checked"
        assert "the server did not count commits along" in finding.sentence


def test_few_commits_and_an_embedded_engine_are_not_asked_for_a_count() -> None:
    assert not judged(counting(None, commits=50))
    assert not judged(counting(None), NEW)
