"""Hosts of a Ray cluster: one actor on each node, which starts the agent and passes its bytes on.

A node is a host of the fleet where it offers the resource `dyno_slot`, as
`ray start --resources='{"dyno_slot": 1}'` says. An actor holds the slot of its node, so that Ray
places nobody else's there. When the caller is gone Ray ends its actors, and the agents' input with
them.
"""

from __future__ import annotations

import logging
import re
import socket
from contextlib import suppress
from typing import Any

from dyno.compare.fleet import ConnectionLost, FleetHost
from dyno.compare.fleet.ray_node import AgentProcess
from dyno.errors import HostError, UsageError

#: The custom resource of a node that plays, one each.
SLOT = "dyno_slot"
#: How long Ray may take to answer, and to start a process on a node.
START_S, ANSWER_S = 30.0, 20.0
STATUS_HINT = "`ray status` on a node of the cluster says whether it runs"


def load_ray() -> Any:
    """The library; `HostError` where the extra is not installed."""
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
            cause = (str(error).strip() or type(error).__name__).splitlines()[0]
            message = f"cannot join the cluster ({address})"
            raise HostError(message, cause=cause, hint=STATUS_HINT) from None

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
        return RayChannel(self._ray, host)

    def close(self) -> None:
        """Leaves the cluster."""
        with suppress(Exception):
            self._ray.shutdown()


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

    def __init__(self, ray: Any, host: FleetHost) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._ray, self._errors = ray, ""
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
            self._ask(self._actor.start.remote(), START_S)
        except ConnectionLost:
            self.close()
            raise

    def _ask(self, answer: Any, limit_s: float) -> Any:
        """What the actor answers; `ConnectionLost` where it has no answer in time, or is gone."""
        try:
            return self._ray.get(answer, timeout=limit_s)
        except self._ray.exceptions.GetTimeoutError:
            cause = f"no answer in {limit_s:g} s: another caller may hold its {SLOT}"
            raise ConnectionLost("the node does not answer", cause=cause) from None
        except Exception as error:  # Ray's own have no common kind
            lines = [line for line in str(error).strip().splitlines() if line.strip()]
            self._errors = lines[-1].strip()[:300] if lines else type(error).__name__
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
        """Ends the agent, then the actor."""
        with suppress(Exception):
            self._ray.get(self._actor.close.remote(), timeout=5)
        with suppress(Exception):
            self._ray.kill(self._actor, no_restart=True)
