"""Audit `failed_restarts`: did the engines end well, or are those that did the survivors?

A trial that fails (the engine crashed, did not start, hung beyond its time) has no number; its
block is played anew, and what is compared are the restarts that ended well. One failure is an
accident. Where a candidate failed in two or more of its restarts, and in over one of twenty, how
it does when it fails is a part of how it does: *doubtful*, and no word of the figures tells it.

Restarts that were interrupted, or belong to the client-only baseline, are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.record import Finding, Trial

FAILED_LEAST = 2
FAILED_MOST = 0.05


class FailedRestarts:
    """The share of each candidate's restarts that failed."""

    summary = "no candidate failed in more than one of twenty restarts"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate that failed too often under a workload; else one."""
        run, trials = view.run, view.trials
        findings = [
            finding
            for workload in run.workloads
            for side in run.candidates
            if (finding := _find_excess(workload.name, side.name, trials))
        ]
        ended = [trial.status for trial in trials if trial.status in ("ok", "failed")]
        if not ended:
            return [Finding("failed_restarts", "not checked", "no restart ended")]
        words = f"of {len(ended)} restarts {ended.count('failed')} failed"
        return findings or [Finding("failed_restarts", "sound", words)]


def _find_excess(workload: str, candidate: str, trials: Sequence[Trial]) -> Finding | None:
    own = [t for t in trials if (t.workload, t.candidate) == (workload, candidate)]
    ended = [trial for trial in own if trial.status in ("ok", "failed")]
    failed = [trial for trial in ended if trial.status == "failed"]
    if len(failed) < FAILED_LEAST or len(failed) <= FAILED_MOST * len(ended):
        return None
    why = failed[-1].why_failed
    words = f"{len(failed)} of {len(ended)} restarts failed (at last: {why}); what is compared"
    sentence = f"{workload} on {candidate}: {words} are those that did not"
    return Finding("failed_restarts", "doubtful", sentence, tuple(t.number for t in failed))


AUDIT = FailedRestarts()
