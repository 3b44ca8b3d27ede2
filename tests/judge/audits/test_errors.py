"""Audit `errors`: the share of failed events, beside the base's, and that of new attempts."""

from __future__ import annotations

import pytest
from audit_records import CLEAN, a_run, a_trial, only
from fakes import make_record, make_tally
from msgspec import structs

from dyno.record import Trial


def _failing(number: int, candidate: str, failed: int) -> Trial:
    errors = {"BUSY": failed, "LOCKED": 1} if failed else {}
    return a_trial(number, candidate, failed=failed, intended=10_000 + failed, errors=errors)


@pytest.mark.parametrize(
    ("failed", "soundness"),
    [(0, "sound"), (90, "sound"), (150, "doubtful"), (9_000, "doubtful"), (11_000, "invalid")],
)
def test_failed_events_are_judged_by_their_share(failed: int, soundness: str) -> None:
    both = [only("errors", a_run(), _failing(3, "old", failed))]
    assert [finding.soundness for finding in both] == [soundness]
    if soundness != "sound":
        assert both[0].trials == (3,) and "BUSY, LOCKED" in both[0].sentence
        assert both[0].phase == "run"


def test_a_candidate_that_fails_far_more_than_the_base_did_less_work() -> None:
    finding = only("errors", a_run(), CLEAN[1], _failing(3, "new", 1_500))
    assert (finding.soundness, finding.trials) == ("invalid", (3,))
    assert "13.0 % of the events failed, 0.0 % on the base" in finding.sentence


def test_a_candidate_that_fails_less_than_the_base_is_not_blamed() -> None:
    finding = only("errors", a_run(), _failing(2, "old", 1_500), CLEAN[2])
    assert (finding.soundness, finding.trials) == ("doubtful", (2,))


def test_the_share_is_taken_over_all_restarts() -> None:
    calm = [a_trial(number, "new") for number in range(4, 14)]
    assert only("errors", a_run(), *CLEAN, *calm, _failing(3, "new", 1_000)).soundness == "sound"


@pytest.mark.parametrize(("restarted", "soundness"), [(9_000, "sound"), (11_000, "doubtful")])
def test_attempts_thrown_away_are_judged_by_their_share(restarted: int, soundness: str) -> None:
    trial = a_trial(3, "old", restarted=restarted, errors={"1213": restarted})
    finding = only("errors", a_run(), trial)
    assert finding.soundness == soundness
    assert soundness == "sound" or "thrown away and begun anew (1213)" in finding.sentence


def test_a_load_that_failed_taints_every_phase() -> None:
    failed = make_tally(1000, failed=20_000, intended=30_000)
    load = make_record([failed], phase="prepare")
    trial = structs.replace(CLEAN[1], phases=(load, *CLEAN[1].phases))
    finding = only("errors", a_run(), trial)
    assert (finding.soundness, finding.phase) == ("invalid", "")
    assert "select/prepare on old" in finding.sentence
