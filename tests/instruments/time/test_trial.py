"""A trial as it is played: the order of what is done is its behaviour, so that is looked at."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from fake_driver import GOOD, PHASE, FakeSetup, fake_setup
from fake_engine import FakeEngine
from fakes import make_candidate, make_run
from msgspec import structs

from dyno.builds import Build
from dyno.cli.terminal.live import format_trial, is_told
from dyno.driver.plan import Description, Plan
from dyno.engines import Server
from dyno.errors import TrialFailed, UsageError
from dyno.instruments.time import watch
from dyno.instruments.time.trial import play_trial
from dyno.record import ControlCondition, Failure, Reading


@pytest.fixture
def setup() -> FakeSetup:
    return fake_setup()


def test_a_trial_does_one_thing_after_the_other(setup: FakeSetup, tmp_path: Path) -> None:
    played, error = play_trial(setup.job(tmp_path), setup.events.append)
    assert error is None
    assert setup.journal == [
        *("hold off", "start a", "drive", "settle", "go"),
        *("sample", "go", "sample", "go", "close"),
        *("ledger", "ask count", "settings", "stop a", "release"),
    ]
    assert setup.events == [
        watch.PhaseStarted("run", 10.0),
        watch.Progressed("run", 1.0, ()),
        watch.PhaseEnded("run"),
    ]
    assert played.status == "ok"


def test_a_trial_records_what_was_measured_held_and_found(setup: FakeSetup, tmp_path: Path) -> None:
    job = setup.job(tmp_path)
    played, _ = play_trial(job, setup.events.append)
    counter = Reading("fake", "counter", "ns", "lower", 10.0, True)
    gauge = Reading("fake", "gauge", "B", "lower", 7.0, False)
    assert played.phases == (structs.replace(PHASE, readings=(counter, gauge)),)
    fake = ControlCondition("off", details={"was": "off"})
    assert played.conditions.controls == {"fake": fake}
    assert played.conditions.driver and played.conditions.driver.prefix == "nice"
    assert [(e.name, e.expected, e.found) for e in played.evidence] == [("rows", 2, "2")]
    assert played.settings == {"journal_mode": "wal"}
    assert played.size_bytes == 1000
    assert not job.home.exists()
    assert setup.plans[0].cpus == (1,)
    assert setup.launches[0].prefix == ("nice",)
    assert setup.launches[0].environment == {"MARK": "1", "TMPDIR": str(job.home)}


@pytest.mark.parametrize("error", [TrialFailed("it gave up"), UsageError("a wrong word")])
def test_a_trial_that_ends_badly_keeps_what_it_has_and_leaves_nothing(
    setup: FakeSetup, tmp_path: Path, error: BaseException
) -> None:
    setup.driver_says = [(GOOD[0], PHASE, error)]
    job = setup.job(tmp_path)
    played, stopped = play_trial(job, setup.events.append)
    assert stopped is error
    assert (played.status, len(played.phases)) == ("failed", 1)
    assert played.failure == Failure(str(error))
    assert setup.journal[-3:] == ["close", "stop a", "release"]
    assert not job.home.exists()


def test_an_interrupted_trial_keeps_the_driver_s_last_words(
    setup: FakeSetup, tmp_path: Path
) -> None:
    setup.driver_says = [(*GOOD[:2], KeyboardInterrupt(), *GOOD[2:])]
    played, _ = play_trial(setup.job(tmp_path), setup.events.append)
    assert (played.status, len(played.phases)) == ("interrupted", 1)
    assert setup.journal[-4:] == ["interrupt", "close", "stop a", "release"]


def test_the_engine_s_process_gets_prefix_and_environment_not_the_driver_s(
    setup: FakeSetup, tmp_path: Path
) -> None:
    served = structs.replace(make_candidate("a"), embedded=False)
    play_trial(setup.job(tmp_path, candidate=served), setup.events.append)
    assert setup.launches[0].prefix == ()
    assert "MARK" not in setup.launches[0].environment


class Immovable(FakeEngine):
    """An engine whose data lie behind a link when it is stopped, so that nobody removes them."""

    def stop(self, server: Server) -> None:
        data = server.home.with_name("elsewhere")
        server.home.rename(data)
        server.home.symlink_to(data)


class Unstoppable(FakeEngine):
    """An engine that cannot be stopped."""

    def stop(self, server: Server) -> None:
        raise TrialFailed("it does not end")


def test_data_that_cannot_be_removed_after_a_trial_are_said_in_its_record(
    setup: FakeSetup, tmp_path: Path
) -> None:
    job = setup.job(tmp_path, engine=Immovable(setup.journal))
    played, error = play_trial(job, setup.events.append)
    assert error is None and played.status == "ok"
    (said,) = played.left_behind
    assert said.startswith(f"{job.home} could not be removed: ")
    assert said in format_trial(make_run(), played) and is_told(played)


def test_an_engine_that_outlives_a_failed_trial_is_said_beside_why_that_failed(
    setup: FakeSetup, tmp_path: Path
) -> None:
    setup.driver_says = [(GOOD[0], TrialFailed("it gave up"))]
    job = setup.job(tmp_path, engine=Unstoppable(setup.journal))
    played, _ = play_trial(job, setup.events.append)
    assert played.why_failed == "it gave up"
    assert played.left_behind == ("the engine was not stopped: it does not end",)


def test_tables_that_a_failed_trial_leaves_in_a_server_are_said(
    setup: FakeSetup, tmp_path: Path
) -> None:
    loaded = structs.replace(PHASE, phase="prepare")
    setup.driver_says = [(GOOD[0], loaded, TrialFailed("it gave up"))]
    build = Build("there", "there", "1", Path("/bin/true"), attached=True)

    def refuse(plan: Plan) -> Description:
        raise TrialFailed("the server is gone")

    tools = dataclasses.replace(setup.tools, describe=refuse)
    job = setup.job(tmp_path, build=build, tools=tools)
    played, _ = play_trial(job, setup.events.append)
    assert played.why_failed == "it gave up"
    assert [each for each in played.left_behind if "the server is gone" in each]
