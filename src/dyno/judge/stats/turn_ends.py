"""What events gain at the ends of turns, where the time of others begins.

An event of a user begins in a slice, anywhere in it alike, and may end in the drain after it.
What it has left then waits for the next turn. If it waits for something (a flush, a lock), that
passes meanwhile and costs nothing: an event of the length l gains

    E[min(l − D − y, T)⁺]   with y, its distance to the slice's end, even in (0, W)

of a slice W, a drain D and T of others' time. Summed over a histogram of lengths and divided by
their sum, that is the share of time by which a rate is too high, if all wait. Events that compute
gain the drain only, and are answered in the next turn: so who was answered there, of those whose
turn must have ended first, did not wait. Held against simulated users in
`tests/judge/stats/test_turn_ends.py`.

Events that computed all the time fill their users' time: their number × mean length = users × time
(the renewal theorem). Where they do not, turns cut them: the rest of one that is due in the part of
a slice that counts for nothing is counted nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyno.judge.stats.log_ratio import Floats


@dataclass(frozen=True)
class Turn:
    """Its slice, its drain, and what others take until the next one; in ns."""

    slice_ns: float
    drain_ns: float
    others_ns: float

    def compute_gained_share(self, lengths_ns: Floats, counts: Floats) -> float:
        """Of the time of events of these lengths, how much passes while others have their turn, if
        they wait. Longer ones than a slice count for one end of it.
        """
        over = np.maximum(lengths_ns - self.drain_ns, 0.0)
        until = np.minimum(over, self.slice_ns)
        whole = np.minimum(until, np.maximum(over - self.others_ns, 0.0))
        gained = self.others_ns * whole + ((over - whole) ** 2 - (over - until) ** 2) / 2
        total = float((counts * lengths_ns).sum()) * self.slice_ns
        return float((counts * gained).sum()) / total if total else 0.0

    def compute_outlasting_share(self, lengths_ns: Floats, counts: Floats) -> float:
        """How many of events of these lengths are under way when a turn ends."""
        met = np.minimum(np.maximum(lengths_ns - self.drain_ns, 0.0) / self.slice_ns, 1.0)
        return float((counts * met).sum() / counts.sum()) if counts.sum() else 0.0
