"""Hosts of a Ray cluster: one actor on each node, which starts the agent and passes its bytes on.

A node is a host of the fleet where it offers the resource `dyno_slot`, as
`ray start --resources='{"dyno_slot": 1}'` says. An actor holds the slot of its node, so that Ray
places nobody else's there. When the caller is gone Ray ends its actors, and the agents' input with
them.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from dyno.compare.fleet import ConnectionLost, FleetHost
from dyno.compare.fleet.ray_node import AgentProcess
from dyno.errors import HostError, UsageError

#: The custom resource of a node that plays, one each.
SLOT = "dyno_slot"
#: How long Ray may take to answer, and to start a process on a node.
START_S, ANSWER_S = 60.0, 20.0
#: How often the head is asked whether it is there, and how long it may be silent.
HEAD_ASKED_S, HEAD_SILENT_S = 2.0, 20.0
#: Ray ends this process, without a word of ours, so long after it lost its head.
RAYS_OWN_LIMIT = ("RAY_gcs_rpc_server_reconnect_timeout_s", "3600")
STATUS_HINT = "`ray status` on a node of the cluster says whether it runs"


def load_ray() -> Any:
    """The library; `HostError` where the extra is not installed."""
    os.environ.setdefault(*RAYS_OWN_LIMIT)
    try:
        import ray
    except ImportError:
        hint = "pip install 'dyno-bench[fleet]', on every node and here"
        raise HostError("--on ray needs the library ray", hint=hint) from None
    return ray


class RayBackend:
    """The nodes of a cluster that offer a slot."""

    def __init__(self, address: str) -> None:
        """`address` as `ray.init` has it."""
        self._ray = load_ray()
        check_address(address)
        try:
            self._ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:  # Ray's own have no common kind
            message = f"cannot join the cluster ({address})"
            raise HostError(message, cause=_find_cause(error), hint=STATUS_HINT) from None
        by_client = address.startswith("ray://")  # which says itself that it is cut off
        self._head = None if by_client else HeadWatch(read_head(self._ray))

    def list_hosts(self) -> list[FleetHost]:
        """The living nodes with a slot, by name."""
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        offering = [node for node in nodes if node["Resources"].get(SLOT, 0) >= 1]
        if not offering:
            hint = f'start each node that may play with the resources {{"{SLOT}": 1}}'
            raise UsageError(f"none of {len(nodes)} nodes offers a {SLOT}", hint=hint)
        names = [node.get("NodeName") or node["NodeManagerHostname"] for node in offering]
        hosts = []
        for node, name in zip(offering, names, strict=True):
            plain = re.sub(r"[^\w.-]+", "-", name)
            own = f"{plain}-{node['NodeID'][:6]}" if names.count(name) > 1 else plain
            hosts.append(FleetHost(own, node["NodeID"]))
        return sorted(hosts, key=lambda host: host.name)

    def open_channel(self, host: FleetHost) -> RayChannel:
        """An actor on the node, and the agent that it starts."""
        return RayChannel(self._ray, host, self._head)

    def close(self) -> bool:
        """Leaves the cluster. Without its head Ray would end this process before it has said why,
        so nothing is asked of it then; its clean-up at the end would crash as well.
        """
        if self._head is not None and self._head.close():
            atexit.unregister(self._ray.shutdown)
            return False
        with suppress(Exception):
            self._ray.shutdown()
        return True


def read_head(ray: Any) -> tuple[str, int]:
    """The head's host and port."""
    host, _, port = str(ray.get_runtime_context().gcs_address).rpartition(":")
    return host.strip("[]"), int(port)


