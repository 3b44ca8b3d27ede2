"""What a server's files depend on, and the room that they take beside the data."""

from __future__ import annotations

from typing import ClassVar


class Filed:
    """A server whose stopped home can be copied and started elsewhere (`Snapshots`, `Outgrows`)."""

    #: Settings of memory and of checks alone: two candidates that differ in nothing else share
    #: their loads.
    fileless: ClassVar[frozenset[str]] = frozenset()
    #: A home without data; the most that the logs of changes grow to beside it.
    empty_bytes: ClassVar[int] = 0
    log_bytes: ClassVar[int] = 0

    def filed(self, settings: dict[str, str]) -> dict[str, str]:
        """All settings but those known to leave the files alone."""
        return {name: value for name, value in settings.items() if name not in self.fileless}

    def disk_bytes(self, data_bytes: int, settings: dict[str, str]) -> int:
        """An empty home, rows twice (indexes are sorted beside them, tables bloat before they are
        vacuumed), and each byte of them up to three times in the logs.
        """
        del settings
        return self.empty_bytes + 2 * data_bytes + min(self.log_bytes, 3 * data_bytes)
