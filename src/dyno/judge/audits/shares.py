"""Audit `shares`: are all shares of a gathered run there, were they played to their end, and is it
known which of them one host played?
"""

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
        numbers = tuple(trial.number for trial in view.trials)
        wrong = filter(None, (describe_absent(view.run), _describe_clones(view)))
        found = [Finding("shares", "doubtful", sentence, numbers) for sentence in wrong]
        return found or [Finding("shares", "sound", f"all {len(view.shares)} shares are there")]


def _describe_clones(view: RunView) -> str:
    """That what counts as one host may be several machines: clones have one id."""
    boots: dict[str, set[str]] = {}
    names = {trial.share: trial.host for trial in view.trials}
    for share in (own.run.share for own in view.shares):
        if share and share.index in names:
            boots.setdefault(names[share.index], set()).add(share.boot)
    found = [host for host, own in boots.items() if len(own) > 1]
    if not found:
        return ""
    times = len(boots[found[0]])
    return (
        f"{found[0]} is taken for one host, whose kernel was started {times} times, and may be"
        f" {times} clones of a machine (`dyno shard --host NAME` tells them apart)"
    )


AUDIT = Shares()
