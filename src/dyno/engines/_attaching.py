"""What an engine that may run already knows of the one database there that a user named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dyno.builds import Build


@runtime_checkable
class Attaches(Protocol):
    """An engine of which a build may run already (`Build.attached`), in a database named by URL."""

    def tables(self, build: Build) -> list[str]:
        """Every table and view of that database, by name, but for those we tried it with."""

    def drop(self, build: Build, tables: Sequence[str]) -> None:
        """Drops these tables; `TrialFailed` where something of somebody's hangs on one."""
