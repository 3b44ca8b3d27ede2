"""Client hosts that a real sshd serves: played from, cut off, reached anew, refused by name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fleet_hosts import FakeHost, SshFleet, make_key, serving_hosts

from dyno.compare.pilot.prepare import prepare
from dyno.driver import clients
from dyno.errors import HostError
from dyno.instruments.time.run import play_run, resume_run
from dyno.instruments.time.watch import PhaseStarted, TrialEnded
from dyno.record import Trial
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import RunFolder, create_run

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

OPTIONS = {"time": "1", "warmup_time": "0.1", "threads": "3"}
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshFleet]:
    with serving_hosts(tmp_path_factory.mktemp("hosts"), ("c1", "c2")) as fleet:
        yield fleet


def wait_until_idle(host: FakeHost) -> list[str]:
    """What still runs on a host that nobody is connected to."""
    until_s = time.monotonic() + 20
    while (left := host.list_programs()) and time.monotonic() < until_s:
        time.sleep(0.05)
    return left


def test_a_run_over_ssh_outlives_a_connection_that_is_cut_and_leaves_nothing(
    fleet: SshFleet, tmp_path: Path
) -> None:
    """The trial is torn by the host's name and its block played again; a stop, and resume."""
    measuring = Measuring(blocks=3, fixed=True, seed=1, limits=CALM, sequential=True)
    made = compare_candidates(["a=null@2ms", "b=null@3ms"], "oltp_point_select", OPTIONS, measuring)
    draft = draft_run(replace(made, client_hosts=str(fleet.write_clients())), lambda _: None)
    assert draft.clients
    there = [each.ssh.folder for each in draft.clients.reached if each.ssh]
    cut: list[list[str]] = []

    def watch(event: object) -> None:
        if isinstance(event, PhaseStarted) and event.phase == "run" and not cut:
            cut.append(fleet.hosts[1].list_programs())
            fleet.hosts[1].end_connections()
        elif isinstance(event, TrialEnded) and event.trial.block == 1:
            raise KeyboardInterrupt

    with draft.clients:
        prepared = prepare(draft, lambda _: None)
        folder = create_run(prepared.run, tmp_path)
        with pytest.raises(KeyboardInterrupt):
            play_run(prepared, folder, watch)
    assert "dyno-driver" in cut[0]
    (torn,) = [each for each in folder.read_trials() if each.status == "failed"]
    assert torn.failure
    assert torn.failure.message == "client host c2: the connection has ended"
    for host in fleet.hosts:
        assert wait_until_idle(host) == []
    assert not [path for path in there if Path(path).exists()]

    resume_run(folder, lambda _: None)
    check_records(folder, torn)
    for host in fleet.hosts:
        assert wait_until_idle(host) == []


def check_records(folder: RunFolder, torn: Trial) -> None:
    """All blocks were played by both hosts in the end, the torn one under another attempt."""
    trials = [each for each in folder.read_trials() if each.status == "ok"]
    assert {each.block for each in trials} == {0, 1, 2}
    last = max(each.attempt for each in trials if each.block == torn.block)
    assert last > torn.attempt
    for trial in trials:
        (record,) = [each for each in trial.phases if each.phase == "run"]
        (tally,) = record.streams
        assert [(part.host, part.users) for part in record.clients] == [("c1", 2), ("c2", 1)]
        assert sum(part.done["event"] for part in record.clients) == tally.latency.count > 0


def test_a_host_that_cannot_be_reached_is_named_with_what_to_do(fleet: SshFleet) -> None:
    make_key(fleet.home / "other")
    changed, address = fleet.home / "changed", fleet.hosts[0].address
    changed.write_text(f"{address} {(fleet.home / 'other.pub').read_text()}")
    (fleet.home / "nobody").write_text("")

    def refuse(**keys: Any) -> str:
        hosts = clients.parse_client_hosts(str(fleet.write_clients({"c1": keys})))
        with pytest.raises(HostError) as refused:
            clients.reach_hosts(hosts).close()
        return str(refused.value)

    key = ["-F", "none", "-i", str(fleet.home / "client")]
    for name, hint in (("changed", "ssh-keygen -R"), ("nobody", f"call `ssh root@{address}` once")):
        said = refuse(options=[*key, "-o", f"UserKnownHostsFile={fleet.home / name}"])
        assert "cannot reach client host c1 " in said and hint in said
    known = ["-F", "none", "-o", f"UserKnownHostsFile={fleet.home / 'known_hosts'}"]
    said = refuse(options=[*known, "-i", str(fleet.home / "other")])
    assert "Permission denied" in said and "ssh-copy-id" in said
