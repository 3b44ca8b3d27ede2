"""`dyno run --on ray:…` over three nodes of a cluster of the test's own, on one machine."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
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
from ray_nodes import CLIENT_PORT, PORT, RayCluster, find_processes, serving_nodes

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

#: Ray starts a server for each client, and on a crowded host gives it up before it runs.
JOINS_MOST = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """Its nodes' sockets lie in it, whose paths have 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="dyno-ray-", dir="/tmp") as name:
        home = Path(name)
        with serving_nodes(home, ("n1", "n2", "n3")) as made:
            yield made
        wait_until(lambda: not find_processes(home), "every process of a node has ended")


def list_left(cluster: RayCluster) -> list[int]:
    return [pid for node in cluster.nodes for pid in list_players(node.process.pid)]


def test_rays_client_plays_on_a_cluster_of_another_network(
    cluster: RayCluster, tmp_path: Path
) -> None:
    caller = FleetCaller(tmp_path, cluster.enter())
    experiment = write_experiment(tmp_path, 0.2)
    address = f"ray://127.0.0.1:{CLIENT_PORT}"
    result = tmp_path / "result.json"
    words = ("--on", address, "--shares", "1", "--json", str(result))
    for _ in range(JOINS_MOST):
        code, said = caller.call("run", str(experiment), *words)
        if "cannot join the cluster" not in said:
            break
    assert code == 0, said
    assert json.loads(result.read_text())["overall"]
    check_blocks(read_trials(caller.find_run()), {"n1"})


def test_caller_node_and_head_are_killed_one_after_the_other_and_the_run_goes_on(
    cluster: RayCluster, tmp_path: Path
) -> None:
    one, two, three = cluster.nodes
    caller = FleetCaller(tmp_path, cluster.enter())
    experiment = write_experiment(tmp_path, 1.5, blocks=6)
    on = ("run", str(experiment), "--on", f"ray:127.0.0.1:{PORT}", "--shares", "3")
    with caller.begin(*on) as process:
        wait_until(lambda: len(caller.list_back()) >= 2, "two trials are back", 150, process)
        process.kill()
    wait_until(lambda: not list_left(cluster), "the nodes have ended what they played")
    back = {read_beginning(file) for file in caller.list_back()}

    with caller.begin("resume", "last") as process:
        wait_until(lambda: _have_new(caller, "n1", back), "n1 has played on", 150, process)
        wait_until(lambda: list_players(three.process.pid), "n3 plays, too", 150, process)
        three.kill()
        two.freeze()
        wait_until(lambda: _find_whole_blocks(caller, "n1"), "n1 has a whole block", 150, process)
        one.kill()
        said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 64, said
    for words in ("n3: ", "n2: ", "n1: is lost", "not played", "`dyno resume "):
        assert words in " ".join(said.split()), said
    two.kill()
    assert not list_left(cluster)
    back = _find_whole_blocks(caller, "n1")

    one.start()
    code, said = caller.call("resume", "last")
    assert code in (0, 1, 2, 3), said
    trials = read_trials(caller.find_run())
    hosts = {str(trial["host"]) for trial in trials}
    check_blocks(trials, hosts)
    assert "n1" in hosts
    mine = {trial["began_ns"] for trial in trials if trial["host"] == "n1"}
    assert back <= mine, "a whole block that had come back was played again"
    wait_until(lambda: not list_left(cluster), "nobody plays any more")
    assert not list((one.state / "fleet").iterdir()), "a node keeps what is here"


def _find_whole_blocks(caller: FleetCaller, host: str) -> set[object]:
    """When the trials began of blocks that have come back whole from a host."""
    blocks: dict[object, list[object]] = {}
    for file in caller.list_back():
        trial = json.loads(file.read_text())
        if file.parent.parent.name == host and trial["status"] == "ok" and trial["block"] >= 0:
            key = file.parent, trial["block"], trial["attempt"]
            blocks.setdefault(key, []).append(trial["began_ns"])
    return {began for own in blocks.values() if len(own) == 2 for began in own}


def _have_new(caller: FleetCaller, host: str, known: set[object]) -> bool:
    """Has a trial of a host come back that is not known?"""
    own = [file for file in caller.list_back() if file.parent.parent.name == host]
    return any(read_beginning(file) not in known for file in own)
