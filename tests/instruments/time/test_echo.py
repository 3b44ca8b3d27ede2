"""The echo of a server: what is due of it, what it sends, and that it is really played."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import make_phase, make_record, make_run, make_tally, make_trial, make_workload
from msgspec import structs

from dyno import driver
from dyno.builds import Build
from dyno.driver.plan import Plan, Script
from dyno.errors import TrialFailed
from dyno.instruments.time.echo import EchoEngine, find_echo_build, list_due_echoes, make_echo_plan
from dyno.record import Candidate, PhaseRecord, Reading, Run, Status, Trial, name_echo
from dyno.runs.resolve.draft import Prepared

SIDES = ("old", "new")
OURS = Build("real", "1", "1", Path("/dev/null"))
TRIPS = {"round_trips": 1000, "sent_bytes": 50_000, "received_bytes": 200_000}


def _run(**side: Any) -> Run:
    workload = make_workload("select", [make_phase(), make_phase("load", primary=())])
    plain = Candidate("", "real@1", "real", False, {}, {}, {})
    made = (structs.replace(plain, name=name, **side) for name in SIDES)
    return structs.replace(make_run(workloads=[workload]), candidates=tuple(made))


def _due(run: Run, *played: Trial, build: Build = OURS) -> list[tuple[str, str, int]]:
    prepared = Prepared(run, {}, dict.fromkeys(SIDES, build))
    return [
        (plan.options["phases"], side.name, attempt)
        for plan, side, _, attempt in list_due_echoes(prepared, run.workloads[0], played)
    ]


def _trial(name: str = "old", **tally: Any) -> Trial:
    phases = tuple(
        make_record([make_tally(100, **(TRIPS | tally))], phase) for phase in ("run", "load")
    )
    return make_trial(2, name, 0, 1, phases=phases)


def _echo(status: Status = "ok", attempt: int = 1, foreign: float = 0.0) -> Trial:
    readings = tuple(
        Reading("host", name, "ns", "lower", value, False, True)
        for name, value in (("busy_ns", foreign), ("idle_ns", 100.0 - foreign), ("own_ns", 0.0))
    )
    noisy = make_record([make_tally(1)], readings=readings)
    calm = structs.replace(make_trial(3, name_echo("old"), -1, 1), phases=(noisy,))
    return structs.replace(calm, status=status, attempt=attempt)


def test_the_sizes_are_those_of_what_was_exchanged_on_average() -> None:
    assert _due(_run(), _trial(connections=4)) == [("4 50 200 run", "(echo) old", 1)]


def test_only_servers_on_this_host_that_played_well_have_an_echo() -> None:
    run = _run()
    assert _due(run) == []
    assert _due(run, structs.replace(_trial(), status="failed")) == []
    assert _due(run, _trial(), build=_runs_already("db.example")) == []
    assert _due(_run(embedded=True), _trial()) == []
    assert _due(run, _trial(round_trips=0)) == []


def test_candidates_that_stand_alike_share_an_echo() -> None:
    run = _run()
    both = [_trial("old"), _trial("new")]
    assert [name for _, name, _ in _due(run, *both)] == ["(echo) old"]
    assert run.find_echo_stand(run.candidates[1]) == run.candidates[0]
    for own in ({"controls": {"pinning": "off"}}, {"engine": "other"}, {"build": {"address": "x"}}):
        apart = structs.replace(
            run, candidates=(run.candidates[0], structs.replace(run.candidates[1], **own))
        )
        assert [name for _, name, _ in _due(apart, *both)] == ["(echo) old", "(echo) new"]


def _runs_already(host: str) -> Build:
    address = f"//me@{host}:5432/db"
    return replace(OURS, name=address, facts={"address": address}, attached=True)


@pytest.mark.parametrize(
    ("host", "kind"), [("%2Frun%2Fs", "unix"), ("localhost", "tcp"), ("127.0.0.1", "tcp")]
)
def test_a_server_that_runs_already_is_stood_in_for_on_its_kind_of_socket(
    host: str, kind: str
) -> None:
    found = find_echo_build(_runs_already(host))
    assert found is not None and (found.name, found.attached) == (kind, True)
    ours = find_echo_build(OURS)
    assert ours is not None and (ours.name, ours.attached) == ("unix", False)


def test_an_open_loop_has_none() -> None:
    assert _due(_run(), _trial(target_per_s=10.0)) == []


def test_one_calm_echo_is_enough_and_a_noisy_one_is_played_again() -> None:
    run = _run()
    assert _due(run, _trial(), _echo()) == []
    noisy = [_echo(attempt=n, foreign=50.0) for n in range(1, 7)]
    assert [each[2] for each in _due(run, _trial(), *noisy[:1])] == [2]
    assert _due(run, _trial(), *noisy[:1], _echo(attempt=2)) == []
    assert _due(run, _trial(), *noisy) == [], "there is an end to that"


def test_an_echo_that_fails_twice_is_given_up() -> None:
    run = _run()
    assert [each[2] for each in _due(run, _trial(), _echo("failed"))] == [2]
    assert _due(run, _trial(), _echo("failed"), _echo("failed", 2)) == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_an_echo_answers_until_it_is_stopped(kind: str, tmp_path: Path) -> None:
    engine, plan = EchoEngine(), make_echo_plan("w", [("a b", 2, 1, 9), ("c", 1, 300, 70_000)], 0.1)
    (tmp_path / "home").mkdir(mode=0o700)
    server = engine.start(engine.program(kind, {}, lambda _: None), tmp_path / "home", {})
    try:
        script = Script(plan.script, plan.options)
        done = _played(Plan(server.session, script, 1, ("run",), progress_s=0), tmp_path / "log")
    finally:
        engine.stop(server)
    assert [record.phase for record in done] == ["a b", "c"]
    first, second = (record.streams[0] for record in done)
    assert (first.connections, first.failed, second.failed) == (2, 0, 0)
    assert first.sent_bytes == 8 * first.round_trips, "no request is shorter than its header"
    assert second.received_bytes == 70_000 * second.round_trips > 0
    assert not Path(f"/proc/{server.pid}").exists()


def _played(plan: Plan, log: Path) -> list[PhaseRecord]:
    found, limit = [], driver.Limit("the echo", 20)
    with driver.DriverProcess(plan, driver.DriverLaunch(log)) as process:
        while not isinstance(event := process.read_event(limit), driver.End):
            if isinstance(event, PhaseRecord):
                found.append(event)
            if isinstance(event, driver.Settle | driver.Ready | driver.Answered | PhaseRecord):
                process.go()
    return found


def test_an_echo_that_does_not_listen_is_told(tmp_path: Path) -> None:
    build = Build("echo", "unix", "1", Path("/bin/true"))
    with pytest.raises(TrialFailed, match="does not listen"):
        EchoEngine().start(build, tmp_path, {})


STARTED = """
import os, signal, sys
from pathlib import Path
from dyno.instruments.time.echo import EchoEngine
engine = EchoEngine()
server = engine.start(engine.program(sys.argv[1], {}, print), Path(sys.argv[2]), {})
print(server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_an_echo_ends_with_the_dyno_that_started_it(kind: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", STARTED, kind, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=40, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    until_s = time.monotonic() + 10
    while Path(f"/proc/{int(done.stdout)}").exists():
        assert time.monotonic() < until_s, "it outlived us"
        time.sleep(0.02)
