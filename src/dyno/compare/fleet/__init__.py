"""A fleet: shares of an experiment played on hosts that are reached by ssh or by Ray.

Each host runs `dyno fleet-host` (`agent`) for as long as the caller holds its end of one channel;
all goes through that: what is asked, files there, and records back. The host ends what it plays
when the channel ends, so that nothing is left behind whoever is killed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dyno.errors import HostError


@dataclass(frozen=True)
class FleetHost:
    """A host of a fleet: its name, which names its records too, and how it is reached.

    `group` is a word of the user's for hosts that are alike.
    """

    name: str
    address: str
    group: str = ""


class ConnectionLost(HostError):
    """A host whose channel has ended before it had answered."""


class Channel(Protocol):
    """Bytes to and from the agent on a host, which ends when this is closed."""

    def write(self, data: bytes) -> None:
        """Sends all of it; `ConnectionLost` where nobody reads any more."""
        ...

    def read(self, limit_s: float) -> bytes | None:
        """What has come; None where nothing does in that time, empty at the end."""
        ...

    def read_errors(self) -> str:
        """The last lines of what the host said beside it: why it cannot be reached."""
        ...

    def close(self) -> None:
        """Ends the channel, and with it the agent."""
        ...


class Backend(Protocol):
    """A way to reach hosts."""

    def list_hosts(self) -> list[FleetHost]:
        """The hosts; `UsageError` where there are none, or the user's file is wrong."""
        ...

    def open_channel(self, host: FleetHost) -> Channel:
        """Starts the agent there; `ConnectionLost` where that cannot be."""
        ...

    def close(self) -> bool:
        """Ends what the way itself needs. False where a library would crash in the interpreter's
        own clean-up, so that this process should end without it.
        """
        ...
