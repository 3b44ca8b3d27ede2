"""One comparison through the whole pipeline, as `dyno compare` plays it: a line for the store."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import dyno
from dyno import calibration, candidates, conduct, folder, judge
from dyno.builds import Say
from dyno.calibrate import hog
from dyno.calibrate.dose import dose_percent
from dyno.calibrate.lots import Lot
from dyno.calibrate.pilot import Pilot
from dyno.calibrate.shape import Shape
from dyno.calibration import Entry, Restart
from dyno.calibration.entry import telling
from dyno.conduct.watch import Event, Progressed, TrialStarted
from dyno.errors import TrialFailed
from dyno.judge.blocks import sorted_out
from dyno.measures import measures
from dyno.record import Metric, Run, Trial, Verdict

BASE, CANDIDATE = "base", "candidate"
#: A phase is cut into windows of this length, for the rules that pool them.
WINDOW_S = 0.1


class _Windows:
    """Watches a run: the rates in the whole windows of each trial's measured time, by number."""

    def __init__(self, phase: str, warmup_s: float) -> None:
        self.phase, self.warmup_s = phase, warmup_s
        self.number, self.before_s = 0, 0.0
        self.found: dict[int, list[float]] = defaultdict(list)

    def __call__(self, event: Event) -> None:
        if isinstance(event, TrialStarted):
            self.number, self.before_s = event.number, 0.0
        elif isinstance(event, Progressed) and event.phase == self.phase:
            if self.before_s >= self.warmup_s:
                self.found[self.number].append(event.streams[0].rate_per_s)
            self.before_s = event.elapsed_s


def played(lot: Lot, shape: Shape, pilot: Pilot, room: Path, say: Say) -> Entry:
    """Plays a comparison of `lot` with its run in `room`, judges it, and says what came of it.

    `TrialFailed` where it could not be played to its end.
    """
    began_s, dice = time.monotonic(), random.Random()
    specs = [f"{BASE}={lot.base}", f"{CANDIDATE}={lot.candidate}"]
    experiment = shape.experiment(specs, lot.metric, aa=lot.is_aa)
    prepared = replace(conduct.resolve(experiment, say), progress_s=WINDOW_S)
    run, made = prepared.run, folder.create(prepared.run, room)
    phase = run.workloads[0].phases[-1]
    windows = _Windows(phase["name"], phase["warmup_s"])
    with hog.coming_and_going(pilot.cores, dice) if lot.beside_hog else nullcontext():
        conduct.play(prepared, made, windows)
    trials = made.trials()
    verdict = judge.judge(run, trials)
    if not verdict.complete:
        raise TrialFailed(f"a comparison of {lot.base} came to no end", cause=verdict.sentence)
    entry = _judged(_blank(lot, shape, pilot, run), run, trials, verdict)
    entry = replace(entry, restarts=_restarts(run, trials, windows.found))
    blocks = sorted_out(run, run.workloads[0], trials).valid
    dose = dose_percent(lot, blocks, BASE, CANDIDATE)
    seconds = round(time.monotonic() - began_s, 1)
    return _covering(replace(entry, dose_percent=dose, seconds=seconds), lot)


def _blank(lot: Lot, shape: Shape, pilot: Pilot, run: Run) -> Entry:
    return Entry(
        kind=lot.kind,
        engine=candidates.parse(lot.base).engine,
        what=lot.what,
        effect_percent=lot.effect_percent,
        words={},
        utc=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        dyno=dyno.__version__,
        host=telling(calibration.instrument(run.host, run.driver_sha256)),
        method=calibration.METHOD,
        settings=settings(lot, shape, pilot),
        seed=run.seed,
        better="higher" if lot.metric == "rate_per_s" else "lower",
    )


def settings(lot: Lot, shape: Shape, pilot: Pilot) -> dict[str, str]:
    """What a comparison is played with; those of one lot and size are added up."""
    return {**shape.settings, "metric": lot.metric, "version": pilot.version}


def _judged(entry: Entry, run: Run, trials: Sequence[Trial], verdict: Verdict) -> Entry:
    """The verdict of the one primary; none at all, where too few blocks were calm."""
    dropped = len(verdict.dropped)
    primary = next((row for row in verdict.comparisons if row.primary), None)
    if primary is None:
        return replace(entry, words={verdict.overall: 1}, dropped_blocks=dropped)
    return replace(
        entry,
        words={primary.verdict: 1},
        dropped_blocks=dropped,
        slowdown_percent=primary.slowdown_percent,
        low_percent=primary.low_percent,
        high_percent=primary.high_percent,
        coverable=1,
    )


def _covering(entry: Entry, lot: Lot) -> Entry:
    """Does the interval hold the truth? Of the p99 only a lower bound is known: not asked."""
    if lot.metric != "rate_per_s" or not entry.coverable:
        return replace(entry, coverable=0)
    truth = 0.0 if lot.is_aa else entry.dose_percent or 0.0
    covered = entry.low_percent <= truth <= entry.high_percent
    return replace(entry, covered=int(covered))


def _restarts(
    run: Run, trials: Sequence[Trial], windows: Mapping[int, Sequence[float]]
) -> tuple[Restart, ...]:
    """The trials of valid blocks, each with its number and its windows."""
    (workload,) = run.workloads
    phase = workload.phases[-1]
    primary = phase["primary"][0]
    found = []
    for number, block in enumerate(sorted_out(run, workload, trials).valid):
        for name, trial in block.items():
            value = _value(trial, phase["name"], primary["stream"], primary["metric"])
            pieces = tuple(round(rate, 1) for rate in windows.get(trial.number, ()))
            found.append(Restart(number, name, value, pieces))
    return tuple(found)


def _value(trial: Trial, phase: str, stream: str, metric: str) -> float:
    def is_meant(each: Metric) -> bool:
        return (each.phase, each.transaction, each.name) == (phase, stream, metric)

    return next(value for each, value in measures(trial).items() if is_meant(each))
