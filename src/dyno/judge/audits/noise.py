"""Audit `noise`: what did others on this machine do to the comparison?

Blocks in which others had more CPU time than was declared are dropped whole before anybody looks
at them (METHOD.md, Which blocks count). What is left is judged here, in shares of all CPU time
or of that of the cores which driver and engine are held to, whichever is larger:

- Over a third of the blocks was dropped: what was calm then is hardly typical. A third is where
  the replays that it allows are used up.
- Drops hit one candidate's trials and not the base's: two candidates that share the noise would
  share the drops, so a sign test at 1 % says otherwise, as do four drops all on one side. It may
  be the candidate's own work that is taken for foreign (processes that left its family), and then
  its slowest blocks are left out.
- In the blocks that count others had more CPU time beside a candidate than beside the base, by more
  points than the workload's smallest margin is (98 % interval over the blocks): they can have
  slowed it by as much. Or they worked for it: the kernel's own threads that write back and keep
  journals are nobody's.
- Tasks waited for a core (PSI) in a trial for 20 % of the time more than is usual with the
  candidate, though our own processes worked no more, in a quarter of its trials: something took
  cores that is in no count of CPU time, such as a quota. PSI is a covariate: no block is dropped.

All of these are *doubtful*: an interval counts noise that hits both sides alike, and drops are
blind. Where trials are interleaved, what others did was counted over a time that all sides share,
so that noise beside one side alone is *not checked*. Steal and foreign time are known as well as
the probe `host` tells them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median

from dyno.judge.analysis.blocks import SHARED, compute_noise_shares, sum_counter_gains
from dyno.judge.analysis.effects import find_margin_percent
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Unchecked, conclude
from dyno.judge.stats.sign_test import compute_sign_p
from dyno.judge.stats.within_restarts import estimate_common_change, is_beyond
from dyno.record import Finding, Run, Trial, WorkloadPlan

DROPPED_MOST = 1 / 3
#: Fewer drops are no habit.
DROPS_LEAST = 3
SIGN_LEVEL = 0.01
#: So many drops all on one side are told: a fair coin does that in one case of eight. On a host
#: where a hog takes a fifth of the blocks, 2 or 3 runs of 100 stop with such drops.
ALL_ON_ONE_SIDE = 4
PRESSED_POINTS = 20.0
PRESSED_MOST = 0.25


@dataclass(frozen=True)
class _Side:
    """One candidate under one workload: its good trials, by block, latest attempts only."""

    run: Run
    workload: WorkloadPlan
    name: str
    trials: dict[int, Trial]

    def compute_shares(self, block: int) -> dict[str, float]:
        """Of steal and foreign CPU beside one of its trials."""
        return compute_noise_shares(self.trials[block], self.workload.phase_names)

    def exceeds_limits(self, block: int) -> bool:
        """Did others have more than the limits allow?"""
        limits = self.run.design.limits
        return any(
            share > limits.get(name, share) for name, share in self.compute_shares(block).items()
        )

    def make_finding(self, words: str) -> Finding:
        """What is doubtful here."""
        numbers = tuple(trial.number for trial in self.trials.values())
        where = f"{self.workload.name} on {self.name}"
        return Finding("noise", "doubtful", f"{where}: {words}", numbers)


class Noise:
    """Drops, what is left in the blocks that count, and pressure."""

    summary = "few blocks are dropped for noise, and noise does not favour a candidate"
    judges_every_trial = True
    judges_wall_time = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each way in which noise may tell in the result; else one."""
        run, trials = view.run, view.trials
        findings: list[Finding] = []
        told: list[str] = []
        unchecked: list[Unchecked] = []
        for workload in run.workloads:
            base, *others = _list_sides(run, workload, trials)
            dropped = {b for side in (base, *others) for b in side.trials if side.exceeds_limits(b)}
            played: set[int] = set().union(*(side.trials for side in (base, *others)))
            findings += _find_many_dropped(workload, dropped, played)
            if run.design.interleaving:
                unchecked += [Unchecked(SHARED, workload.name)] if others else []
            else:
                findings += [
                    f for side in others for f in _find_one_sided_noise(base, side, dropped)
                ]
            findings += [f for side in (base, *others) for f in _find_pressure(side)]
            unknown = [each for side in (base, *others) for each in _find_unchecked(side)]
            unchecked += unknown
            if len({each.name for each in unknown}) < 1 + len(others):
                told.append(f"{len(dropped)} of {len(played)} blocks of {workload.name}")
        words = f"dropped for noise: {', '.join(told)}" if told else ""
        return conclude("noise", findings, words, unchecked)