class HeadWatch:
    """Whether a cluster's head is there, asked by a thread: without it Ray's calls wait for more
    than a minute, and then end the process.
    """

    def __init__(self, place: tuple[str, int], silent_s: float = HEAD_SILENT_S) -> None:
        self._place, self._silent_s = place, silent_s
        self._over = threading.Event()
        self.is_lost = False
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        heard = time.monotonic()
        while not self._over.wait(min(HEAD_ASKED_S, self._silent_s / 4)):
            if self._is_answering():
                heard = time.monotonic()
            elif time.monotonic() - heard > self._silent_s:
                self.is_lost = True
                return

    def _is_answering(self) -> bool:
        try:
            socket.create_connection(self._place, timeout=self._silent_s / 4).close()
        except OSError:
            return False
        return True

    def close(self) -> bool:
        """Asks no more; was the head lost, or does it not answer now?"""
        self._over.set()
        return self.is_lost or not self._is_answering()


def check_address(address: str) -> None:
    """`HostError` where nobody listens there: Ray would go on asking for minutes."""
    found = re.fullmatch(r"(?:ray://)?(.+):(\d+)/?", address)
    if address in ("auto", "local"):
        if address == "local":
            raise UsageError("--on ray:local names no cluster", hint="dyno run without --on")
        return
    if not found:
        hint = "ray://HOST:10001, or ray:auto"
        raise UsageError(f"--on ray: '{address}' is no HOST:PORT", hint=hint)
    try:
        socket.create_connection((found[1].strip("[]"), int(found[2])), timeout=5).close()
    except (OSError, OverflowError) as error:
        cause = str(getattr(error, "strerror", "") or error).lower()
        message = f"cannot reach the cluster ({address})"
        raise HostError(message, cause=cause, hint=STATUS_HINT) from None


class RayChannel:
    """The agent's bytes by way of its actor."""

    def __init__(self, ray: Any, host: FleetHost, head: HeadWatch | None = None) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._ray, self._errors, self._head = ray, "", head
        place = NodeAffinitySchedulingStrategy(node_id=host.address, soft=False)
        actor = ray.remote(AgentProcess).options(
            num_cpus=0,
            resources={SLOT: 1},
            scheduling_strategy=place,
            max_restarts=0,
            max_concurrency=4,
        )
        self._actor = actor.remote()
        try:
            why = f": another caller may hold its {SLOT}"
            self._ask(self._actor.start.remote(), START_S, why)
        except ConnectionLost:
            self.close()
            raise

    def _ask(self, answer: Any, limit_s: float, why: str = "") -> Any:
        """What the actor answers; `ConnectionLost` where it has no answer in time, it or the head
        is gone. `why` is what may keep it from its answer.
        """
        if self._head is not None and self._head.is_lost:
            self._errors = "Ray plays on no node without it"
            raise ConnectionLost("the cluster's head does not answer", cause=self._errors)
        try:
            return self._ray.get(answer, timeout=limit_s)
        except self._ray.exceptions.GetTimeoutError:
            cause = f"no answer in {limit_s:g} s{why}"
            raise ConnectionLost("the node is silent", cause=cause) from None
        except self._ray.exceptions.RayActorError:
            self._errors = "Ray cannot reach its actor there"
            raise ConnectionLost("the node is lost", cause=self._errors) from None
        except Exception as error:  # Ray's own have no common kind
            self._errors = _find_cause(error)
            raise ConnectionLost("the node is lost", cause=self._errors) from None

    def write(self, data: bytes) -> None:
        """Sends all of it."""
        self._ask(self._actor.write.remote(data), ANSWER_S)

    def read(self, limit_s: float) -> bytes | None:
        """What has come."""
        data: bytes | None = self._ask(self._actor.read.remote(limit_s), limit_s + ANSWER_S)
        return data

    def read_errors(self) -> str:
        """What the agent said on its stderr, or why it is gone."""
        if not self._errors:
            with suppress(ConnectionLost):
                return str(self._ask(self._actor.read_errors.remote(), ANSWER_S))
        return self._errors

    def close(self) -> None:
        """Ends the agent, then the actor, which takes the head."""
        with suppress(Exception):
            self._ray.get(self._actor.close.remote(), timeout=5)
        if self._head is None or not self._head.is_lost:
            with suppress(Exception):
                self._ray.kill(self._actor, no_restart=True)


def _find_cause(error: Exception) -> str:
    """The line of an error of Ray's that says what was wrong: the last, below other programs'
    tracebacks.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
