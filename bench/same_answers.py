"""How much of each workload is compared by its answers, and is an innocent build blamed?

An old version is held against a new one, or with `--aa` a build against itself, in one short block
each. Printed are, by engine: the statements whose answers were compared, what the audit `contents`
says, and what asking took beside the block. An *invalid* one of an A/A run is a false alarm, and
the exit code is 1; between versions it is told with its words.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clean_runs import ENGINES, MORE_ENGINES, MORE_WORKLOADS, WORKLOADS, Run
from msgspec import structs
from paired import report

from dyno.errors import DynoError
from dyno.instruments.time.run import play_run
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Trial
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

TIMES = {"time": "0.3", "warmup_time": "0.1"}


@dataclass
class Told:
    """What came of an engine's runs."""

    runs: int = 0
    sent: int = 0
    compared: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


def play(run: Run, home: Path) -> tuple[RunView, list[Trial]]:
    """One block of it, and the trials in which answers were asked for."""
    old, new = (ENGINES | MORE_ENGINES)[run.engine][0]
    sides = [f"old={run.engine}@{old}", f"new={run.engine}@{new}"]
    if run.aa:
        sides = [f"{name}={run.engine}@{new}" for name in ("old", "new")]
    options = dict(word.split("=", 1) for word in (WORKLOADS | MORE_WORKLOADS)[run.workload])
    options |= {name: value for name, value in TIMES.items() if name in options}
    noise = {"foreign_percent": 100.0, "steal_percent": 100.0}
    measuring = Measuring(
        blocks=3, fixed=True, seed=run.seed, limits=noise, aa=run.aa, cpu_profile=False
    )
    draft = draft_run(
        compare_candidates(tuple(sides), run.workload, options, measuring), lambda _: None
    )
    draft.change(design=structs.replace(draft.design, analyses=(1,)))
    prepared = draft
    folder = create_run(prepared.run, home)
    play_run(prepared, folder, lambda _: None)
    view = RunView(prepared.run, folder.read_trials())
    return view, list(view.contents)


def add(told: Told, run: Run, view: RunView, asked: list[Trial]) -> None:
    """Counts a run; prints what its audit says but for *sound*."""
    told.runs += 1
    told.seconds.append(sum(each.over_ns - each.began_ns for each in asked) / 1e9)
    for trial in asked:
        for each in trial.contents.statements if trial.contents else ():
            if each.kind not in ("table", "rule"):
                told.sent += 1
                told.compared += bool(each.same)
            for word in ("same", "differs", "undecidable", "not_compared"):
                told.answers[word] += getattr(each, word)
    for found in load_audits()["contents"].judge(view):
        told.words[found.soundness] += 1
        if found.soundness != "sound":
            print(f"{run.name}: {found.soundness}: {found.sentence}", flush=True)


def choose_runs(words: argparse.Namespace) -> Iterator[Run]:
    """Those that were asked for."""
    for engine in words.engine or (*ENGINES, *MORE_ENGINES):
        for workload in words.workload or (*WORKLOADS, *MORE_WORKLOADS):
            for seed in range(1, words.each + 1):
                yield Run(engine, workload, seed, words.aa)


def main() -> int:
    """Plays all; 1 where a build was blamed beside itself."""
    parser = argparse.ArgumentParser(prog="bench/run same-answers")
    parser.add_argument("--quick", action="store_true", help="one workload of each engine")
    parser.add_argument("--aa", action="store_true", help="the new build under two names")
    parser.add_argument("--each", type=int, default=1, help="runs of each engine and workload")
    parser.add_argument("--engine", choices=ENGINES | MORE_ENGINES, action="append")
    parser.add_argument("--workload", choices=WORKLOADS | MORE_WORKLOADS, action="append")
    words = parser.parse_args()
    if words.quick:
        words.workload = ["oltp_read_write"]
    every: dict[str, Told] = {}
    for run in choose_runs(words):
        told = every.setdefault(run.engine, Told())
        with tempfile.TemporaryDirectory(prefix="dyno-") as home:
            try:
                add(told, run, *play(run, Path(home)))
            except DynoError as failed:
                print(f"{run.name}: not played: {failed.sentence}", flush=True)
    rows = [
        (
            engine,
            f"{it.runs}",
            f"{it.compared} of {it.sent}",
            f"{it.answers['same']:,}",
            f"{it.answers['differs']}, {it.answers['undecidable']}, {it.answers['not_compared']}",
            f"{it.words['invalid']}",
            f"{sorted(it.seconds)[len(it.seconds) // 2]:.1f} s" if it.seconds else "",
        )
        for engine, it in every.items()
    ]
    head = ("engine", "runs", "statements", "same", "differ, undecidable, not", "invalid", "asking")
    invalid = sum(it.words["invalid"] for it in every.values())
    report([head, *rows], {"bench": "same-answers", "invalid": invalid})
    return int(words.aa and invalid > 0)


if __name__ == "__main__":
    sys.exit(main())
