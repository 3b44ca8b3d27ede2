"""A run on its way to being played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dyno.builds import Build
from dyno.engines import Engine
from dyno.record import Candidate, Design, Run, WorkloadPlan
from dyno.runs.experiment import Experiment
from dyno.runs.resolve.workloads import CandidateRequest

if TYPE_CHECKING:
    from dyno.driver.clients import ClientFleet


@dataclass(frozen=True)
class MemoryAtOnce:
    """What `engines` of a block need together, of what this host has, and how much of that they may
    take.
    """

    engines: int
    needed_bytes: int
    available_bytes: int
    most_bytes: int

    @property
    def fits(self) -> bool:
        """Is there room for all?"""
        return self.needed_bytes <= self.most_bytes

    @property
    def too_much(self) -> str:
        """Why there is none."""
        need, have = (f"{each / 1e9:.1f} GB" for each in (self.needed_bytes, self.available_bytes))
        return f"{self.engines} engines up at once need about {need}, and {have} are available"


@dataclass
class Prepared:
    """A run with everything in hand to play it; `engines` and `builds` by candidate's name.

    `size_bytes` is the largest data set's, by the scripts' own guess (0: unknown); `progress_s` is
    how often the driver says how a phase goes; `memory` is known where trials are interleaved.
    `clients` are the hosts that play the load, reached until they are closed; None: Dyno's own.
    """

    run: Run
    engines: dict[str, Engine] = field(default_factory=dict)
    builds: dict[str, Build] = field(default_factory=dict)
    size_bytes: int = 0
    progress_s: float = 1.0
    memory: MemoryAtOnce | None = None
    clients: ClientFleet | None = None

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Those of the run."""
        return self.run.candidates

    @property
    def workloads(self) -> tuple[WorkloadPlan, ...]:
        """Those of the run."""
        return self.run.workloads

    @property
    def design(self) -> Design:
        """That of the run."""
        return self.run.design

    def change(self, **fields: Any) -> None:
        """Change fields of the run, which is not written down yet."""
        self.run = replace(self.run, **fields)


@dataclass(kw_only=True)
class RunDraft(Prepared):
    """A run while it is prepared: pilot, memory and budget change what they choose.

    `experiment` is what was asked for, with the options of the base's cell, and `requests` are its
    candidates; the run's workloads are those of `experiment`, place by place.
    """

    experiment: Experiment
    requests: Sequence[CandidateRequest] = ()
