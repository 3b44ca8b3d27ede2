"""Audit `shares`: are all shares of a gathered run there, and were they played to their end?"""

from __future__ import annotations

from dyno.judge.analysis.judge import describe_absent
from dyno.judge.analysis.run_view import RunView
from dyno.record import Finding


class Shares:
    """What a gathered run lacks of what was dealt."""

    summary = "a gathered run has all the shares that were dealt, each whole"
    judges_gathered = True
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """One finding; in doubt is every comparison, since a host that is missing may be missing
        for a reason.
        """
        if view.run.gathered is None:
            return [Finding("shares", "does not apply", "the run was not gathered of shares")]
        if absent := describe_absent(view.run):
            return [Finding("shares", "doubtful", absent, tuple(t.number for t in view.trials))]
        return [Finding("shares", "sound", "all shares are there")]


AUDIT = Shares()
