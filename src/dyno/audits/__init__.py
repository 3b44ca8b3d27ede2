"""Audits: one file per way in which a number can be wrong, which offers `AUDIT`.

An audit reads the records of a run and touches nothing else. The worst finding wins: one
`invalid` makes the comparisons it names invalid, whatever the figures say.

Most ask how the numbers came about, and hear the trials that the numbers rest on. What an engine
did is a fact wherever it was seen: noise makes nobody lose a row (`JudgesEveryTrial`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dyno.plugins import things
from dyno.record import Finding, Run, Trial


class Audit(Protocol):
    """Judges one thing; `summary` says what it catches and how."""

    summary: str

    def judge(self, run: Run, trials: Sequence[Trial]) -> list[Finding]:
        """One finding at least: `sound` where nothing is wrong, with what was checked."""


@runtime_checkable
class JudgesEveryTrial(Protocol):
    """An audit that hears the good trials of blocks that do not count too (docs/METHOD.md)."""

    hears_all: bool


def audits() -> dict[str, Audit]:
    """Every audit, by name."""
    return things("dyno.audits", "AUDIT")
