"""Trials that are played for callers alone: one of each candidate, after the last block.

Walking a stack at each sample costs too much for a judged trial. All
candidates are sampled alike, interleaved where the blocks are. What they measure counts for
nothing; their profiles, with stacks, lie in files of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dyno.errors import TrialFailed
from dyno.instruments.time.trial import Played
from dyno.instruments.time.watch import Printed, Watch
from dyno.record import Trial
from dyno.record.profile import StackProfile


def list_stack_profiles(played: Iterable[Played], watch: Watch) -> Iterator[StackProfile]:
    """The profiles of trials that were played for them; of one that failed `watch` is told.

    Raises what more trials would not mend.
    """
    for trial, error in played:
        if error is not None and not isinstance(error, TrialFailed):
            raise error
        if profile := make_stack_profile(trial):
            yield profile
        else:
            why = error or "it was not sampled"
            watch(Printed(f"there are no callers of {trial.candidate}: {why}\n"))


def make_stack_profile(trial: Trial) -> StackProfile | None:
    """The profiles of a trial's phases; None where there is none."""
    phases = {each.phase: each.profile for each in trial.phases if each.profile}
    if trial.status != "ok" or not phases:
        return None
    return StackProfile(trial.number, trial.workload, trial.candidate, phases)
