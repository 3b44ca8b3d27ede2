"""An engine that can be told to fill its cache, and how it says that it could not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from dyno.engines import Server

#: Under this name an answer says why tables and indexes are not in the cache after all.
MISSED = "missed"


@runtime_checkable
class Preloads(Protocol):
    """An engine with a cache for all connections that SQL can fill."""

    def preload(self, server: Server) -> dict[str, str]:
        """Reads every table and index of the database; answers what that was, for the record."""
