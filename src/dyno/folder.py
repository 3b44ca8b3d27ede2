"""A run on disk: `run.json`, `trials/NNNN.json`, `logs/`, and what is derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dyno.record import Run, Trial, Verdict


@dataclass(frozen=True)
class Folder:
    """One run's folder."""

    path: Path

    def run(self) -> Run:
        """`run.json`; `UsageError` where it is missing, broken or from a newer Dyno."""
        raise NotImplementedError

    def trials(self) -> list[Trial]:
        """Every trial on disk, by number, torn ones included."""
        raise NotImplementedError

    def write_trial(self, trial: Trial) -> None:
        """Writes a trial once, whole or not at all."""
        raise NotImplementedError

    def write_verdict(self, verdict: Verdict) -> Path:
        """Writes `verdict.json`, which is derived and may be written again."""
        raise NotImplementedError

    def log(self, number: int) -> Path:
        """Where trial `number` writes its log."""
        raise NotImplementedError


def create(run: Run, runs: Path) -> Folder:
    """A new folder ``<utc>-<name>`` under `runs`, with `run.json` in it."""
    raise NotImplementedError


def opened(path: Path) -> Folder:
    """The folder at `path`, or at ``runs/path``; `UsageError` where there is no run in it."""
    raise NotImplementedError


def every(runs: Path) -> list[Folder]:
    """All runs under `runs`, oldest first."""
    raise NotImplementedError
