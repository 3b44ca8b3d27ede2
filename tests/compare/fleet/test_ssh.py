"""`dyno run --on ssh:hosts.toml` over two hosts in namespaces of their own, with a real sshd."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_hosts import SshFleet, serving_hosts
from fleet_plays import (
    LIMIT_S,
    FleetCaller,
    check_blocks,
    list_players,
    read_beginning,
    read_trials,
    wait_until,
    write_experiment,
)

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshFleet]:
    with serving_hosts(tmp_path_factory.mktemp("fleet"), ("h1", "h2")) as made:
        yield made


@pytest.fixture
def caller(tmp_path: Path) -> FleetCaller:
    return FleetCaller(tmp_path)


def list_left(fleet: SshFleet) -> list[int]:
    return [pid for host in fleet.hosts for pid in list_players(host.process.pid)]


def test_every_fault_of_every_host_is_told_at_once_and_nothing_is_played(
    fleet: SshFleet, caller: FleetCaller
) -> None:
    one, two = fleet.hosts
    experiment = write_experiment(caller.folder)
    full = one.home / "full"
    one.enter(f"mkdir -p {full} && mount -t tmpfs -o size=512k tmpfs {full}")
    other = caller.folder / "other-dyno"
    hello = dict.fromkeys(("sources_sha256", "driver_sha256"), "0") | {
        **{"dyno": "9.9", "machine": "m", "slot": True, "calibrated": False},
        **dict.fromkeys(("cores", "memory_available_mb", "disk_free_mb"), 9999),
    }
    line = json.dumps({"kind": "hello", "data": hello, "bytes": 0})
    other.write_text(f"#!/bin/sh\nprintf 'hi\\ndyno-fleet 1\\n'\necho '{line}'\nread x\n")
    other.chmod(0o755)
    (caller.folder / "no-hosts").write_text("")
    strange = ("-o", f"UserKnownHostsFile={caller.folder / 'no-hosts'}")
    file = fleet.write_hosts(
        {
            "sound": (two, {}),
            "full": (one, {"dyno": fleet.call_dyno(one, state=full)}),
            "missing": (one, {"dyno": "/nowhere/dyno"}),
            "other": (one, {"dyno": str(other)}),
            "stranger": (one, {"options": strange}),
            "down": (one, {"port": 2}),
            "twin": (two, {"dyno": fleet.call_dyno(two, state=two.home / "twin")}),
        }
    )
    code, said = caller.call("run", str(experiment), "--on", f"ssh:{file}")
    assert code == 64, said
    joined = " ".join(said.split())
    for words in (
        "6 of 7 hosts cannot play",
        "full: its disk is full",
        "missing: dyno does not answer there",
        "/nowhere/dyno",
        "other: its dyno is 9.9",
        "stranger: dyno does not answer there",
        "Host key verification failed",
        "down: dyno does not answer there",
        "Connection refused",
        "twin: it is the same machine as sound",
        "nothing was played",
    ):
        assert words in joined, f"{words}\n{said}"
    assert not (caller.folder / "runs").exists()
    assert not list_left(fleet)


def test_a_caller_that_is_killed_leaves_nobody_and_its_run_goes_on(
    fleet: SshFleet, caller: FleetCaller, tmp_path: Path
) -> None:
    experiment = write_experiment(caller.folder, 2.0)
    on = ("run", str(experiment), "--on", f"ssh:{fleet.write_hosts()}")
    other = FleetCaller(tmp_path / "other")
    other.folder.mkdir()
    with caller.begin(*on) as process:
        wait_until(lambda: len(caller.list_back()) >= 2, "two trials are back")
        with other.begin(*on) as second, caller.begin("resume", "last") as third:
            said = second.communicate(timeout=LIMIT_S)[0]
            assert "another dyno plays there: its slot is taken" in said, said
            assert second.returncode == 64
            said = third.communicate(timeout=LIMIT_S)[0]
            assert third.returncode == 64 and "another dyno plays 2" in said, said
        process.kill()
    wait_until(lambda: not list_left(fleet), "the hosts have ended what they played")
    back = [read_beginning(file) for file in caller.list_back()]

    code, said = caller.call("resume", "last")
    assert code in (0, 1, 2, 3), said
    run = caller.find_run()
    trials = read_trials(run)
    kept = {trial["began_ns"] for trial in trials}
    assert len(set(back) & kept) >= len(back) - 2, "more than a trial of each host was torn"
    check_blocks(trials, {"h1", "h2"})
    assert (run / "report.html").is_file() and (run / "verdict.json").is_file()
    assert not (run / "shares").exists(), "whoever looks for runs finds each trial twice"
    assert not list_left(fleet)
    for host in fleet.hosts:
        assert not list((host.state / "fleet").iterdir()), "a host keeps what is here"


def test_an_interrupt_ends_what_the_hosts_play(fleet: SshFleet, caller: FleetCaller) -> None:
    experiment = write_experiment(caller.folder, 5.0)
    hosts = fleet.write_hosts()
    with caller.begin("run", str(experiment), "--on", f"ssh:{hosts}") as process:
        wait_until(lambda: len(list_left(fleet)) >= 6, "two drivers play")
        os.kill(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130 and "`dyno resume" in said, said
    assert not list_left(fleet)


def test_hosts_that_are_killed_or_silent_cost_their_shares_and_nothing_else(
    tmp_path: Path, caller: FleetCaller
) -> None:
    home = tmp_path / "hosts"
    home.mkdir()
    with serving_hosts(home, ("h1", "h2", "h3")) as fleet:
        experiment = write_experiment(caller.folder, 1.0)
        hosts = fleet.write_hosts()
        with caller.begin("run", str(experiment), "--on", f"ssh:{hosts}") as process:
            wait_until(lambda: _have_back(caller, "h2", "h3"), "both have played", 150, process)
            fleet.hosts[1].kill()
            fleet.hosts[2].cut_off()
            said, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, said
        assert "h2: is lost: " in said and "h3: is lost: " in said, said
        check_blocks(read_trials(caller.find_run()), {"h1"})
        wait_until(lambda: not list_left(fleet), "a host without its caller has ended its play")


def _have_back(caller: FleetCaller, *hosts: str) -> bool:
    return set(hosts) <= {file.parent.parent.name for file in caller.list_back()}
