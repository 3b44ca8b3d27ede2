"""What is compared: each metric of each candidate with the base's, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dyno.judge.turns import load_turns
from dyno.measures import Numbers
from dyno.record import Metric, Run, Trial, WorkloadPlan
from dyno.stats.interval import Floats, data

#: Paced writers that did less of their target leave a grey cell (Callaghan's rule).
TARGET_LEAST = 0.95


@dataclass(frozen=True)
class Line:
    """One comparison before it is judged: a number per block of either side, all above 0.

    `grey` says why the phase gets no verdict; it is empty where it gets one. `turns` numbers the
    loads that the blocks were played on where loads come again, and is None where they do not.
    """

    metric: Metric
    candidate: str
    primary: bool
    margin_percent: float
    base_values: Floats
    values: Floats
    grey: str = ""
    turns: tuple[int, ...] | None = None

    @cached_property
    def logs(self) -> Floats:
        """Log time ratios, positive where the candidate is worse, whatever the direction."""
        ratios = np.log(self.values / self.base_values)
        return np.asarray(-ratios if self.metric.better == "higher" else ratios)

    @cached_property
    def data(self) -> Floats:
        """The independent ones among `logs`: means over the blocks that share their loads."""
        return data(self.logs, self.turns)


@dataclass(frozen=True)
class Pair:
    """A primary as declared: a phase, a stream's metric, its margin (None: the run's)."""

    workload: str
    phase: str
    stream: str
    metric: str
    margin_percent: float | None

    def names(self, metric: Metric) -> bool:
        """`metric` is the one that is meant."""
        ours = (self.workload, self.phase, self.stream, self.metric)
        return ours == (metric.workload, metric.phase, metric.transaction, metric.name)


def pairs(workload: WorkloadPlan) -> list[Pair]:
    """The primaries of a workload. The throughput of a paced stream was set and not measured, so
    it is none.
    """
    found = []
    for phase in workload.phases:
        paced = {stream["name"] for stream in phase["streams"] if _paced(stream)}
        for each in phase["primary"]:
            if each["metric"] != "rate_per_s" or each["stream"] not in paced:
                named = (phase["name"], each["stream"], each["metric"])
                found.append(Pair(workload.name, *named, each.get("margin_percent")))
    return found


def lines(
    run: Run,
    workload: WorkloadPlan,
    blocks: Sequence[dict[str, Trial]],
    numbers: dict[int, Numbers],
) -> Iterator[Line]:
    """Every comparison of `workload` in `blocks`; `numbers` are the measures by trial number.

    A metric that some block lacks, or that is not above 0 everywhere, has no ratio and no line.
    """
    declared, phases = pairs(workload), {phase["name"]: phase for phase in workload.phases}
    own = [{name: numbers[trial.number] for name, trial in block.items()} for block in blocks]
    for candidate in (c.name for c in run.candidates if c.name != run.design.base):
        sides = (run.design.base, candidate)
        grey = {name: _behind(phase, blocks, sides) for name, phase in phases.items()}
        turns = load_turns(blocks, sides)
        for metric in _shared(own, sides):
            if metric.phase in phases:
                pair = next((pair for pair in declared if pair.names(metric)), None)
                margin = pair.margin_percent if pair else None
                yield Line(
                    metric=metric,
                    candidate=candidate,
                    primary=pair is not None,
                    margin_percent=run.design.margin_percent if margin is None else margin,
                    base_values=np.array([block[sides[0]][metric] for block in own]),
                    values=np.array([block[candidate][metric] for block in own]),
                    grey=grey[metric.phase],
                    turns=turns,
                )


def _shared(own: Sequence[dict[str, Numbers]], sides: tuple[str, str]) -> list[Metric]:
    """The metrics that are above 0 on both sides of every block."""
    columns = [block[side] for block in own for side in sides]
    first = columns[0] if columns else {}
    return [m for m in sorted(first) if all(column.get(m, 0.0) > 0.0 for column in columns)]


def _behind(
    phase: dict[str, Any], blocks: Sequence[dict[str, Trial]], sides: tuple[str, str]
) -> str:
    """Whose paced writers did less than 95 % of what was due over all blocks, in words."""
    writers = {s["name"] for s in phase["streams"] if _paced(s) and s["role"] == "writer"}
    for side in sides:
        tallies = [
            tally
            for block in blocks
            for record in block[side].phases
            for tally in record.streams
            if record.phase == phase["name"] and tally.name in writers
        ]
        done, due = sum(t.done for t in tallies), sum(t.intended for t in tallies)
        if done < TARGET_LEAST * due:
            percent = 100.0 * done / due
            return f"the paced writers of {side} did {percent:.0f} % of their target: no verdict"
    return ""


def _paced(stream: dict[str, Any]) -> bool:
    return bool(stream["pace"]["kind"] != "closed")
