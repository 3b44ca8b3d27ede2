"""What is compared, on what, and how it is measured: an experiment as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dyno.candidates import Spec


@dataclass(frozen=True)
class Workload:
    """A workload's name (or a script's path) and the options set for it, as text."""

    name: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Measuring:
    """How it is measured; None leaves the house's or the workload's own.

    `blocks` is the number at the last look; `fixed` makes it the only look. `limits` are the
    noise limits (`steal_percent`, `foreign_percent`), `controls` those of every candidate.
    """

    margin_percent: float | None = None
    alpha: float = 0.05
    blocks: int | None = None
    fixed: bool = False
    quick: bool = False
    seed: int | None = None
    limits: dict[str, float] = field(default_factory=dict)
    controls: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """Candidates (the first is the base) under workloads; `command` is how to repeat it."""

    name: str
    candidates: tuple[Spec, ...]
    workloads: tuple[Workload, ...]
    measuring: Measuring = Measuring()
    question: str = ""
    published: tuple[dict[str, str], ...] = ()
    command: str = ""


def read(path: Path) -> Experiment:
    """The experiment in a TOML file; `UsageError` with file and line where it is malformed."""
    raise NotImplementedError


def compared(
    specs: Sequence[str],
    workload: str,
    options: Mapping[str, str],
    measuring: Measuring = Measuring(),
    command: str = "",
) -> Experiment:
    """The experiment that `dyno compare` (or `play`, with one spec) asks for."""
    raise NotImplementedError


def every() -> dict[str, Path]:
    """The experiments that come with Dyno, by name."""
    raise NotImplementedError
