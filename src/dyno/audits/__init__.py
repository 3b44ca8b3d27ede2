"""Audits: one file per way in which a number can be wrong, which offers `AUDIT`.

An audit reads the records of a run and touches nothing else. The worst finding wins: one
`invalid` makes the comparisons it names invalid, whatever the figures say.

Most ask how the numbers came about, and judge the trials that the numbers rest on. What an engine
did is a fact wherever it was seen: noise makes nobody lose a row (`JudgesEveryTrial`).
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from dyno.analysis.run_view import RunView
from dyno.plugins import things
from dyno.record import Finding


class Audit(Protocol):
    """Judges one thing; `summary` says what it catches and how."""

    summary: str

    def judge(self, view: RunView) -> list[Finding]:
        """One finding at least: `sound` where nothing is wrong, with what was checked.

        Every trial of the view is meant.
        """


@runtime_checkable
class JudgesEveryTrial(Protocol):
    """An audit that judges the trials of blocks that do not count too (docs/METHOD.md)."""

    judges_every_trial: bool


def audits() -> dict[str, Audit]:
    """Every audit, by name."""
    return things("dyno.audits", "AUDIT")
