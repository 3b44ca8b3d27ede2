"""A trial as it is conducted: the order of what is done is its behaviour, so that is looked at."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from fakes import make_candidate
from theatre import GOOD, PHASE, Theatre, opened

from dyno.errors import TrialFailed, UsageError
from dyno.play import watch
from dyno.play.trial import play_trial
from dyno.record import ControlCondition, Failure, Reading


@pytest.fixture
def theatre() -> Theatre:
    return opened()


def test_a_trial_does_one_thing_after_the_other(theatre: Theatre, tmp_path: Path) -> None:
    played, error = play_trial(theatre.job(tmp_path), theatre.events.append)
    assert error is None
    assert theatre.journal == [
        *("hold off", "start a", "drive", "settle", "go"),
        *("sample", "go", "sample", "go", "close"),
        *("ledger", "ask count", "settings", "stop a", "release"),
    ]
    assert theatre.events == [
        watch.PhaseStarted("run", 10.0),
        watch.Progressed("run", 1.0, ()),
        watch.PhaseEnded("run"),
    ]
    assert played.status == "ok"


def test_a_trial_records_what_was_measured_held_and_found(theatre: Theatre, tmp_path: Path) -> None:
    job = theatre.job(tmp_path)
    played, _ = play_trial(job, theatre.events.append)
    counter = Reading("fake", "counter", "ns", "lower", 10.0, True)
    gauge = Reading("fake", "gauge", "B", "lower", 7.0, False)
    assert played.phases == (dataclasses.replace(PHASE, readings=(counter, gauge)),)
    fake = ControlCondition("off", details={"was": "off"})
    assert played.conditions.controls == {"fake": fake}
    assert played.conditions.driver and played.conditions.driver.prefix == "nice"
    assert [(e.name, e.expected, e.found) for e in played.evidence] == [("rows", 2, "2")]
    assert played.settings == {"journal_mode": "wal"}
    assert played.size_bytes == 1000
    assert not job.home.exists()
    assert theatre.plans[0].cpus == (1,)
    assert theatre.launches[0].prefix == ("nice",)
    assert theatre.launches[0].environment == {"MARK": "1", "TMPDIR": str(job.home)}


@pytest.mark.parametrize("error", [TrialFailed("it gave up"), UsageError("a wrong word")])
def test_a_trial_that_ends_badly_keeps_what_it_has_and_leaves_nothing(
    theatre: Theatre, tmp_path: Path, error: BaseException
) -> None:
    theatre.says = [(GOOD[0], PHASE, error)]
    job = theatre.job(tmp_path)
    played, stopped = play_trial(job, theatre.events.append)
    assert stopped is error
    assert (played.status, len(played.phases)) == ("failed", 1)
    assert played.failure == Failure(str(error))
    assert theatre.journal[-3:] == ["close", "stop a", "release"]
    assert not job.home.exists()


def test_an_interrupted_trial_keeps_the_driver_s_last_words(
    theatre: Theatre, tmp_path: Path
) -> None:
    theatre.says = [(*GOOD[:2], KeyboardInterrupt(), *GOOD[2:])]
    played, _ = play_trial(theatre.job(tmp_path), theatre.events.append)
    assert (played.status, len(played.phases)) == ("interrupted", 1)
    assert theatre.journal[-4:] == ["interrupt", "close", "stop a", "release"]


def test_the_engine_s_process_gets_prefix_and_environment_not_the_driver_s(
    theatre: Theatre, tmp_path: Path
) -> None:
    served = dataclasses.replace(make_candidate("a"), embedded=False)
    play_trial(theatre.job(tmp_path, candidate=served), theatre.events.append)
    assert theatre.launches[0].prefix == ()
    assert "MARK" not in theatre.launches[0].environment
