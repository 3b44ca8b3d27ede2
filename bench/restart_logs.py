"""Restart logs of real comparisons, as other tools would see them: played here, kept, read again.

A comparison is one of `dyno calibrate`'s, of a build with itself; its driver says every 0.1 s how
it goes, since the rules that pool want windows of a restart. Logs lie in `bakeoff.jsonl` beside
this host's calibration, whose lines had them too in an older Dyno.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from made_up import Made
from rules import Log

from dyno import calibration
from dyno.analysis import judge
from dyno.analysis.blocks import sort_blocks
from dyno.calibration.pilot import Shape
from dyno.play.run import play_run
from dyno.play.watch import Event, Progressed, TrialStarted
from dyno.record import Phase
from dyno.resolve.experiment import host_here, resolve_experiment
from dyno.run_folder import create_run

SIDES = ("base", "candidate")
#: A phase is cut into windows of this length.
WINDOW_S = 0.1


class Windows:
    """Watches a run: the rates in the whole windows of each trial's measured time, by number."""

    def __init__(self, phase: Phase) -> None:
        self.phase, self.warmup_s = phase.name, phase.warmup_s
        self.number, self.before_s = 0, 0.0
        self.found: dict[int, list[float]] = defaultdict(list)

    def __call__(self, event: Event) -> None:
        """Hears what the run says of itself."""
        if isinstance(event, TrialStarted):
            self.number, self.before_s = event.number, 0.0
        elif isinstance(event, Progressed) and event.phase == self.phase:
            if self.before_s >= self.warmup_s:
                self.found[self.number].append(round(event.streams[0].rate_per_s, 1))
            self.before_s = event.elapsed_s


def play(engine: str, shape: Shape | None = None) -> None:
    """Plays and keeps a comparison of `engine` with itself; one without a verdict is left out."""
    specs = [f"{side}={engine}" for side in SIDES]
    # rules that ship know restarts one after the other, and cut them into windows of their own
    shape = replace(shape or Shape(), sequential=True)
    experiment = shape.experiment(specs, "rate_per_s", aa=True)
    prepared = replace(resolve_experiment(experiment, said), progress_s=WINDOW_S)
    run = prepared.run
    with tempfile.TemporaryDirectory(prefix="dyno-") as folder:
        made = create_run(run, Path(folder))
        windows = Windows(run.workloads[0].phases[-1])
        play_run(prepared, made, windows)
        trials = made.trials()
    verdict = judge.judge(run, trials)
    blocks = sort_blocks(run, run.workloads[0], trials).valid
    if not (verdict.complete and blocks):
        said(f"left out: {verdict.sentence}")
    else:
        rates = {side: [windows.found[block[side].number] for block in blocks] for side in SIDES}
        line = {"engine": engine, "what": "same build", "slower": verdict.overall == "slower"}
        with file().open("a") as kept:
            kept.write(json.dumps(line | rates) + "\n")


def said(clause: str) -> None:
    """What is fetched meanwhile."""
    print(clause, file=sys.stderr)


def file() -> Path:
    """Where logs are kept; its folder is there."""
    found = calibration.store_file(host_here()).with_name("bakeoff.jsonl")
    found.parent.mkdir(parents=True, exist_ok=True)
    return found


def stored() -> dict[tuple[str, str], list[Made]]:
    """Every log of this host, by engine and kind of comparison."""
    found: dict[tuple[str, str], list[Made]] = defaultdict(list)
    for line in lines(file()):
        found[line["engine"], line["what"]].append(made(line["slower"], line))
    for line in lines(calibration.store_file(host_here())):
        if line.get("restarts") and line["better"] == "higher":
            sides = {side: windows_of(line["restarts"], side) for side in SIDES}
            found[line["engine"], line["what"]].append(made("slower" in line["words"], sides))
    return found


def lines(place: Path) -> Iterator[dict[str, Any]]:
    """What can be read of a file of JSON lines."""
    with suppress(OSError):
        for line in place.read_text(errors="replace").splitlines():
            with suppress(ValueError):
                yield json.loads(line)


def windows_of(restarts: Iterable[Mapping[str, Any]], side: str) -> list[Sequence[float]]:
    """A calibration's: the windows of each restart, or the whole of it where there are none."""
    return [each["windows"] or [each["value"]] for each in restarts if each["candidate"] == side]


def made(slower: bool, rates: Mapping[str, Sequence[Sequence[float]]]) -> Made:
    """Rates as times per operation, each restart cut to as many windows as all have.

    A window in which nothing was done, on a crowded host, has no time per operation.
    """
    rates = {s: [[rate for rate in each if rate > 0] for each in rates[s]] for s in SIDES}
    least = min(len(windows) for side in SIDES for windows in rates[side])
    base, candidate = (1.0 / np.array([windows[:least] for windows in rates[s]]) for s in SIDES)
    return Made(slower, Log(base, candidate))
