"""What a profile will cost a busy engine, told before it begins (docs/evidence/server-profile.md).

A server that sleeps after each short request pays at its context switches, too: that is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass

#: CPU time between two samples, the root of 5 in ms: it follows the rhythm of no timer.
PERIOD_NS = 2_236_068
#: What a sample costs, without its callers and with them.
SAMPLE_NS, STACK_NS = 9_500, 14_000
#: What a look at all sessions takes of both sides together.
LOOK_NS = 1_000_000
#: Between two looks at the sessions, on average.
LOOK_EVERY_S = 0.25
#: Of one core, that reading the statements' counts may take.
COUNTS_SHARE = 0.002


@dataclass(frozen=True)
class ProfileCost:
    """Shares: of the CPU time that is busy, for samples, and of one core, for questions."""

    samples: float
    questions: float

    def compute_percent(self, cores: int) -> float:
        """Of all cores together, where all of them are busy."""
        return 100.0 * (self.samples + self.questions / cores)


def estimate_cost(
    *, period_ns: int | None, stacks: bool, asks: bool, counts_share: float
) -> ProfileCost:
    """By the rate of samples (`period_ns` None: none is taken), and whether sessions are asked."""
    each_ns = STACK_NS if stacks else SAMPLE_NS
    samples = each_ns / period_ns if period_ns else 0.0
    looks = LOOK_NS / (LOOK_EVERY_S * 1e9) if asks else 0.0
    return ProfileCost(samples, looks + counts_share)
