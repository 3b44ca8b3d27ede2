"""How long a cache line takes from one core of this host to another, and a wake-up.

Two threads of `dyno-driver cache-lines`, each pinned to its core, store into one word in turn. Half
a round trip is no pure transfer: it holds the reader's polling, its miss, and the writer's wait
until its store is seen, which takes the line back. It bounds from above what a lock or a counter
that other cores write costs more than one of a core's own (docs/guides/scale-model.md).

Nor is it the same everywhere. Two threads of one core share its caches, so that no line moves, and
a reader that polls is thrown back by each store: a virtual machine does not tell which of its cores
are such. It may run on other cores the next time, and a core that rests has a lower clock. A burst
in which a core was taken away is long: each pair is judged by the median of its bursts.

A thread that sleeps takes a while to run once it is woken, most of all on a core that has rested
for long; here it rests while the other one works. Of wake-ups the mean is told, since that is what
a sum of them takes; the tenth that is longest is left out, in which a core was taken away.
"""

from __future__ import annotations

import numpy as np

from dyno.driver.questions import ask_question
from dyno.errors import TrialFailed
from dyno.record import decode
from dyno.record.scaling import LineTransfer, WakeUp
from dyno.record.schema import Finite, Int64, Record

#: What all pairs may take, on cores where something else runs.
LIMIT_S = 60.0
#: Fewer bursts of a pair say nothing.
BURSTS_LEAST = 20
#: Of a pair's wake-ups, the share that counts.
SHORTEST = 0.9


class CorePair(Record):
    """Two cores, the mean ns one way of each burst, and those of each wake-up."""

    cpus: tuple[Int64, Int64]
    one_way_ns: tuple[Finite, ...]
    wakeup_ns: tuple[Int64, ...] = ()


class CorePairs(Record):
    """All pairs that were measured."""

    pairs: tuple[CorePair, ...]


def measure_core_pairs() -> tuple[CorePair, ...]:
    """Measure here; no pair where we may run on one core only."""
    return decode.decode(CorePairs, ask_question("cache-lines", "", LIMIT_S)).pairs


def combine_pairs(pairs: tuple[CorePair, ...]) -> LineTransfer | None:
    """Return the median over the pairs, each by its median burst. The bounds hold the 95 %
    intervals of all pairs: near cores and far ones; `TrialFailed` if no pair had enough bursts.
    """
    if not pairs:
        return None
    measured = [each for each in pairs if len(each.one_way_ns) >= BURSTS_LEAST]
    if not measured:
        hint = "its cores are not to be had: something else runs on them"
        raise TrialFailed("the transfer of a cache line was not measured", hint=hint)
    rows = [_find_bounds(np.sort(each.one_way_ns)) for each in measured]
    middle = float(np.median([median for _, median, _ in rows]))
    low, high = min(low for low, _, _ in rows), max(high for _, _, high in rows)
    return LineTransfer(middle, low, high, len(rows))


def combine_wakeups(pairs: tuple[CorePair, ...]) -> WakeUp | None:
    """Return the mean over the pairs, within the 95 % intervals of all; None without any."""
    rows = []
    for each in pairs:
        ordered = np.sort(each.wakeup_ns)[: int(SHORTEST * len(each.wakeup_ns))]
        if len(ordered) > 1:
            reach = 1.96 * float(ordered.std(ddof=1)) / np.sqrt(len(ordered))
            rows.append((float(ordered.mean()), reach))
    if not rows:
        return None
    low = min(mean - reach for mean, reach in rows)
    high = max(mean + reach for mean, reach in rows)
    return WakeUp(float(np.mean([mean for mean, _ in rows])), low, high)


def _find_bounds(ordered: np.ndarray) -> tuple[float, float, float]:
    """Return the median between its bounds of 95 %, by the ranks of the binomial distribution."""
    count = len(ordered)
    reach = 0.98 * np.sqrt(count)  # 1.96 standard deviations of the number below the median
    low = max(0, int(np.floor(count / 2 - reach)) - 1)
    high = min(count - 1, int(np.ceil(count / 2 + reach)))
    return float(ordered[low]), float(np.median(ordered)), float(ordered[high])
