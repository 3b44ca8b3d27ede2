"""`dyno run --on ray:…` over three nodes of a cluster of the test's own, on one machine."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_plays import (
    FleetCaller,
    check_blocks,
    list_players,
    read_beginning,
    read_trials,
    wait_until,
    write_experiment,
)
from ray_nodes import CLIENT_PORT, PORT, RayCluster, list_processes, serving_nodes

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """Its nodes' sockets lie in it, whose paths have 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="dyno-ray-", dir="/tmp") as name:
        home = Path(name)
        with serving_nodes(home, ("n1", "n2", "n3")) as made:
            yield made
        wait_until(lambda: not list_processes(home), "every process of a node has ended", 15)


def list_left(cluster: RayCluster) -> list[int]:
    return [pid for node in cluster.nodes for pid in list_players(node.process.pid)]


def test_a_caller_and_then_a_node_are_killed_and_the_run_goes_on(
    cluster: RayCluster, tmp_path: Path
) -> None:
    caller = FleetCaller(tmp_path, cluster.enter())
    experiment = write_experiment(tmp_path, 1.5)
    on = ("run", str(experiment), "--on", f"ray:127.0.0.1:{PORT}", "--shares", "3")
    with caller.begin(*on) as process:
        wait_until(lambda: len(caller.list_back()) >= 2, "two trials are back", 60)
        process.kill()
    wait_until(lambda: not list_left(cluster), "the nodes have ended what they played")
    back = [read_beginning(file) for file in caller.list_back()]

    with caller.begin("resume", "last") as process:
        wait_until(lambda: list_players(cluster.nodes[2].process.pid), "n3 plays again", 60)
        wait_until(lambda: len(caller.list_back()) > len(back), "another trial is back", 60)
        cluster.nodes[2].kill()
        said, _ = process.communicate(timeout=100)
    assert process.returncode in (0, 1, 2, 3), said
    trials = read_trials(caller.find_run())
    hosts = {str(trial["host"]) for trial in trials}
    assert "n1" in hosts and "n2" in hosts, hosts
    check_blocks(trials, hosts)
    wait_until(lambda: not list_left(cluster), "nobody plays any more")
    for node in cluster.nodes[:2]:
        assert not list((node.state / "fleet").iterdir()), "a node keeps what is here"


def test_rays_client_plays_on_a_cluster_of_another_network(
    cluster: RayCluster, tmp_path: Path
) -> None:
    caller = FleetCaller(tmp_path, cluster.enter())
    experiment = write_experiment(tmp_path, 0.2)
    address = f"ray://127.0.0.1:{CLIENT_PORT}"
    result = tmp_path / "result.json"
    words = ("--on", address, "--shares", "1", "--json", str(result))
    code, said = caller.call("run", str(experiment), *words)
    assert code == 0, said
    assert json.loads(result.read_text())["overall"]
    check_blocks(read_trials(caller.find_run()), {"n1"})
