"""A run on its way to being played: a draft that is filled in, then frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import dyno
from dyno.builds import Build
from dyno.compare.experiment import Experiment
from dyno.compare.resolve.workloads import CandidateRequest
from dyno.engines import Engine
from dyno.record import (
    Calibration,
    Candidate,
    DealtShare,
    Design,
    Factor,
    Observation,
    Pilot,
    Run,
    WorkloadPlan,
)
from dyno.record.profile import CpuSampling

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


@dataclass(frozen=True)
class Prepared:
    """A run with everything in hand to play it; `engines` and `builds` by candidate's name.

    `size_bytes` is the largest data set's, by the scripts' own guess (0: unknown); `progress_s` is
    how often the driver says how a phase goes; `memory` is known where trials are interleaved.
    `clients` are the hosts that play the load, reached until they are closed; None: Dyno's own.
    """

    run: Run
    engines: dict[str, Engine]
    builds: dict[str, Build]
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


@dataclass
class RunDraft:
    """A run while it is prepared: pilot, memory and budget write what they choose into its fields,
    and `freeze` makes the records, once.

    `experiment` is what was asked for, with the options of the base's cell, and `requests` are its
    candidates; `workloads` are those of `experiment`, place by place. The other fields are as in
    `Run` and `Prepared`.
    """

    experiment: Experiment
    requests: Sequence[CandidateRequest]
    workloads: tuple[WorkloadPlan, ...]
    design: Design
    candidates: tuple[Candidate, ...] = ()
    size_bytes: int = 0
    engines: dict[str, Engine] = field(default_factory=dict)
    builds: dict[str, Build] = field(default_factory=dict)
    factors: tuple[Factor, ...] = ()
    created_utc: str = ""
    seed: int = 0
    host: dict[str, str] = field(default_factory=dict)
    survey: tuple[Observation, ...] | None = None
    driver_sha256: str = ""
    sources_sha256: str = ""
    calibration: Calibration | None = None
    pilot: Pilot | None = None
    cpu_sampling: CpuSampling | None = None
    memory: MemoryAtOnce | None = None
    share: DealtShare | None = None
    clients: ClientFleet | None = None

    def freeze(self) -> Prepared:
        """The run with everything in hand to play it."""
        run = Run(
            name=self.experiment.name,
            created_utc=self.created_utc,
            question=self.experiment.question,
            command=self.experiment.command,
            seed=self.seed,
            candidates=self.candidates,
            workloads=self.workloads,
            design=self.design,
            host=self.host,
            published=self.experiment.published,
            dyno=dyno.__version__,
            driver_sha256=self.driver_sha256,
            factors=self.factors,
            survey=self.survey,
            calibration=self.calibration,
            pilot=self.pilot,
            sources_sha256=self.sources_sha256,
            cpu_sampling=self.cpu_sampling,
            share=self.share,
            client_hosts=self.clients.hosts if self.clients else (),
        )
        return Prepared(
            run,
            self.engines,
            self.builds,
            self.size_bytes,
            memory=self.memory,
            clients=self.clients,
        )
