"""A Ray cluster of a test's own: nodes on one machine, each with another machine-id, and all of
their processes gone in the end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
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
    """A node: the folder of its host, and the first of its processes."""

    name: str
    home: Path
    process: subprocess.Popen[bytes]

    @property
    def state(self) -> Path:
        """Its `$DYNO_STATE`."""
        return self.home / "state"

    def kill(self) -> None:
        """As a power cut does: all that runs there."""
        self.process.kill()  # unshare's --kill-child ends the namespace with it
        self.process.wait(10)


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
            cluster.nodes.append(_start_node(home, name, cluster))
        _wait_for_nodes(cluster.nodes)
        yield cluster
    finally:
        for node in reversed(cluster.nodes):
            node.kill()
        network.kill()
        network.wait(10)
        if network.stdout:
            network.stdout.close()


def _start_node(home: Path, name: str, cluster: RayCluster) -> RayNode:
    own = home / name
    for folder in (own, own / "state", own / "tmp"):
        folder.mkdir()
    (own / "machine-id").write_text(uuid.uuid4().hex + "\n")
    words = f"--num-cpus=1 --object-store-memory={STORE_BYTES} --disable-usage-stats"
    words += f" --node-name={name} --resources='{{\"dyno_slot\": 1}}'"
    if cluster.nodes:
        words += f" --address=127.0.0.1:{cluster.port}"
    else:
        words += f" --head --port={cluster.port} --ray-client-server-port={CLIENT_PORT}"
        words += f" --temp-dir={home}/ray --include-dashboard=false"
    script = NODE_SCRIPT.format(home=own, ray=RAY, words=words)
    log = (own / "ray.log").open("wb")
    process = subprocess.Popen(
        cluster.enter(*ALONE, "sh", "-c", script),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=os.environ | {"DYNO_STATE": str(own / "state"), "DYNO_TMP": str(own / "tmp")},
    )
    log.close()
    node = RayNode(name, own, process)
    if not cluster.nodes:
        _wait_for_nodes([node])
    return node


def _wait_for_nodes(nodes: list[RayNode]) -> None:
    """Until every node has said that it runs."""
    until = time.monotonic() + 60
    while time.monotonic() < until and all(n.process.poll() is None for n in nodes):
        if all("Ray runtime started" in (n.home / "ray.log").read_text() for n in nodes):
            return
        time.sleep(0.2)
    raise AssertionError("\n".join((n.home / "ray.log").read_text() for n in nodes))


def list_processes(home: Path) -> list[str]:
    """The programs that run on the nodes below `home`, by their environment."""
    mark = f"DYNO_STATE={home}/".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found
