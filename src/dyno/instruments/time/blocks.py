"""Which block of a workload is next, read off its trials alone, and in which order it is played.

The order of the candidates within a block is random and balanced, from the run's seed. How long a
block takes is learnt while it is played: for scripts by count the forecast only guesses it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from dyno.record import CLIENT_BASELINE, Run, Trial
from dyno.runs.forecast.estimate import estimate_cost
from dyno.runs.resolve.draft import Prepared

#: A block with a failed trial is begun so many times, then given up.
ATTEMPTS = 2


@dataclass(frozen=True)
class NextBlock:
    """A block of a workload to be played, and for the nth time."""

    block: int
    attempt: int


def choose_next_block(run: Run, workload: str, trials: Iterable[Trial]) -> NextBlock:
    """The block of `workload` to play now.

    A torn block (interrupted, or candidates missing) is played anew whole; one with a failed
    trial too, once; else a new block begins. `attempt` counts from 1.
    """
    blocks = _group_by_attempt(workload, trials)
    if not blocks:
        return _begin_block_after(run, workload, -1)
    block = max(blocks)
    attempts = blocks[block]
    last = max(attempts)
    failures = sum(_has_failed(trials) for trials in attempts.values())
    if _has_failed(attempts[last]):
        hopeful = failures < ATTEMPTS
        return NextBlock(block, last + 1) if hopeful else _begin_block_after(run, workload, block)
    names = {trial.candidate for trial in attempts[last] if trial.status == "ok"}
    whole = names >= {candidate.name for candidate in run.candidates}
    return _begin_block_after(run, workload, block) if whole else NextBlock(block, last + 1)


def _begin_block_after(run: Run, workload: str, block: int) -> NextBlock:
    """The block that follows; where no more may be played, one that the run does not have."""
    following = run.find_next_block(workload, block)
    return NextBlock(block + 1 if following is None else following, 1)


def choose_baseline_attempt(
    workload: str, trials: Iterable[Trial], options: Mapping[str, str] = MappingProxyType({})
) -> int | None:
    """The attempt at which to play the client-only baseline of `workload`, under a cell's own
    options; None where it is done or hopeless.
    """
    baselines = [
        t
        for t in trials
        if (t.candidate, t.workload, t.options) == (CLIENT_BASELINE, workload, dict(options))
    ]
    failures = sum(trial.status == "failed" for trial in baselines)
    if failures >= ATTEMPTS or any(trial.status == "ok" for trial in baselines):
        return None
    return len(baselines) + 1


def find_always_failing(workload: str, trials: Sequence[Trial]) -> Trial | None:
    """The last failed trial of a candidate that failed in every trial it ever ended, and in both
    attempts at a block; or that fails alike at the next block again. None while there is hope.
    """
    by_candidate: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        if trial.workload == workload and trial.block >= 0 and trial.status != "interrupted":
            by_candidate[trial.candidate].append(trial)
    for ended in by_candidate.values():
        last = ended[-(ATTEMPTS + 1) :]
        alike = len(last) > ATTEMPTS and len({trial.failure for trial in last}) == 1
        failed = last if alike else ended
        if len(failed) >= ATTEMPTS and all(trial.status == "failed" for trial in failed):
            return ended[-1]
    return None


def _group_by_attempt(workload: str, trials: Iterable[Trial]) -> dict[int, dict[int, list[Trial]]]:
    blocks: dict[int, dict[int, list[Trial]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        if trial.workload == workload and trial.block >= 0:
            blocks[trial.block][trial.attempt].append(trial)
    return blocks


def _has_failed(trials: Iterable[Trial]) -> bool:
    return any(trial.status == "failed" for trial in trials)


def draw_block_order(seed: int, workload: str, block: int, names: Sequence[str]) -> tuple[str, ...]:
    """The candidates of `block` in the order in which they play.

    Blocks come in cycles, within which every candidate stands equally often in every place and
    behind every other one (a Williams design: E. J. Williams, Aust. J. Sci. Res. A 2, 1949). Two
    candidates give AB and BA in random turn. Who is A, and the order of the rows, are drawn anew
    for every cycle.
    """
    rows = _build_williams_design(len(names))
    cycle, place = divmod(block, len(rows))
    rng = random.Random(f"{seed}/order/{workload}/{cycle}")
    labels, places = list(names), list(range(len(rows)))
    rng.shuffle(labels)
    rng.shuffle(places)
    return tuple(labels[i] for i in rows[places[place]])


def _build_williams_design(count: int) -> list[list[int]]:
    """Rows of a Williams design: a Latin square, with its mirror where `count` is odd."""
    zigzag = [(i + 1) // 2 if i % 2 else (count - i // 2) % count for i in range(count)]
    square = [[(first + i) % count for first in zigzag] for i in range(count)]
    return square + [row[::-1] for row in square] if count % 2 and count > 1 else square


#: Seconds by which a block has to be late to be told.
TOLD_S = 5.0


class RunLength:
    """How long a run's blocks take, beside what was foretold and what they may take."""

    def __init__(
        self, prepared: Prepared, budget_s: float | None, clock: Callable[[], float]
    ) -> None:
        self._foretold_s = estimate_cost(prepared).block_s
        self._analyses, self._clock = prepared.run.design.analyses, clock
        phases = [phase for workload in prepared.workloads for phase in workload.phases]
        is_open = any(phase.stop.kind != "time" for phase in phases)
        self._budget_s = budget_s if is_open else None
        self._begun_s = self._latest_s = clock()
        self._longest_s = 0.0

    def has_room(self) -> bool:
        """Does another block end within the budget?"""
        self._latest_s = self._clock()
        spent_s = self._latest_s - self._begun_s
        next_s = self._longest_s or self._foretold_s
        return self._budget_s is None or spent_s + next_s <= self._budget_s

    def learn(self) -> str:
        """A block is over; what the first says of the rest, where it took far longer."""
        block_s, is_first = self._clock() - self._latest_s, not self._longest_s
        self._longest_s = max(self._longest_s, block_s)
        if not is_first or block_s < max(2 * self._foretold_s, self._foretold_s + TOLD_S):
            return ""
        few, most = self._analyses[0], self._analyses[-1]
        return (
            f"a block takes {block_s:,.0f} s, not {self._foretold_s:,.1f} s: {few} blocks take "
            f"about {few * block_s / 60:,.0f} min, {most} at most {most * block_s / 60:,.0f} min"
        )
