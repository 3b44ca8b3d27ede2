"""The interface of an audit; the audits themselves are in the package `audits`.

They ask `RunView` what counts, so the package knows this one, and is found here by being scanned.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from dyno.judge.analysis.run_view import RunView
from dyno.plugins import load_things
from dyno.record import Finding


class Audit(Protocol):
    """Judges one thing; `summary` says what it catches and how."""

    summary: str

    def judge(self, view: RunView) -> list[Finding]:
        """One finding at least: `sound` where nothing is wrong, with what was checked, and
        `not checked` where something could not be looked at, with the reason, and `does not apply`
        where the run has nothing of what it judges.

        Every trial of the view is meant.
        """


@runtime_checkable
class JudgesEveryTrial(Protocol):
    """An audit that judges the trials of blocks that do not count too (docs/METHOD.md)."""

    judges_every_trial: bool


@runtime_checkable
class JudgesGathered(Protocol):
    """An audit that judges what was gathered of shares as a whole; others hear each share's host by
    itself.
    """

    judges_gathered: bool


@runtime_checkable
class JudgesWallTime(Protocol):
    """An audit of what falsifies rates and latencies, and no CPU time of an operation."""

    judges_wall_time: bool


def load_audits() -> dict[str, Audit]:
    """Every audit, by name."""
    return load_things("dyno.judge.audits", "AUDIT")
