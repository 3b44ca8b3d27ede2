"""What a run is judged by: its primaries, and the slowdown that matters in each."""

from __future__ import annotations

from dataclasses import dataclass

from dyno.record import Metric, Run, WorkloadPlan


@dataclass(frozen=True)
class DeclaredPrimary:
    """A primary as declared: a phase, a stream's metric, the slowdown that matters in it."""

    workload: str
    phase: str
    stream: str
    metric: str
    margin_percent: float

    def matches(self, metric: Metric) -> bool:
        """Is `metric` the one that this primary declares?"""
        ours = (self.workload, self.phase, self.stream, self.metric)
        return ours == (metric.workload, metric.phase, metric.transaction, metric.name)


def list_declared_primaries(run: Run, workload: WorkloadPlan) -> list[DeclaredPrimary]:
    """The primaries of a workload, each with its own margin or the run's.

    The throughput of a paced stream was set and not measured, so it is none.
    """
    return [
        DeclaredPrimary(
            workload.name,
            phase.name,
            each.stream,
            each.metric,
            run.design.margin_percent if each.margin_percent is None else each.margin_percent,
        )
        for phase in workload.phases
        for each in phase.primary
        if each.metric != "rate_per_s" or each.stream not in phase.paced
    ]


def find_margin_percent(
    run: Run, workload: WorkloadPlan, phase: str | None = None, stream: str | None = None
) -> float:
    """The slowdown that matters in a workload, in one of its phases, or in a stream of that.

    The smallest margin of the primaries there; the run's where there is none, as in whatever is
    compared without being a primary. The run's counts too where the mean of all primaries decides.
    """
    own = [
        each.margin_percent
        for each in list_declared_primaries(run, workload)
        if phase in (None, each.phase) and stream in (None, each.stream)
    ]
    decides = [run.design.margin_percent] if run.design.gate == "mean" or not own else []
    return min(own + decides)
