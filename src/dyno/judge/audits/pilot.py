"""Audit `pilot`: was what the pilot chose found while the host was quiet?

Before the first block a pilot finds how many connections keep a server busy, and fixes that for all
candidates. Where others took more than 10 % of all cores each time that it looked, the number says
something of them: fewer connections than the server could serve, called its saturation, or more.
The blocks may be calm, and what they compare is another question than was asked: *doubtful*.

A number that was given, or a server that was not tried, leaves nothing to check.
"""

from __future__ import annotations

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import conclude
from dyno.numbers import format_count
from dyno.record import FOREIGN_PERCENT, Finding, Saturation, Soundness


class PilotAudit:
    """Each choice of a number of connections, by what others did meanwhile."""

    summary = "the host was quiet when the pilot chose how many connections are played"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each choice that is not to be relied on; else one."""
        every = view.run.pilot.saturation if view.run.pilot else ()
        chosen = [each for each in every if each.tried]
        if not chosen:
            word: Soundness = "not checked" if every else "does not apply"
            return [Finding("pilot", word, "no number of connections was chosen")]
        findings = [f for each in chosen if (f := _find_doubt(each))]
        most = max(_compute_foreign(each) for each in chosen)
        told = f"others took {most:.0f} % of the host at most"
        return conclude("pilot", findings, f"{told} when the number of connections was chosen")


def _compute_foreign(found: Saturation) -> float:
    return max(each.foreign_percent for each in found.tried)


def _find_doubt(found: Saturation) -> Finding | None:
    if (noisy := found.doubted) is None:
        return None
    swept = f"{len(found.swept)} numbers of connections are" if found.swept else ""
    what = swept or f"{format_count(found.connections, 'connection')} are"
    words = (
        f"{found.workload}: {what} what the pilot chose while others took "
        f"{noisy.foreign_percent:.0f} % of the host (more than {FOREIGN_PERCENT:.0f} %): "
        "threads=N names a number"
    )
    return Finding("pilot", "doubtful", words)


AUDIT = PilotAudit()