def _find_one_sided_noise(base: _Side, side: _Side, dropped: set[int]) -> Iterator[Finding]:
    """What noise did to this side and not to the base."""
    yield from _find_one_sided(base, side)
    yield from _find_uneven_drops(base, side, dropped)


def _find_unchecked(side: _Side) -> Iterator[Unchecked]:
    """What nobody saw: beside a server that runs already it is not known whose work is ours."""
    seen = [side.compute_shares(block) for block in side.trials]
    where = f"{side.workload.name} on {side.name}"
    if not any(seen):
        yield Unchecked("what others had of the machine is not known", where)
    elif not any("foreign_percent" in shares for shares in seen):
        yield Unchecked("others' CPU time is not known apart from the server's", where)


def _list_sides(run: Run, workload: WorkloadPlan, trials: Sequence[Trial]) -> list[_Side]:
    """The base's first. A later attempt at a block takes the place of an earlier one."""
    names = [run.design.base, *(c.name for c in run.candidates if c.name != run.design.base)]
    good = sorted((t for t in trials if t.status == "ok"), key=lambda trial: trial.attempt)
    own = [t for t in good if t.workload == workload.name]
    blocks = {name: {t.block: t for t in own if t.candidate == name} for name in names}
    return [_Side(run, workload, name, blocks[name]) for name in names]


def _find_many_dropped(
    workload: WorkloadPlan, dropped: set[int], played: set[int]
) -> Iterator[Finding]:
    if len(dropped) >= DROPS_LEAST and len(dropped) > DROPPED_MOST * len(played):
        words = f"{workload.name}: {len(dropped)} of {len(played)} blocks were dropped for noise"
        yield Finding(
            "noise", "doubtful", f"{words}: the calm ones are hardly typical of this host"
        )


def _find_one_sided(base: _Side, side: _Side) -> Iterator[Finding]:
    both = base.trials.keys() & side.trials.keys()
    ours = sum(side.exceeds_limits(b) and not base.exceeds_limits(b) for b in both)
    theirs = sum(base.exceeds_limits(b) and not side.exceeds_limits(b) for b in both)
    alike = ours + theirs >= ALL_ON_ONE_SIDE and 0 in (ours, theirs)
    if alike or compute_sign_p(ours, ours + theirs) <= SIGN_LEVEL:
        words = f"noise hit {ours} of its blocks alone, and {theirs} of the base's"
        yield side.make_finding(f"{words}: its own work may be counted as foreign")


def _find_uneven_drops(base: _Side, side: _Side, dropped: set[int]) -> Iterator[Finding]:
    calm = sorted((base.trials.keys() & side.trials.keys()) - dropped)
    here, there = ([sum(each.compute_shares(b).values()) for b in calm] for each in (side, base))
    more = estimate_common_change([ours - theirs for ours, theirs in zip(here, there, strict=True)])
    if more is not None and is_beyond(more, find_margin_percent(side.run, side.workload)):
        words = f"others had {mean(here):.1f} % of the CPU time beside it, {mean(there):.1f} %"
        yield side.make_finding(f"{words} beside the base: they disturb it, or work for it")


def _find_pressure(side: _Side) -> Iterator[Finding]:
    """Tasks waited more than is usual here, though our own processes worked no more."""
    seen = [pair for trial in side.trials.values() if (pair := _compute_pressure(side, trial))]
    if not seen:
        return
    usual, work = (median(column) for column in zip(*seen, strict=True))
    pressed = sum(
        waited - usual > PRESSED_POINTS and own - work < PRESSED_POINTS for waited, own in seen
    )
    if pressed > PRESSED_MOST * len(seen):
        words = (
            f"in {pressed} of {len(seen)} restarts tasks waited for a core far longer than usual"
        )
        yield side.make_finding(f"{words} (PSI), though our own processes worked no more")


def _compute_pressure(side: _Side, trial: Trial) -> tuple[float, float] | None:
    """In percent of the time: some task waited (PSI); our own processes worked."""
    phases = side.workload.phase_names
    sums = sum_counter_gains(trial, phases)
    time_ns = sum(r.ended_ns - r.started_ns for r in trial.phases if r.phase in phases)
    if "psi_cpu_ns" not in sums or "own_ns" not in sums or not time_ns:
        return None
    return 100 * sums["psi_cpu_ns"] / time_ns, 100 * sums["own_ns"] / time_ns


AUDIT = Noise()
