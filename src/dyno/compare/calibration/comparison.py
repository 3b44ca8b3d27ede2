"""One comparison of known truth through the whole pipeline, as `dyno compare` plays it.

It becomes a line of the store, with the size beside the verdict: how much slower the engine was
really made. The injected size is counted where the time is spent: the preloaded library adds up
what it spun, and of `null` the driver knows the median answer. (Its mean also holds the sleeps that
the kernel ended late: the host's noise, which nobody injected.) Both are divided by the base's own
time per operation. `burn_intermittently` is a load that comes and goes on the engine's cores while
a comparison plays, as a neighbour's would.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean

from msgspec import structs

import dyno
from dyno.builds import Say
from dyno.compare import calibration
from dyno.compare.calibration import CalibrationEntry
from dyno.compare.calibration.cases import EVERY, CalibrationCase
from dyno.compare.calibration.pilot import (
    SIDES,
    CalibrationPilot,
    Shape,
    compute_operation_ns,
    sum_reading,
)
from dyno.compare.pilot.prepare import prepare
from dyno.compare.pilot.slices import TriedEvents
from dyno.errors import TrialFailed
from dyno.instruments.time.run import play_run
from dyno.judge.analysis import judge
from dyno.judge.analysis.measures import CPU_PER_OP, count_operations
from dyno.judge.analysis.run_view import RunView
from dyno.record import PhaseRecord, Run, Trial, Verdict
from dyno.record.host import select_facts
from dyno.runs.experiment import Experiment, candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

#: How long the hog works and rests, in seconds: it meets about half of the blocks of small trials,
#: so that some comparisons come to a verdict and some do not.
WORKS_S = (0.3, 2.0)
RESTS_S = (2.0, 12.0)

#: Burns a core for a stretch, rests for another, until it or its parent is killed.
CODE = """
import os, random, sys, time
cores, seed, works, rests, parent = sys.argv[1:]
rng = random.Random(int(seed))
if cores:
    os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
def stretch(between):
    ends_s = time.monotonic() + rng.uniform(*map(float, between.split(",")))
    while time.monotonic() < ends_s:
        if os.getppid() != int(parent):
            sys.exit()
        yield
while True:
    for _ in stretch(rests):
        time.sleep(0.01)
    for _ in stretch(works):
        sum(range(100_000))
