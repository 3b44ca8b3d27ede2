"""The Python side of the driver: what it says, what its silence means, and that it never stays."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path

import pytest

from dyno import driver
from dyno.driver import DriverLaunch, DriverProcess, Limit
from dyno.driver.events import UnreadableEvent
from dyno.driver.plan import Plan, Script
from dyno.errors import DynoError, HostError, InternalError, TrialFailed, UsageError

SCRIPTED = Path(__file__).with_name("scripted_driver.py")
NOTHING = {"kind": "null", "delay_ns": 0}


@pytest.fixture(autouse=True)
def scripted_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_DRIVER", str(SCRIPTED))


def plan(act: str = "") -> Plan:
    return Plan(NOTHING, Script("mine.lua", {"act": act}), seed=1)


def play(act: str, log: Path, limit_s: float = 20) -> list[driver.Event]:
    with DriverProcess(plan(act), DriverLaunch(log / "log")) as process:
        events = [process.read_event(Limit("phase run", limit_s))]
        process.go()
        events.append(process.read_event(Limit("phase run", limit_s)))
    return events


def test_a_good_trial_is_told_event_by_event(tmp_path: Path) -> None:
    ready, end = play("", tmp_path)
    assert isinstance(ready, driver.Ready)
    assert ready.phase == "run"
    assert end == driver.End({"inserted": 2})
    assert (tmp_path / "log").read_text() == "a word in the log\n"


@pytest.mark.parametrize(
    ("act", "kind", "says"),
    [
        ("user", UsageError, "it broke: for a reason (mine.lua:7, connection 3, phase run)"),
        ("streams", UsageError, "(mine.lua:7, connection 3, stream readers, phase run)"),
        ("host", HostError, "hint: mend it"),
        ("engine", TrialFailed, "mine.lua:7"),
        ("driver", InternalError, "mine.lua:7"),
        ("kill", TrialFailed, "the driver was killed (signal 9)"),
        ("exit", TrialFailed, "the driver ended early (exit code 7): a word in the log"),
        ("babble", UnreadableEvent, "cannot parse the driver's event"),
        ("endless", InternalError, "a line of more than 64 MB"),
        ("deep", UnreadableEvent, "cannot parse the driver's event"),
        ("list", UnreadableEvent, "cannot parse the driver's event"),
        ("untyped", InternalError, "it gives no reason"),
        ("wrong", UnreadableEvent, "cannot parse the driver's event"),
        ("old", HostError, "speaks version 9 of the plan"),
    ],
)
def test_a_failure_is_raised_as_whose_it_is(
    tmp_path: Path, act: str, kind: type[DynoError], says: str
) -> None:
    with pytest.raises(DynoError) as failed:
        play(act, tmp_path)
    assert type(failed.value) is kind
    assert says in str(failed.value)


@pytest.mark.parametrize("statement", ["SELECT nonsense", "SELECT less"])
def test_an_answer_of_another_shape_is_no_answer(statement: str) -> None:
    with pytest.raises(InternalError, match="cannot parse the driver's"):
        driver.ask(NOTHING, [statement])
    with (
        driver.Conversation(20) as ask,
        pytest.raises(InternalError, match="cannot parse the driver's"),
    ):
        ask(NOTHING, [statement])


def test_a_driver_that_hangs_is_given_up_and_killed(tmp_path: Path) -> None:
    with pytest.raises(TrialFailed, match="phase run took longer than 1 s"):
        play("hang", tmp_path, limit_s=1)


def test_no_driver_outlives_its_process(tmp_path: Path) -> None:
    with DriverProcess(plan("hang"), DriverLaunch(tmp_path / "log")) as process:
        process.read_event(Limit("the start", 20))
        os.kill(process.pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_a_driver_leads_its_own_group_so_that_ctrl_c_is_ours_to_pass_on(tmp_path: Path) -> None:
    with DriverProcess(plan("hang"), DriverLaunch(tmp_path / "log")) as process:
        process.read_event(Limit("the start", 20))
        assert os.getpgid(process.pid) == process.pid


def test_of_the_user_s_environment_the_driver_sees_its_own_words_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DYNO_WIRE", "epoll")
    monkeypatch.setenv("PGPASSWORD", "secret")
    assert driver.build_driver_environment().keys() == {"PATH", "LANG", "DYNO_WIRE"}
    assert driver.build_driver_environment()["DYNO_WIRE"] == "epoll"


def test_a_prefix_and_the_environment_reach_the_driver(tmp_path: Path) -> None:
    marks = {"MARK": "set"}
    show = ("/bin/sh", "-c", 'echo "$MARK ${HOME-none}" >&2; exec "$@"', "sh")
    with DriverProcess(plan(), DriverLaunch(tmp_path / "log", show, marks)) as process:
        process.read_event(Limit("the start", 20))
    assert (tmp_path / "log").read_text().startswith("set none\n")


def test_a_program_that_cannot_be_started_is_the_host_s_fault(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="cannot start '/no/such/program'"):
        DriverProcess(plan(), DriverLaunch(tmp_path / "log", ("/no/such/program",)))


def test_answers_are_rows_of_text() -> None:
    assert driver.ask(NOTHING, ["one", "two"]) == [[["one"], [None]], [["two"], [None]]]


def test_a_refused_question_says_who_can_mend_it() -> None:
    with pytest.raises(UsageError, match="it broke"):
        driver.ask(NOTHING, ["bad"])
    with pytest.raises(TrialFailed, match=r"ended early \(exit code 101\): what a pity"):
        driver.ask(NOTHING, ["die"])


def test_a_question_that_is_not_answered_is_given_up() -> None:
    with pytest.raises(TrialFailed, match="the engine did not answer in 0 s"):
        driver.ask(NOTHING, ["hang"], limit_s=0.5)


def test_an_answer_without_end_is_given_up_with_its_statement() -> None:
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TrialFailed, match=r"^the engine answered with more than 64 MB: SELECT en"):
        driver.ask(NOTHING, ["SELECT 1", "SELECT endless"])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 500 << 10


def test_a_missing_driver_is_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DYNO_DRIVER", str(tmp_path / "gone"))
    with pytest.raises(HostError, match="is not a program"):
        driver.find_driver()
    monkeypatch.delenv("DYNO_DRIVER")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(HostError, match=r"not installed(.|\n)*make setup"):
        driver.find_driver()


def test_a_driver_killed_from_outside_is_noticed_at_once(tmp_path: Path) -> None:
    with DriverProcess(plan("hang"), DriverLaunch(tmp_path / "log")) as process:
        process.read_event(Limit("the start", 20))
        process.go()
        began = time.monotonic()
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(TrialFailed, match="signal 9"):
            process.read_event(Limit("phase run", 20))
        assert time.monotonic() - began < 10
