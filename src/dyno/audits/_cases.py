"""What a client's audits judge: each candidate in each phase that a verdict rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dyno.record import Candidate, PhaseRecord, Run, Trial


@dataclass(frozen=True)
class Case:
    """One candidate in one phase of a workload: its good trials, their records of that phase."""

    candidate: Candidate
    workload: str
    phase: str
    played: tuple[Trial, ...]

    @property
    def name(self) -> str:
        """`oltp_point_select/run on new`."""
        return f"{self.workload}/{self.phase} on {self.candidate.name}"

    @property
    def trials(self) -> tuple[int, ...]:
        """The trials' numbers."""
        return tuple(trial.number for trial in self.played)

    @property
    def records(self) -> tuple[PhaseRecord, ...]:
        """What they measured in the phase."""
        return records(self.played, self.phase)


def cases(run: Run, trials: Sequence[Trial]) -> Iterator[Case]:
    """Every candidate in every phase with a primary metric: elsewhere no verdict is at stake."""
    good = [trial for trial in trials if trial.status == "ok"]
    for workload in run.workloads:
        judged = [phase["name"] for phase in workload.phases if phase["primary"]]
        for candidate in run.candidates:
            key = (workload.name, candidate.name)
            own = tuple(trial for trial in good if (trial.workload, trial.candidate) == key)
            for phase in judged:
                yield Case(candidate, workload.name, phase, own)


def records(trials: Sequence[Trial], phase: str) -> tuple[PhaseRecord, ...]:
    """The records of `phase` in `trials`."""
    return tuple(each for trial in trials for each in trial.phases if each.phase == phase)