"""


@contextmanager
def burn_intermittently(
    cores: Sequence[int],
    rng: random.Random,
    works_s: Sequence[float] = WORKS_S,
    rests_s: Sequence[float] = RESTS_S,
) -> Iterator[int]:
    """Burns the first of `cores` (any, if there is none) for random stretches, until left; yields
    the hog's process.

    One process all the time: the kernel adds the CPU of a child that ended to its parent's, and
    what is the parent's is not foreign (probe `host`).
    """
    words = (
        _format_numbers(cores[:1]),
        str(rng.getrandbits(32)),
        _format_numbers(works_s),
        _format_numbers(rests_s),
    )
    command = [sys.executable, "-I", "-S", "-c", CODE, *words, str(os.getpid())]
    # In a session of its own: an interrupt from the keyboard is for us, and we kill it.
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True) as hog:
        try:
            yield hog.pid
        finally:
            hog.kill()


def _format_numbers(numbers: Sequence[float]) -> str:
    return ",".join(str(number) for number in numbers)


#: A size that differs from the one asked for by more than this part of it is told of.
TOLERANCE = 0.2


def is_other_size(effect_percent: float, injected_percent: float) -> bool:
    """Was something else injected than what was asked for? The truth is the size all the same."""
    return abs(injected_percent - effect_percent) > TOLERANCE * effect_percent


def compute_injected_percent(
    case: CalibrationCase,
    blocks: Sequence[Mapping[str, Trial]],
    base: str,
    candidate: str,
    costs: Callable[[Trial], float] | None = None,
) -> float | None:
    """The slowdown injected, the mean over the blocks; None where nothing was to be injected.

    Of a delay in one answer of fifty it is what the p99 must have risen by at the least: half of
    the answers held up, one of a hundred, took the median and the spin or more. By the CPU time
    that `costs` has of a base's trial it is what was asked for: the library counts the time in
    which others had the core, too.
    """
    if case.is_aa or not blocks:
        return None
    if costs is not None:
        spin_ns = int(candidates.parse_candidate(case.candidate).keys["inject"].removesuffix("ns"))
        return mean(
            100.0 * spin_ns * _count_answers(block[candidate]) / costs(block[base])
            for block in blocks
        )
    pairs = [(block[base].phases[-1], block[candidate].phases[-1]) for block in blocks]
    if case.metric == "rate_per_s":
        return mean(
            100.0 * _compute_added_ns(*pair) / compute_operation_ns(pair[0]) for pair in pairs
        )
    return mean(_compute_p99_percent(*pair) for pair in pairs)


def _count_answers(trial: Trial) -> float:
    record = trial.phases[-1]
    return sum_reading(record, "injected_answers") / max(1, count_operations(record))


def _compute_added_ns(base: PhaseRecord, candidate: PhaseRecord) -> float:
    return _read_injected_ns(candidate) - _read_injected_ns(base)


def _read_injected_ns(record: PhaseRecord) -> float:
    """What was injected in an operation: the spin, or the whole median answer of `null`."""
    tally = record.streams[0]
    if tally.service_ns is not None:
        return tally.latency.percentiles_ns["50"] / tally.units_per_event
    return sum_reading(record, "injected_ns") / max(1, count_operations(record))


def _compute_p99_percent(base: PhaseRecord, candidate: PhaseRecord) -> float:
    was = base.streams[0].latency.percentiles_ns
    held_ns = EVERY * _compute_added_ns(base, candidate)
    return 100.0 * ((was["50"] + held_ns) / was["99"] - 1.0)


BASE, CANDIDATE = SIDES


def play_comparison(
    case: CalibrationCase, shape: Shape, pilot: CalibrationPilot, folder: Path, say: Say
) -> CalibrationEntry:
    """Plays a comparison of `case` with its run in `folder`, judges it, and says what came of it.

    `TrialFailed` where it could not be played to its end.
    """
    began_s = time.monotonic()
    specs = [f"{BASE}={case.base}", f"{CANDIDATE}={case.candidate}"]
    experiment = shape.build_experiment(specs, case.metric, aa=case.is_aa)
    hog = burn_intermittently(pilot.cores, random.Random()) if case.beside_hog else nullcontext()
    with hog:
        slowed = replace(pilot, p99_ns=pilot.p99_ns * (1 + case.effect_percent / 100))
        run, trials = play_blocks(experiment, slowed, folder, say)
    verdict = judge.judge(run, trials)
    if not verdict.complete:
        raise TrialFailed(f"a comparison of {case.base} did not finish", cause=verdict.sentence)
    entry = _with_verdict(_make_empty_entry(case, shape, pilot, run), run, trials, verdict)
    view = RunView(run, trials)
    blocks = view.blocks[run.workloads[0].name].valid

    def measure_cpu_ns(trial: Trial) -> float:
        numbers = view.compute_numbers(trial)
        return 1e3 * next(it for metric, it in numbers.items() if metric.name == CPU_PER_OP)

    def measure_operation_ns(trial: Trial) -> float:
        return compute_operation_ns(trial.phases[-1])

    costs = measure_cpu_ns if shape.by == "cpu" else None
    found = structs.replace(
        entry,
        injected_percent=compute_injected_percent(case, blocks, BASE, CANDIDATE, costs),
        operation_ns=mean(
            [(costs or measure_operation_ns)(block[BASE]) for block in blocks] or [0.0]
        ),
        seconds=round(time.monotonic() - began_s, 1),
    )
    return _note_coverage(found, case)


def play_blocks(
    experiment: Experiment, pilot: CalibrationPilot, folder: Path, say: Say
) -> tuple[Run, list[Trial]]:
    """Plays an experiment with its run in `folder`, by slices as long as the pilot's p99 asks for;
    the run, and its trials.
    """
    draft = draft_run(experiment, say)
    events = TriedEvents(round(pilot.p99_ns), pilot.rows_changed)
    prepared = prepare(draft, say, known={each.name: [events] for each in draft.workloads})
    made = create_run(prepared.run, folder)
    play_run(prepared, made, lambda _: None)
    return prepared.run, made.read_trials()


def _make_empty_entry(
    case: CalibrationCase, shape: Shape, pilot: CalibrationPilot, run: Run
) -> CalibrationEntry:
    return CalibrationEntry(
        kind=case.kind,
        engine=candidates.parse_candidate(case.base).engine,
        what=case.title,
        effect_percent=case.effect_percent,
        words={},
        utc=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        dyno=dyno.__version__,
        host=select_facts(calibration.instrument(run.host, run.driver_sha256)),
        method=calibration.METHOD,
        settings=choose_settings(case, shape, pilot),
        seed=run.seed,
        better="higher" if case.metric == "rate_per_s" and shape.by == "time" else "lower",
    )


def choose_settings(case: CalibrationCase, shape: Shape, pilot: CalibrationPilot) -> dict[str, str]:
    """What a comparison is played with; those of one case and size are added up."""
    metric = CPU_PER_OP if shape.by == "cpu" else case.metric
    return {**shape.settings, "metric": metric, "version": pilot.version}


def _with_verdict(
    entry: CalibrationEntry, run: Run, trials: Sequence[Trial], verdict: Verdict
) -> CalibrationEntry:
    """The verdict of the one primary; none at all, where too few blocks were calm."""
    dropped = len(verdict.dropped)
    primary = next((row for row in verdict.comparisons if row.primary), None)
    if primary is None:
        return structs.replace(entry, words={verdict.overall: 1}, dropped_blocks=dropped)
    return structs.replace(
        entry,
        words={primary.verdict: 1},
        dropped_blocks=dropped,
        slowdown_percent=primary.slowdown_percent,
        low_percent=primary.low_percent,
        high_percent=primary.high_percent,
        coverable=1,
    )


def _note_coverage(entry: CalibrationEntry, case: CalibrationCase) -> CalibrationEntry:
    """Does the interval hold the truth? Of the p99 only a lower bound is known: not asked."""
    if case.metric != "rate_per_s" or not entry.coverable:
        return structs.replace(entry, coverable=0)
    truth = 0.0 if case.is_aa else entry.injected_percent or 0.0
    covered = entry.low_percent <= truth <= entry.high_percent
    return structs.replace(entry, covered=int(covered))
