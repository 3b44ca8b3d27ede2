"""`dyno run --on ray:…` over two nodes of a cluster of the test's own, on one machine."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_plays import (
    LIMIT_S,
    FleetCaller,
    check_blocks,
    list_players,
    list_workers,
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
        with serving_nodes(home, ("n1", "n2")) as made:
            yield made
        wait_until(lambda: not find_processes(home), "every process of a node has ended")


def list_left(cluster: RayCluster) -> list[int]:
    return [pid for node in cluster.nodes for pid in list_players(node.process.pid)]


def test_rays_client_plays_shares_on_a_cluster_by_the_callers_own_dyno(
    cluster: RayCluster, tmp_path: Path
) -> None:
    caller = FleetCaller(tmp_path, cluster.enter())
    experiment = write_experiment(tmp_path, 0.2)
    experiment.write_text(experiment.read_text().replace("scripts/own.lua", "oltp_point_select"))
    result = tmp_path / "result.json"
    words = ("--on", f"ray://127.0.0.1:{CLIENT_PORT}", "--shares", "2", "--json", str(result))
    for _ in range(JOINS_MOST):
        code, said = caller.call("run", str(experiment), *words)
        if "cannot join the cluster" not in said:
            break
    assert code == 0, said
    assert json.loads(result.read_text())["overall"]
    run = caller.find_run()
    check_blocks(read_trials(run), {"n1", "n2"})
    (workload,) = json.loads((run / "run.json").read_text())["workloads"]
    assert "_ray_pkg_" in workload["script"], "it was played by the node's own Dyno"
    assert not list(run.glob("shares")) and not list_left(cluster)


def test_a_share_whose_worker_is_killed_is_played_again_and_the_run_is_whole(
    cluster: RayCluster, tmp_path: Path
) -> None:
    caller = FleetCaller(tmp_path, cluster.enter())
    on = ("run", str(write_experiment(tmp_path, 1.0)), "--on", f"ray:127.0.0.1:{PORT}")
    one = cluster.nodes[0].process.pid
    with caller.begin(*on, "--shares", "2") as process:
        wait_until(lambda: len(list_players(one)) > 1, "n1 plays", 150, process)
        (worker,) = list_workers(one)
        players = list_players(one)
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not {*players} & {*list_players(one)}, "what it played has ended")
        said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, said
    assert "share 1 of 2 was played by" in said and "share 2 of 2 was played by" in said
    check_blocks(read_trials(caller.find_run()), {"n1", "n2"})


def test_a_run_that_was_ended_goes_on_with_the_missing_shares_though_a_node_is_lost(
    cluster: RayCluster, tmp_path: Path
) -> None:
    caller = FleetCaller(tmp_path, cluster.enter())
    two = cluster.nodes[1]
    on = ("run", str(write_experiment(tmp_path, 1.0, blocks=5)), "--on", f"ray:127.0.0.1:{PORT}")
    with caller.begin(*on, "--shares", "5") as process:
        wait_until(caller.list_back, "a share is back", 150, process)
        process.terminate()
        said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130 and "`dyno resume" in said, said
    wait_until(lambda: not list_left(cluster), "the nodes have ended what they played")
    back = {json.loads(file.read_text())["began_ns"] for file in caller.list_back()}

    # of two shares that came back together three are left, so that both nodes play
    with caller.begin("resume", "last") as process:
        wait_until(lambda: list_players(two.process.pid), "n2 plays", 150, process)
        two.kill()
        said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode in (0, 1, 2, 3), said
    assert "of 5 shares to play" in said and "5 of 5 shares to play" not in said
    trials = read_trials(caller.find_run())
    check_blocks(trials, {str(trial["host"]) for trial in trials})
    assert back <= {trial["began_ns"] for trial in trials}, "a share that was back was played again"
    assert not list_left(cluster)
