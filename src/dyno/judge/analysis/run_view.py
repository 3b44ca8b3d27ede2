"""What counts in a run: its blocks, its baselines, its trials' numbers and what it is judged by.

The one selection: judge, audits, report, history and forecast ask here, so that what a table shows
is what a verdict rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec.structs import replace

from dyno.judge.analysis.blocks import Blocks, find_latest_attempts, join_blocks, sort_blocks
from dyno.judge.analysis.effects import DeclaredPrimary, list_declared_primaries
from dyno.judge.analysis.measures import (
    Numbers,
    Played,
    compute_measures,
    find_client_baselines,
    make_baseline_key,
)
from dyno.judge.stats.interim_analyses import InterimAnalyses, SingleAnalysis
from dyno.record import Dropped, Run, Trial, list_share_runs

#: Fewer blocks than this have no standard deviation, hence no interval.
BLOCKS_LEAST = 2


def build_analyses(run: Run) -> InterimAnalyses:
    """When the data of a run are looked at: a share's, and what was gathered of shares, once, since
    no analysis before the end could see the blocks of all.
    """
    if run.is_dealt:
        return SingleAnalysis((BLOCKS_LEAST,), run.design.alpha)
    return InterimAnalyses(run.design.analyses, run.design.alpha)


class RunView:
    """A run and its trials, torn and failed ones and the client-only baseline's included, as
    they stand. Those in which answers were compared have no phases, and are `contents`.
    """

    def __init__(self, run: Run, trials: Sequence[Trial]) -> None:
        self.run = run
        self.trials = tuple(trial for trial in trials if not trial.is_contents)
        self.contents = tuple(trial for trial in trials if trial.is_contents)
        self._numbers: dict[int, Numbers] = {}

    @cached_property
    def shares(self) -> tuple[RunView, ...]:
        """A view of each share that the run was gathered of, with its own host's facts and limits;
        none of another run. Hosts are never compared with each other.
        """
        return tuple(
            RunView(
                own,
                [
                    t
                    for t in (*self.trials, *self.contents)
                    if own.share and t.share == own.share.index
                ],
            )
            for own in list_share_runs(self.run)
        )

    @cached_property
    def analyses(self) -> InterimAnalyses:
        """When the data are looked at."""
        return build_analyses(self.run)

    @cached_property
    def blocks(self) -> dict[str, Blocks]:
        """The blocks of each workload: valid, dropped, or failed; of a gathered run those of one
        share after the other.
        """
        plans = self.run.workloads
        if self.shares:
            own = [share.blocks for share in self.shares]
            names = [each.name for each in plans]
            return {name: join_blocks([b[name] for b in own if name in b]) for name in names}
        return {each.name: sort_blocks(self.run, each, self.trials) for each in plans}

    @property
    def valid_blocks(self) -> dict[str, int]:
        """How many valid blocks each workload has."""
        return {name: len(blocks.valid) for name, blocks in self.blocks.items()}

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """The blocks that were dropped, workload by workload."""
        return tuple(d for blocks in self.blocks.values() for d in blocks.dropped.values())

    @cached_property
    def played_trials(self) -> tuple[Trial, ...]:
        """The trials of blocks by number: torn and failed ones too, and no client-only baseline."""
        own = (t for t in self.trials if not t.is_client_baseline)
        return tuple(sorted(own, key=lambda trial: trial.number))

    @cached_property
    def counted_trials(self) -> tuple[Trial, ...]:
        """The trials of valid blocks, by number: what every figure rests on."""
        numbers = {n for blocks in self.blocks.values() for n in blocks.trial_numbers}
        return tuple(trial for trial in self.played_trials if trial.number in numbers)

    def list_counted(self, workload: str) -> list[Trial]:
        """Those of one workload."""
        return [trial for trial in self.counted_trials if trial.workload == workload]

    @cached_property
    def torn_numbers(self) -> frozenset[int]:
        """The numbers of the trials of attempts at a block that was begun anew afterwards."""
        latest = {
            trial.number
            for workload in self.run.workloads
            for block in find_latest_attempts(workload.name, self.played_trials).values()
            for trial in block
        }
        return frozenset(trial.number for trial in self.played_trials if trial.number not in latest)

    @cached_property
    def counted_only(self) -> RunView:
        """This view without the trials that no figure rests on: valid blocks, and the client-only
        baseline where there are any.
        """
        numbers = {trial.number for trial in self.counted_trials}
        baseline = [t for t in self.trials if numbers and t.is_client_baseline]
        numbers |= {trial.number for trial in baseline}
        return RunView(self.run, [t for t in self.trials if t.number in numbers])

    @cached_property
    def without_limits(self) -> RunView:
        """The same trials judged without a noise limit: no block is dropped, but for those in
        which somebody stood still.
        """
        return RunView(_remove_limits(self.run), self.trials)

    def compute_numbers(self, trial: Trial) -> Numbers:
        """Every number of a trial, worked out once.

        Where the engine lives in the driver's process, the driver's own CPU is taken off; not from
        `null`, which is the client-only baseline.
        """
        if self.shares:
            return self._shares_by_index[trial.share].compute_numbers(trial)
        if trial.number not in self._numbers:
            is_reduced = trial.candidate in self._subtracted_from
            baseline = self._baselines.get(make_baseline_key(trial)) if is_reduced else None
            self._numbers[trial.number] = compute_measures(trial, baseline)
        return self._numbers[trial.number]

    @cached_property
    def _shares_by_index(self) -> dict[int, RunView]:
        return {own.run.share.index: own for own in self.shares if own.run.share}

    @cached_property
    def _baselines(self) -> dict[Played, Trial]:
        return find_client_baselines(self.trials)

    @cached_property
    def _subtracted_from(self) -> frozenset[str]:
        """The candidates whose costs hold the driver's own."""
        own = (c for c in self.run.candidates if c.embedded and c.engine != "null")
        return frozenset(candidate.name for candidate in own)

    @cached_property
    def primaries(self) -> tuple[DeclaredPrimary, ...]:
        """What the run is judged by, workload by workload."""
        return tuple(
            p for plan in self.run.workloads for p in list_declared_primaries(self.run, plan)
        )

    def list_primaries(self, workload: str) -> list[DeclaredPrimary]:
        """Those of one workload."""
        return [each for each in self.primaries if each.workload == workload]

    @property
    def candidates(self) -> list[str]:
        """The candidates' names, the base first, the others as the user wrote them."""
        names = [candidate.name for candidate in self.run.candidates]
        return sorted(names, key=lambda name: name != self.run.design.base)


def _remove_limits(run: Run) -> Run:
    """The run without a noise limit, on any of its hosts."""
    gathered = run.gathered
    if gathered:
        gathered = replace(gathered, shares=tuple(_remove_limits(each) for each in gathered.shares))
    return replace(run, design=replace(run.design, limits={}), gathered=gathered)
