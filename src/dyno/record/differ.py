"""What `dyno differ` leaves behind (`differ.json`): statements by chance on two engines, and each
difference with the smallest script that shows it.
"""

from __future__ import annotations

from typing import Literal

from dyno.record.run import Candidate
from dyno.record.schema import SCHEMA, Finite, Int64, Record, require

#: The record of such a run in its folder.
DIFFER_RECORD = "differ.json"

DifferenceClass = Literal[
    "crash",
    "hang",
    "connection closed",
    "error on one side",
    "other error",
    "rows differ",
    "values differ",
    "order differs",
    "effect differs",
    "type or precision differs",
    "warnings differ",
]


class ExplainedChange(Record):
    """What changed, since which version, and the release note that says so; one that none says is
    known, and may be a fault.
    """

    what: str
    source: str = ""
    since: str = ""


class FoundDifference(Record):
    """A difference: its class, the script that shows it at its last statement, and how both sides'
    answers begin. `count` scripts had it, the first of them is `number`; `statements` were in that
    before it was reduced by `trials` plays. `is_whole`: the reduction came to its end.
    """

    number: Int64
    kind: DifferenceClass
    why: str
    script: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    signature: str
    count: Int64 = 1
    statements: Int64 = 0
    trials: Int64 = 0
    is_whole: bool = True
    explained: ExplainedChange | None = None

    @property
    def is_open(self) -> bool:
        """Return whether no release note explains it."""
        return not (self.explained and self.explained.source)


class DifferCounts(Record):
    """What became of the statements: both sides' answers *same*, *differs*, *undecidable*, *not
    compared*; of the same ones `refused` are errors on both sides. `unreduced` differences were of
    a signature that had been reduced often enough, `unsteady` ones did not show again. To
    `unrepeated` scripts a side had no answer, as after a crash, and one when it was asked again.
    """

    same: Int64 = 0
    differs: Int64 = 0
    undecidable: Int64 = 0
    not_compared: Int64 = 0
    refused: Int64 = 0
    unreduced: Int64 = 0
    unsteady: Int64 = 0
    unrepeated: Int64 = 0

    @property
    def statements(self) -> int:
        """All that both sides were sent."""
        return self.same + self.differs + self.undecidable + self.not_compared


class DifferRun(Record):
    """A run of `dyno differ`, the first side is the base; `scripts` were played, in `played_s` of
    `for_s`. `digest` is of their texts one after the other: the same seed has the same.
    """

    name: str
    created_utc: str
    command: str
    seed: Int64
    for_s: Finite
    sides: tuple[Candidate, ...]
    scripts: Int64 = 0
    played_s: Finite = 0.0
    digest: str = ""
    counts: DifferCounts = DifferCounts()
    finds: tuple[FoundDifference, ...] = ()
    changes: Int64 = 0
    host: dict[str, str] = {}
    is_aa: bool = False
    scripts_most: Int64 = 0
    finds_most: Int64 = 0
    dyno: str = ""
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        require(len(self.sides) == 2, "sides", "two")
        require(self.for_s > 0, "for_s", "above 0")

    @property
    def is_over(self) -> bool:
        """Return whether nothing is left to be played."""
        ends = ((self.scripts_most, self.scripts), (self.finds_most, len(self.open_finds)))
        return self.played_s >= self.for_s or any(0 < most <= count for most, count in ends)

    @property
    def open_finds(self) -> list[FoundDifference]:
        """Those that no release note explains."""
        return [it for it in self.finds if it.is_open]
