"""Which trials audits judge: noise in a dropped block condemns nothing, a lost row there does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from fakes import SECOND_NS, make_readings, make_record, make_run, make_tally, make_trials
from msgspec import structs

from dyno.judge.analysis.judge import judge
from dyno.record import Evidence, Reading, Series, Tally, Trial, Verdict

STEAL = {"steal_ns": 1.0, "busy_ns": 1.0, "idle_ns": 1.0, "own_ns": 1.0}
SPOILED = (1, 3, 4)

Spoil = Callable[[Trial], Trial]


def with_streams(trial: Trial, *streams: Tally, **changes: Any) -> Trial:
    record = make_record(streams or trial.phases[0].streams)
    return structs.replace(trial, phases=(structs.replace(record, **changes),))


def bent(trial: Trial) -> Trial:
    """The hypervisor stopped us, and the clock was bent by a tenth."""
    slew = Reading("clock", "clock_slew_ns", "ns", "lower", SECOND_NS, False)
    return with_streams(trial, readings=(*make_readings(), slew))


def stalled(trial: Trial) -> Trial:
    """Nothing was answered in five of the ten seconds."""
    halves = Series((0,) * 5 + (2000,) * 5, (0,) * 10, (1,) * 10)
    return with_streams(trial, make_tally(1000, series=halves))


def failed(trial: Trial) -> Trial:
    """Two thirds of the events ran into a timeout."""
    return with_streams(trial, make_tally(1e6, intended=30_000_000, failed=20_000_000))


def robbed(trial: Trial) -> Trial:
    """A row is missing."""
    return structs.replace(trial, evidence=(Evidence("rows", "SELECT 1", 8, "7"),))


def wrong(trial: Trial) -> Trial:
    """Other values come back for the same statement."""
    told = Evidence("ten rows", "SELECT 2", 0, "10", trial.candidate)
    return structs.replace(trial, evidence=(told,))


def noisy(trial: Trial) -> Trial:
    """More was stolen than the limit allows: the block is dropped."""
    (record,) = trial.phases
    kept = tuple(reading for reading in record.readings if reading.probe != "host")
    record = structs.replace(record, readings=(*make_readings(STEAL), *kept))
    return structs.replace(trial, phases=(record,))


def played(spoil: Spoil, *, noise: Spoil = lambda trial: trial) -> Verdict:
    """Thirteen blocks of one build twice, three of which are spoiled."""
    trials: Sequence[Trial] = make_trials({"new": [0.0] * 13})
    trials = [noise(spoil(t)) if t.block in SPOILED else t for t in trials]
    run = make_run()
    real = tuple(structs.replace(side, engine="real") for side in run.candidates)
    return judge(structs.replace(run, candidates=real), trials)


def soundness_of(verdict: Verdict, audit: str) -> set[str]:
    """What an audit found, beside what it did not judge."""
    found: set[str] = {f.soundness for f in verdict.findings if f.audit == audit}
    return found - {"not checked", "does not apply"} or found


@pytest.mark.parametrize(
    ("spoil", "audit", "word"),
    [(bent, "clock", "invalid"), (stalled, "stalls", "doubtful"), (failed, "errors", "doubtful")],
)
def test_what_noise_did_to_a_dropped_block_says_nothing_of_the_others(
    spoil: Spoil, audit: str, word: str
) -> None:
    kept, dropped = played(spoil), played(spoil, noise=noisy)
    assert soundness_of(kept, audit) == {word}
    assert len(dropped.dropped) == len(SPOILED)
    assert not soundness_of(dropped, audit) & {"doubtful", "invalid"}
    assert dropped.overall == "not slower"


@pytest.mark.parametrize(("spoil", "audit"), [(robbed, "ledger"), (wrong, "results")])
def test_what_a_candidate_did_to_its_data_is_a_fact_in_a_dropped_block_too(
    spoil: Spoil, audit: str
) -> None:
    for verdict in (played(spoil), played(spoil, noise=noisy)):
        assert soundness_of(verdict, audit) == {"invalid"} and verdict.overall == "invalid"


def test_the_audit_of_noise_hears_of_the_blocks_that_were_dropped() -> None:
    (finding,) = [f for f in played(noisy).findings if f.audit == "noise"]
    assert finding.soundness == "sound", "drops that hit both alike, and fewer than a third"
    assert "3 of 13 blocks" in finding.sentence


def test_an_attempt_that_was_played_anew_is_not_heard_of() -> None:
    trials = make_trials({"new": [0.0] * 10})
    torn = [bent(structs.replace(t, number=t.number + 50)) for t in trials if t.block == 2]
    anew = [structs.replace(t, attempt=2) if t.block == 2 else t for t in trials]
    verdict = judge(make_run(), [*torn, *anew])
    assert soundness_of(verdict, "clock") == {"not checked"} and verdict.overall == "not slower"


def test_where_no_block_counts_nobody_calls_what_he_did_not_hear_sound() -> None:
    verdict = judge(make_run(), [noisy(trial) for trial in make_trials({"new": [0.0] * 6})])
    assert verdict.overall == "inconclusive"
    heard = {f.audit for f in verdict.findings if f.sentence != "no trial counts"}
    assert heard == {
        *("dropped_blocks", "failed_restarts", "ledger", "noise", "noise_effect", "results"),
        *(
            "committed",
            "contents",
            "durability",
            "integrity",
            "rows_changed",
            "same_work",
            "shares",
        ),
    }
    silent = {f.soundness for f in verdict.findings if f.audit not in heard}
    assert silent == {"not checked"}
