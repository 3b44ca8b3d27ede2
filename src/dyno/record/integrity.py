"""What an engine was asked of its own structures and keys, after a trial's last phase."""

from __future__ import annotations

from typing import Literal

from dyno.record.schema import Finite, Record

#: How thoroughly: by what is cheap, or by all means that an engine has.
Check = Literal["quick", "full"]


class IntegrityCheck(Record):
    """One question (`unique key PRIMARY of orders`): up to three rows that break it, how long it
    took, and why it was not asked or not answered (empty: it was).
    """

    name: str
    faults: tuple[str, ...] = ()
    duration_s: Finite = 0.0
    unchecked: str = ""
