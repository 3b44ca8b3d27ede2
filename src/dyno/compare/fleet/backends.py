"""The fleet that a word of the command line means."""

from __future__ import annotations

from dyno.compare.fleet import Backend
from dyno.errors import UsageError


def open_backend(where: str) -> Backend:
    """The fleet of `--on`: `ssh:hosts.toml`, `ray://HOST:PORT` (Ray's client), `ray:HOST:PORT` or
    `ray:auto` on a node of a cluster. `UsageError` for anything else.
    """
    scheme, colon, rest = where.partition(":")
    if scheme == "ssh" and colon and rest:
        from dyno.compare.fleet.ssh import SshBackend

        return SshBackend(rest)
    if scheme == "ray" and colon and rest.strip("/"):
        from dyno.compare.fleet.ray_cluster import RayBackend

        return RayBackend(where if rest.startswith("//") else rest)
    hint = "ssh:hosts.toml, ray://HOST:10001, or ray:auto on a node of the cluster"
    raise UsageError(f"--on {where} names no fleet", hint=hint)
