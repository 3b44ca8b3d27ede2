"""Audits: one file per way in which a number can be wrong, which offers `AUDIT`.

An audit reads the records of a run and touches nothing else. The worst finding wins: one
`invalid` makes the comparisons it names invalid, whatever the figures say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dyno.plugins import things
from dyno.record import Finding, Run, Trial


class Audit(Protocol):
    """Judges one thing; `summary` says what it catches and how."""

    summary: str

    def judge(self, run: Run, trials: Sequence[Trial]) -> list[Finding]:
        """One finding at least: `sound` where nothing is wrong, with what was checked."""


def audits() -> dict[str, Audit]:
    """Every audit, by name."""
    return things("dyno.audits", "AUDIT")
