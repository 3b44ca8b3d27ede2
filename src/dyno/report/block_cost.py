"""What a block costs beside its slices: starts, loads, warm-ups, stops.

Where turns are taken the trials of a block run side by side, and the slowest of each part counts;
else one after the other, and all of them do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from dyno.record import PhaseRecord, Trial
from dyno.report import Book


@dataclass(frozen=True)
class BlockCost:
    """Seconds of one block, or the means of several: `counted_s` is what is compared, `before_s`
    ends at the first phase's start, `after_s` begins with the last one's end; `between_s` is the
    rest: ramp-ins, drains, connecting anew, settling between phases.
    """

    whole_s: float
    counted_s: float
    before_s: float
    warmup_s: float
    after_s: float

    @property
    def between_s(self) -> float:
        """From the first phase's start to the last one's end: neither counted nor warm-up."""
        told = (self.counted_s, self.before_s, self.warmup_s, self.after_s)
        return max(0.0, self.whole_s - sum(told))


def compute_block_costs(book: Book) -> list[BlockCost]:
    blocks: dict[tuple[str, int, int], list[Trial]] = defaultdict(list)
    for t in book.trials:
        if t.block >= 0 and t.status == "ok" and t.over_ns and _list_compared(book, t):
            blocks[t.workload, t.block, t.attempt].append(t)
    whole = (own for own in blocks.values() if len(own) == len(book.run.candidates))
    return [_compute_cost(book, own) for own in whole]


def _compute_cost(book: Book, trials: Sequence[Trial]) -> BlockCost:
    interleaved = book.run.design.interleaving is not None
    add: Callable[[Iterable[int]], int] = max if interleaved else sum
    phases = [_list_compared(book, t) for t in trials]
    pairs = list(zip(trials, phases, strict=True))
    if interleaved:
        whole_ns = max(t.over_ns for t in trials) - min(t.began_ns for t in trials)
    else:
        whole_ns = sum(t.over_ns - t.began_ns for t in trials)
    return BlockCost(
        whole_s=whole_ns / 1e9,
        counted_s=sum(phase.duration_s for own in phases for phase in own),
        before_s=add(own[0].started_ns - t.began_ns for t, own in pairs) / 1e9,
        warmup_s=add(sum(p.measured_ns - p.started_ns for p in own) for own in phases) / 1e9,
        after_s=add(t.over_ns - own[-1].ended_ns for t, own in pairs) / 1e9,
    )


def _list_compared(book: Book, trial: Trial) -> list[PhaseRecord]:
    names = next(w.phase_names for w in book.run.workloads if w.name == trial.workload)
    return [phase for phase in trial.phases if phase.phase in names]


def describe_block_cost(book: Book) -> str:
    """The means over all blocks in a sentence; empty where no trial says when it was over."""
    costs = compute_block_costs(book)
    if not costs:
        return ""

    def format_mean(name: str) -> str:
        # what is left of a difference of sums is no time
        seconds = round(mean(getattr(cost, name) for cost in costs), 6)
        return f"{seconds:.0f} s" if seconds >= 100 else f"{seconds:.2g} s"

    return (
        f"a block took {format_mean('whole_s')}, "
        f"of which {format_mean('counted_s')} are compared; the rest: "
        f"start and load {format_mean('before_s')}, "
        f"warm-up {format_mean('warmup_s')}, ramp-ins and pauses "
        f"{format_mean('between_s')}, ledger and stop {format_mean('after_s')}"
    )
