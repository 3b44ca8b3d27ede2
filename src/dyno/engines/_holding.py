"""What an engine holds at a trial's end: how much, in what cache, and how safely."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from dyno.engines import Server

#: What a commit survives, from nothing to all, as an engine's settings promise it. A power cut
#: stands for whatever takes the machine away; without the last ones the data stay consistent.
SURVIVES = (
    "nothing",
    "a crash of the program",
    "a power cut, but for the last ones",
    "a power cut",
)


@dataclass(frozen=True)
class Holding:
    """What an engine holds at a trial's end, for the audits; None and empty: not known.

    `data_bytes` are rows and indexes, without logs; `cache_bytes` what its own cache takes at
    most; `claim` is what the profile says of the two, `cached` or `io-bound`; `survives` is one of
    `SURVIVES`, and `decided_by` the settings that it follows from.
    """

    data_bytes: int | None = None
    cache_bytes: int | None = None
    claim: str = ""
    survives: str = ""
    decided_by: dict[str, str] = field(default_factory=dict)


@runtime_checkable
class Holds(Protocol):
    """An engine that knows how much it holds, and how safely."""

    def holding(self, server: Server, asked: dict[str, str], told: dict[str, str]) -> Holding:
        """Asked after the last phase; `told` is what `settings` answered."""
