"""How long `dyno history` takes over thousands of runs, by their points and from their records.

    bench/run history-points [--runs N] [--series N] [--repeats N] [--quick]

Each run holds six real trials, those of docs/example-run: three restarts of a base and of a build
of its own, whose rates are moved. There are as many series as `--series` says, each of the same
length; every third has a step of 5 % in its last fifth. A fifth of the runs is read from records;
the others are their copies with other options, whose points say so, too.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dyno.compare.history.homes import read_stamp

EXAMPLE = Path(__file__).resolve().parents[1] / "docs" / "example-run"
BLOCKS, NOISE, STEP = 3, 0.01, 0.05
#: An option of the first series.
OPTION = 10_000
#: So many runs are made of each that is read.
COPIES = 5
BEGAN = datetime(2020, 1, 1, tzinfo=UTC)


@cache
def read_example() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The example's run, and the trials of its first blocks."""
    trials = [json.loads(file.read_text()) for file in sorted(EXAMPLE.glob("trials/*.json"))]
    own = [trial for trial in trials if 0 <= trial["block"] < BLOCKS]
    return json.loads((EXAMPLE / "run.json").read_text()), own


def write_run(home: Path, night: int, series: int, nights: int) -> None:
    """A run on disk, without the syncs that a real one needs."""
    rng = np.random.default_rng([night, series])
    made, trials = copy.deepcopy(read_example())
    stamp = (BEGAN + timedelta(days=night, minutes=series)).strftime("%Y-%m-%dT%H:%M:%SZ")
    base, build = made["candidates"]
    build["build"]["version"] = f"4.{night}"
    build["spec"] = f"sqlite@4.{night}"
    made |= {"created_utc": stamp, "seed": series}
    made["workloads"][0]["options"]["table_size"] = str(OPTION + series)
    folder = home / f"{stamp.replace(':', '').replace('-', '')}-{series}"
    (folder / "trials").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(made))
    shift = STEP if series % 3 == 0 and night >= nights * 4 // 5 else 0.0
    drift = rng.normal(0, NOISE)
    for trial in trials:
        log = drift + rng.normal(0, NOISE) + (0.0 if trial["candidate"] == base["name"] else shift)
        for phase in trial["phases"]:
            if phase["counted_ns"]:
                phase["counted_ns"] = int(phase["counted_ns"] * math.exp(log))
        (folder / "trials" / f"{trial['number']:04}.json").write_text(json.dumps(trial))


def copy_run(folder: Path, number: int) -> None:
    """The same run of another series, its trials and points too."""
    series = json.loads((folder / "run.json").read_text())["seed"]
    other = f"{number}{series}"  # no number begins with 0
    target = folder.with_name(f"{folder.name}-{number}")
    (target / "trials").mkdir(parents=True)
    for file in folder.glob("trials/*.json"):
        os.link(file, target / "trials" / file.name)
    text = (folder / "run.json").read_text()
    text = text.replace(f'"seed": {series},', f'"seed": {other},')
    (target / "run.json").write_text(text.replace(f'"{OPTION + series}"', f'"{OPTION}{other}"'))
    points = json.loads((folder / "points.json").read_text())
    told = json.dumps(points["points"])
    points["points"] = json.loads(told.replace(f'"{OPTION + series}"', f'"{OPTION}{other}"'))
    points["identity"] = points["identity"].replace(f", {series},", f", {other},")
    points["stamp"] = read_stamp(str(target))
    (target / "points.json").write_text(json.dumps(points))


def time_command(home: Path, cached: Path, *words: str) -> tuple[float, float]:
    """Wall seconds, and CPU seconds, of `dyno history` on the home."""
    before, began_s = os.times(), time.monotonic()
    command = [Path(sys.executable).parent / "dyno", "history", *words, home]
    environment = os.environ | {"DYNO_CACHE": str(cached)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    wall_s, after = time.monotonic() - began_s, os.times()
    if done.returncode:
        raise SystemExit(done.stderr)
    used = after.children_user + after.children_system
    return wall_s, used - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run history-points", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--series", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="200 runs in 10 series")
    words = parser.parse_args()
    runs, series = (200, 10) if words.quick else (words.runs, words.series)
    repeats = 1 if words.quick else words.repeats
    nights, read = runs // series, series // COPIES
    with tempfile.TemporaryDirectory(prefix="dyno-history-bench-") as name:
        home = Path(name) / "runs"
        for night in range(nights):
            for one in range(read):
                write_run(home, night, one, nights)
        shape = f"{runs} runs, {series} series of {nights} points"
        first = sorted(home.iterdir())
        sizes = [file.stat().st_size for file in home.glob("*/trials/*.json")]
        print(f"{len(sizes)} trials of {statistics.mean(sizes) / 1e3:.1f} kB")
        records = time_command(home, Path(name) / "first")
        print(f"{len(first)} runs from the records: {_say(records)}")
        for folder in first:
            for number in range(1, COPIES):
                copy_run(folder, number)
        kept = [file.stat().st_size for file in home.glob("*/points.json")]
        print(f"the points of a run have {statistics.mean(kept) / 1e3:.1f} kB")
        afresh = [time_command(home, Path(name) / f"new-{n}") for n in range(repeats)]
        nothing = _find_median(afresh)
        print(f"{shape}, by their points, no search kept: {_say(nothing)}, median of {repeats}")
        again = _find_median([time_command(home, Path(name) / "first") for _ in range(repeats)])
        print(f"{shape}, by their points and kept searches: {_say(again)}, median of {repeats}")
        for one in range(10):
            write_run(home, nights + one // read, one % read, nights)
        print(f"10 runs more: {_say(time_command(home, Path(name) / 'first'))}")
    figures = {"bench": "history-points", "runs": runs, "records_s": COPIES * records[0]}
    figures |= {"nothing_s": nothing[0], "again_s": again[0]}
    print(json.dumps(figures | {"ratio": COPIES * records[0] / nothing[0]}))


def _find_median(times: list[tuple[float, float]]) -> tuple[float, ...]:
    return tuple(statistics.median(each) for each in zip(*times, strict=True))


def _say(times: tuple[float, ...]) -> str:
    return f"{times[0]:.2f} s wall, {times[1]:.2f} s CPU"


if __name__ == "__main__":
    main()
