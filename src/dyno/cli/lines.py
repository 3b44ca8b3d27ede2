"""A trial that is over, on one line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dyno.cli import screen
from dyno.record import FLOOR, PhaseRecord, Run, Tally, Trial

if TYPE_CHECKING:
    from dyno.conduct.watch import Event


class Lines:
    """One plain line per trial, nothing else."""

    def __init__(self) -> None:
        self.run: Run | None = None

    def __call__(self, event: Event) -> None:
        """Prints a trial that is over."""
        from dyno.conduct.watch import RunStarted, TrialEnded

        if isinstance(event, RunStarted):
            self.run = event.run
        elif isinstance(event, TrialEnded) and self.run:
            click.echo(trial_line(self.run, event.trial))
            sys.stdout.flush()


def trial_line(run: Run, trial: Trial) -> str:
    """A trial that is over, on one line."""
    block = place(run, trial.block)
    who = "null" if trial.candidate == FLOOR else trial.candidate
    said = f"{block}  trial {trial.number}  {who}  {trial.workload}  {trial.status}"
    if trial.status == "failed":
        return f"{said}: {trial.failure}".splitlines()[0]
    rates = "  ".join(rate(phase, tally) for phase, tally in judged(run, trial))
    seconds = sum((p.ended_ns - p.started_ns) / 1e9 for p in trial.phases)
    return f"{said}  {rates}  {screen.spelled_duration(seconds)}"


def place(run: Run, block: int) -> str:
    """`block 3/24`; beyond MAX come those that replay what noise has spoilt."""
    most = run.design.looks[-1]
    if block < 0:
        return "floor"
    return f"block {block + 1}/{most}" if block < most else f"block {block + 1} (replay)"


def judged(run: Run, trial: Trial) -> list[tuple[PhaseRecord, Tally]]:
    """The streams that a verdict rests on; where there are none, the last phase's first."""
    declared = next((w.phases for w in run.workloads if w.name == trial.workload), ())
    wanted = {(p["name"], m["stream"]) for p in declared for m in p["primary"]}
    found = [(p, t) for p in trial.phases for t in p.streams if (p.phase, t.name) in wanted]
    return found or [(p, t) for p in trial.phases[-1:] for t in p.streams[:1]]


def rate(phase: PhaseRecord, tally: Tally) -> str:
    """`qr100 8,123 queries/s`, with the failed ones if there were any."""
    per_s = tally.done * tally.units_per_event / phase.duration_s if phase.duration_s else 0.0
    failed = f" ({tally.failed:,} failed)" if tally.failed else ""
    return f"{phase.phase} {screen.spelled_rate(per_s)} {screen.plural(tally.unit)}/s{failed}"
