"""A number's identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher"]


@dataclass(frozen=True, order=True)
class Metric:
    """A number's identity. A number without one cannot be stored.

    `transaction` names the stream, or `stream/type` where a script names transaction types, or
    is empty for what belongs to a whole phase (server cost, database size).
    """

    workload: str
    phase: str
    transaction: str
    name: str
    unit: str
    better: Better
