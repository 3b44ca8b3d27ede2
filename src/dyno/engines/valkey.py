"""Engine `valkey`: Valkey servers, each started on a private socket. They know keys and values and
no SQL, and play the workload `kv`.

What stands after the `@` is a version (`8.1`: Debian's), a suite of Debian's (`trixie`), a
program's path, or `system`; nothing stands for the newest version. Every directive of the server's
configuration is a key; `dyno show redis` says more.
"""

from __future__ import annotations

from typing import ClassVar

from dyno.builds.suite_tree import SuiteProgram
from dyno.engines import redis
from dyno.engines._builds import Releases

_PACKAGES, _PROGRAMS = ("valkey-server", "valkey-tools"), ("usr/bin/valkey-server",)


class Engine(redis.Engine):
    """Valkey in a process of its own, with the settings of `redis`."""

    name: ClassVar[str] = "valkey"
    releases: ClassVar[Releases] = Releases(
        "valkey", {}, {"8.1.1": SuiteProgram("trixie", _PACKAGES, _PROGRAMS)}
    )
    versions: ClassVar[tuple[str, ...]] = releases.versions
