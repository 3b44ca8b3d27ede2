"""How large the comparisons of a calibration are: declared, and stored with each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dyno.experiment import Experiment, Measuring, Workload, compared


@dataclass(frozen=True)
class Shape:
    """A workload, its options, the blocks at the last look, and noise limits that are not ours.

    The default is small: looks at 6, 10 and 12 blocks of trials of 0.6 s, so that a comparison
    takes half a minute at most. The rule is the one of full runs. The length is about the best by
    cost and variance (`stats.windows`): on two virtual cores a restart of SQLite costs 0.5 s beside
    and varies by 2.4 %, its windows of 0.1 s by 3.6 % (correlation 0.45), which asks for 0.54 s.
    """

    workload: str = "oltp_point_select"
    options: dict[str, str] = field(default_factory=lambda: {"time": "0.6", "warmup_time": "0.1"})
    blocks: int = 12
    limits: dict[str, float] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """As a score quotes it."""
        limits = {name: f"{percent:g}" for name, percent in self.limits.items()}
        size = {"workload": self.workload, "blocks": str(self.blocks)}
        return {**size, **self.options, **limits}

    def experiment(self, specs: Sequence[str], metric: str, *, aa: bool = False) -> Experiment:
        """The experiment that compares `specs` in one primary metric."""
        measuring = Measuring(blocks=self.blocks, limits=self.limits, aa=aa)
        made = compared(specs, self.workload, self.options, measuring)
        judged = Workload(self.workload, made.workloads[0].options, ({"metric": metric},))
        return Experiment("calibrate", made.candidates, (judged,), measuring)
