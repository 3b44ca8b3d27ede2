"""How long `dyno history` takes over 10,000 made-up runs: from the records, from its index, and
after ten new runs.

A run plays a base beside a night's build, three restarts each. There are as many series as
`--series` says, each of the same length; every third has a step of 5 % in its last fifth.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import structs

from dyno.record.decode import encode

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from fakes import make_run, make_trial, make_workload

from dyno.record import Candidate

BLOCKS, NOISE, STEP = 3, 0.01, 0.05
BEGAN = datetime(2020, 1, 1, tzinfo=UTC)
WITHOUT = (
    "import sys; from dyno.compare.history import index; index.is_available = lambda: False;"
    " from dyno.cli import run_words; sys.exit(run_words(sys.argv[1:]))"
)


def write_run(home: Path, night: int, series: int, nights: int) -> None:
    """A run on disk, without the syncs that a real one needs."""
    rng = np.random.default_rng([night, series])
    stamp = (BEGAN + timedelta(days=night, minutes=series)).strftime("%Y-%m-%dT%H:%M:%SZ")
    names = ("base", f"1.{night}")
    sides = tuple(
        Candidate(name, f"null@{name}", "null", True, {"version": name}, {}, {}) for name in names
    )
    workload = structs.replace(make_workload(), options={"variant": str(series)})
    made = structs.replace(
        make_run(list(names), [workload]), created_utc=stamp, candidates=sides, seed=series
    )
    folder = home / f"{stamp.replace(':', '').replace('-', '')}-{series}"
    (folder / "trials").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(encode(made)))
    shift = STEP if series % 3 == 0 and night >= nights * 4 // 5 else 0.0
    drift = rng.normal(0, NOISE)
    for number in range(2 * BLOCKS):
        side = number % 2
        log = drift + rng.normal(0, NOISE) + shift * side
        trial = make_trial(number + 1, names[side], number // 2, 1e4 * math.exp(-log))
        file = folder / "trials" / f"{number + 1:04}.json"
        file.write_text(json.dumps(encode(trial)))


def time_command(home: Path, *words: str, without: bool = False) -> tuple[float, float]:
    """Wall seconds, and CPU seconds, of `dyno history` on the home."""
    start = [sys.executable, "-c", WITHOUT] if without else [Path(sys.executable).parent / "dyno"]
    before, began_s = os.times(), time.monotonic()
    command = [*start, "history", *words, home]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall_s, after = time.monotonic() - began_s, os.times()
    if done.returncode:
        raise SystemExit(done.stderr)
    used = after.children_user + after.children_system
    return wall_s, used - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run history-index", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--series", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="120 runs in 4 series")
    words = parser.parse_args()
    runs, series = (120, 4) if words.quick else (words.runs, words.series)
    repeats = 1 if words.quick else words.repeats
    nights = runs // series
    with tempfile.TemporaryDirectory(prefix="dyno-history-bench-") as name:
        home = Path(name)
        for night in range(nights):
            for one in range(series):
                write_run(home, night, one, nights)
        shape = f"{runs} runs, {series} series of {nights} points"
        records = time_command(home, without=True)
        print(f"{shape}, from the records, without DuckDB: {_say(records)}")
        print(f"{shape}, the index made: {_say(time_command(home))}")
        index = home / ".dyno-history.parquet"
        print(f"the index has {index.stat().st_size / 1e6:.2f} MB")
        fresh = [time_command(home) for _ in range(repeats)]
        median = tuple(statistics.median(each) for each in zip(*fresh, strict=True))
        print(f"{shape}, the index fresh: {_say(median)}, median of {repeats}")
        for one in range(10):
            write_run(home, nights + one // series, one % series, nights)
        time.sleep(0.2)
        print(f"10 runs more: {_say(time_command(home))}; then {_say(time_command(home))}")
    figures = {
        "bench": "history-index",
        "runs": runs,
        "records_s": records[0],
        "fresh_s": median[0],
    }
    print(json.dumps(figures | {"ratio": records[0] / median[0]}))


def _say(times: tuple[float, ...]) -> str:
    return f"{times[0]:.2f} s wall, {times[1]:.2f} s CPU"


if __name__ == "__main__":
    main()
