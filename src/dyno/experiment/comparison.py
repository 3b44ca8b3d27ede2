"""An experiment as data, and the one that a command line alone makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dyno import candidates
from dyno.candidates import Spec
from dyno.experiment.measuring import AS_USUAL, Measuring
from dyno.experiment.workload import Workload, options_as_text
from dyno.factors import Crossed


@dataclass(frozen=True)
class Experiment:
    """Candidates (the first is the base) under workloads; `command` is how to repeat it.

    Where factors are `crossed`, every candidate is played in every cell.
    """

    name: str
    candidates: tuple[Spec, ...]
    workloads: tuple[Workload, ...]
    measuring: Measuring = AS_USUAL
    question: str = ""
    published: tuple[dict[str, str], ...] = ()
    command: str = ""
    crossed: Crossed = field(default_factory=Crossed)


def compared(
    specs: Sequence[str],
    workload: str,
    options: Mapping[str, str],
    measuring: Measuring = AS_USUAL,
    command: str = "",
) -> Experiment:
    """The experiment that `dyno compare` (or `play`, with one spec) asks for."""
    sides = candidates.named_apart([candidates.parse(text) for text in specs])
    chosen = Workload(workload, options_as_text(options))
    name = f"{Path(workload).stem}-{'-'.join(side.name for side in sides)}"
    return Experiment(name, sides, (chosen,), measuring, command=command)
