"""An engine that counts what clients have it do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from dyno.engines import Server


@runtime_checkable
class Counts(Protocol):
    """A server whose own count of the clients' work can be held against the driver's."""

    def counted(self, server: Server, parted: bool) -> dict[str, int]:
        """What all clients of the database have had done until now: `statements` or `transactions`,
        as the driver's session of this engine claims them; `collected_transactions` where the
        server may have missed some itself; nothing where that cannot be told.

        `parted`: the driver has closed its connections, and what they did is to be counted in full.
        """
