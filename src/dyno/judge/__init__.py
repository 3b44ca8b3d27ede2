"""The judge: a run and its trials in, a verdict out (docs/METHOD.md).

It reads records only. `look` is asked by the conductor after each block, `judge` by whoever wants
the verdict so far; both see the same blocks and apply the same rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from dyno.record import Run, Trial, Verdict

State = Literal["go on", "decided", "undecided", "too noisy", "failed"]


@dataclass(frozen=True)
class Look:
    """Whether to go on, as the conductor reads it.

    `state` is `go on` (play until every workload has `blocks` valid blocks; `missing` says how many
    each still lacks), `decided` (all primaries are), `undecided` (MAX is reached), `too noisy`
    (1.5 × MAX blocks played, too few of them valid) or `failed` (a candidate does not work).
    `sentence` says it in words, for the progress line and the log.
    """

    state: State
    blocks: int
    sentence: str
    valid: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Nothing more is to be played."""
        return self.state != "go on"


def look(run: Run, trials: Sequence[Trial]) -> Look:
    """What to do after the trials so far; cheap between two looks, so ask after each block."""
    raise NotImplementedError


def judge(run: Run, trials: Sequence[Trial]) -> Verdict:
    """The verdict so far; `complete` is False where the run is not over."""
    raise NotImplementedError
