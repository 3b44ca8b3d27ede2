"""A Ray cluster of a test's own: nodes on one machine, each with another machine-id, and all of
their processes gone in the end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from privileges import need_root

RAY = Path(sys.executable).with_name("ray")
#: What a node is: an identity of its own, and processes that nobody else sees.
NODE_SCRIPT = """
set -e
mount --make-rprivate /
mount --bind {home}/machine-id /etc/machine-id
exec {ray} start --block {words}
"""
ALONE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
PORT, CLIENT_PORT = 6379, 10001
#: Of the least size: a fleet keeps nothing in Ray's store.
STORE_BYTES = 80_000_000
#: No autoscaler, no log monitor, no usage report: a fleet asks for none of them.
FEWEST_PROCESSES = "--no-monitor --include-log-monitor=false --disable-usage-stats"
#: Of a node's helpers, so that it need not wait until they have found some.
HELPER_PORTS = ("dashboard-agent-grpc", "dashboard-agent-listen", "runtime-env-agent")
#: How long a node may take to be known by its head: on a crowded machine Ray gives up too soon.
START_S = 120
#: A node that has died at its start is started again that often.
STARTS_MOST = 3


def need_ray() -> None:
    """Goes on where the extra `fleet` is installed; else skips the test, or fails it in CI."""
    if RAY.is_file():
        return
    message = "takes ray: pip install 'dyno-bench[fleet]'"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@dataclass
class RayNode:
    """A node: the folder of its host, the words that start it, and the first of its processes."""

    name: str
    home: Path
    command: list[str]
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        """Starts it, again where it has died at its start."""
        for _ in range(STARTS_MOST):
            with (self.home / "ray.log").open("wb") as log:
                self.process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=os.environ | choose_environment(self.home),
                    cwd=self.home,
                )
            if self._runs():
                return
            self.kill()
        raise AssertionError((self.home / "ray.log").read_text())

    def _runs(self) -> bool:
        """Waits until it says that it runs; False where it has died."""
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.process.poll() is None:
            if "Ray runtime started" in (self.home / "ray.log").read_text():
                return True
            time.sleep(0.1)
        return False

    def kill(self) -> None:
        """As a power cut does: all that runs there."""
        self.process.kill()  # unshare's --kill-child ends the namespace with it
        self.process.wait(10)


def choose_environment(home: Path) -> dict[str, str]:
    """A node's own places, and how long it may take to be known."""
    places = {"DYNO_STATE": str(home / "state"), "DYNO_TMP": str(home / "tmp")}
    return places | {"RAY_raylet_start_wait_time_s": str(START_S)}


@dataclass
class RayCluster:
    """Nodes, the head first; `port` is the head's. `network` holds a namespace with a loopback and
    nothing else: nobody outside of it can ask these nodes to run anything.
    """

    port: int
    network: subprocess.Popen[bytes]
    nodes: list[RayNode] = field(default_factory=list)

    def enter(self, *words: str) -> list[str]:
        """The words of a program that runs where the nodes can be reached."""
        return ["nsenter", "--net", "-t", str(self.network.pid), "--", *words]


@contextmanager
def serving_nodes(home: Path, names: tuple[str, ...]) -> Iterator[RayCluster]:
    """A cluster; every process of it has ended in the end."""
    need_ray()
    need_root("nodes with identities of their own")
    up = "ip link set lo up && echo up && exec sleep infinity"
    network = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", up], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    cluster = RayCluster(PORT, network)
    try:
        assert network.stdout and network.stdout.readline() == b"up\n"
        for name in names:
            _start_node(home, name, cluster)
        yield cluster
    finally:
        for node in reversed(cluster.nodes):
            node.kill()
        network.kill()
        network.wait(10)
        if network.stdout:
            network.stdout.close()


def _start_node(home: Path, name: str, cluster: RayCluster) -> None:
    """Adds a node that runs; the next one waits: a crowded machine starts them best one by one."""
    own = home / name
    for folder in (own, own / "state", own / "tmp"):
        folder.mkdir()
    (own / "machine-id").write_text(uuid.uuid4().hex + "\n")
    number = len(cluster.nodes)
    words = f"--num-cpus=1 --object-store-memory={STORE_BYTES} {FEWEST_PROCESSES}"
    words += f" --node-name={name} --resources='{{\"dyno_slot\": 1}}'"
    for at, helper in enumerate(HELPER_PORTS):
        words += f" --{helper}-port={20000 + 100 * number + at}"
    if number:
        words += f" --address=127.0.0.1:{cluster.port}"
    else:
        words += f" --head --port={cluster.port} --ray-client-server-port={CLIENT_PORT}"
        words += f" --temp-dir={home}/ray --include-dashboard=false"
    script = NODE_SCRIPT.format(home=own, ray=RAY, words=words)
    node = RayNode(name, own, cluster.enter(*ALONE, "sh", "-c", script))
    node.start()
    cluster.nodes.append(node)


def find_processes(home: Path) -> list[int]:
    """Those of nodes in or below `home`, by their environment."""
    mark, found = f"DYNO_STATE={home}/".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found
