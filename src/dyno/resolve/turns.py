"""Whether a block's trials take turns, and in which windows: wherever that is sound."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.builds import Say
from dyno.controls import HoldsHost, controls
from dyno.record import Turns, WorkloadPlan
from dyno.resolve.controls import ResolvedCandidate

#: Short enough for the host's own ups and downs to meet neighbours alike, long enough for the edge
#: to be a tenth (docs/METHOD.md, Turns).
TURNS = Turns(window_s=0.1, drain_s=0.005, edge_s=0.01, epoch_s=1.0, frozen=True)


def choose_turns(
    sides: Sequence[ResolvedCandidate],
    workloads: Sequence[WorkloadPlan],
    run_controls: dict[str, str],
    say: Say,
) -> Turns | None:
    """The turns of a run; None, with the reason said, where its trials are played one by one."""
    if len(sides) < 2:
        return None
    if why := why_not(sides, workloads, run_controls):
        say(f"restarts are played one after the other, not by turns: {why}")
        return None
    return TURNS


def why_not(
    sides: Sequence[ResolvedCandidate],
    workloads: Sequence[WorkloadPlan],
    run_controls: dict[str, str],
) -> str:
    """What stands in the way of taking turns; empty where nothing does."""
    if sum(build.attached for _, _, build in sides) > 1:
        return "several candidates are servers that run already, and may share tables"
    for name, control in controls().items():
        values = {side.controls.get(name, run_controls.get(name)) for side, _, _ in sides}
        if isinstance(control, HoldsHost) and len(values) > 1:
            return f"{name} belongs to the whole host, and the candidates differ in it"
    for workload in workloads:
        names = {workload.under(side.options).phase_names for side, _, _ in sides}
        if len(names) > 1:
            return f"the candidates play different phases of {workload.name}"
    return ""
