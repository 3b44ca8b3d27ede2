"""Turns an experiment into a run that can be played: builds, descriptions, keys, host."""

from __future__ import annotations

from dataclasses import dataclass

from dyno.builds import Build, Say
from dyno.engines import Engine
from dyno.experiment import Experiment
from dyno.record import Run


@dataclass(frozen=True)
class Prepared:
    """A run with everything in hand to play it; `engines` and `builds` by candidate's name.

    `size_bytes` is the largest data set's, by the scripts' own guess (0: unknown).
    """

    run: Run
    engines: dict[str, Engine]
    builds: dict[str, Build]
    size_bytes: int = 0


def resolve(experiment: Experiment, say: Say) -> Prepared:
    """Fetches the builds, asks the scripts for their phases, and sorts out every key.

    `UsageError` for a word that nobody knows, `HostError` where a build cannot be had.
    """
    raise NotImplementedError
