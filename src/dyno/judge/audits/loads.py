"""Audit `loads`: do several loads of the data stand behind the blocks?

Where loads come again, the judge takes the blocks that share one for one datum, so few loads cost
power and no error (docs/METHOD.md). A single load for each candidate is no sample: what it happens
to be like looks like the build, and the same build is called *slower* too often. Of two, the
interval holds the truth a little less often than it says (docs/evidence/code-choices.md).
Candidates that begin with copies of the very same load share its luck, which then cancels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.record import Conditions, Finding, Trial

LEAST = 3


class LoadsAudit:
    """The number of loads of each candidate, where they are kept."""

    summary = "data are loaded anew in every trial, or several loads of each candidate rotate"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each workload in which few loads are behind more blocks."""
        trials = view.trials
        kept: dict[str, list[Trial]] = defaultdict(list)
        for trial in trials:
            if trial.status == "ok" and trial.conditions.load:
                kept[trial.workload].append(trial)
        if not any(trial.conditions != Conditions() for trial in trials):
            why = "no trial tells how its data were loaded"
            return [Finding("loads", "not checked", why)]
        if not kept:
            return [Finding("loads", "sound", f"every trial of {len(trials)} loaded its data anew")]
        findings = [each for name, own in kept.items() if (each := _find_few(name, own))]
        told = ", ".join(f"{_count_loads(own)} for {name}" for name, own in kept.items())
        return findings or [Finding("loads", "sound", f"loads of each candidate: {told}")]


def _find_few(workload: str, trials: Sequence[Trial]) -> Finding | None:
    number, blocks = _count_loads(trials), len({trial.block for trial in trials})
    if number >= min(LEAST, blocks) or _are_loads_shared(trials):
        return None
    sentence = (
        f"{workload}: loads of each candidate behind {blocks} blocks: {number}, and {LEAST} is the "
        "least that can tell what a load happens to be like from the build"
    )
    return Finding("loads", "doubtful", sentence, tuple(trial.number for trial in trials))


def _count_loads(trials: Sequence[Trial]) -> int:
    return len({t.conditions.load.number for t in trials if t.conditions.load})


def _are_loads_shared(trials: Sequence[Trial]) -> bool:
    """Do all candidates of a block begin with the same load?"""
    names: dict[int, set[str]] = defaultdict(set)
    for trial in trials:
        names[trial.block].add(trial.conditions.load_name)
    return all(len(each) == 1 for each in names.values())


AUDIT = LoadsAudit()
