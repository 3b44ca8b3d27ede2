"""Twelve nights of `dyno compare` on a host whose load changes: is the one step found?

    bench/run nights FOLDER [--engines null sqlite] [--percent P] [--turns N]

Twelve commits are made on SQLite's amalgamation, of which one adds N turns of an empty loop to each
statement; from the same night on `null` takes P percent longer. A night compares the first commit
with its own, as CI would, in the series `nightly`. Beside every other night a program takes a core.
In the fifth something is tried by hand, which is no night. Then the history is asked, each
comparison that it wants is played, and it is asked again. Last, a line of JSON: the steps that were
flagged by series, with their commits, and what became of them.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bisect_trees import TREES, fetch_source, make_commits

NIGHTS, STEP, BY_HAND = 12, 8, 5
NULL_US = 200
PLAYED = (
    *("-w", "oltp_point_select", "--quick", "--control", "pinning=off", "--limit", "foreign=100"),
    *("--limit", "steal=100", "--set", "time=2", "--set", "threads=1", "--set", "table_size=1000"),
)
SERIES = ("--series", "nightly")
#: A commit is built in half the time.
FLAGS = "cflags=-O1"


def main() -> None:
    """Play the nights of the command line."""
    parser = argparse.ArgumentParser(prog="bench/run nights")
    parser.add_argument("folder", type=Path)
    both = ("null", "sqlite")
    parser.add_argument("--engines", nargs="+", choices=both, default=both)
    parser.add_argument("--percent", type=float, default=10.0, help="what null gets slower by")
    parser.add_argument("--turns", type=int, default=100, help="turns of SQLite's empty loop")
    given = parser.parse_args()
    home, runs = given.folder.resolve(), given.folder.resolve() / "runs"
    commits: list[str] = []
    if "sqlite" in given.engines:
        fetch_source("sqlite", home / "tree")
        tree = replace(TREES["sqlite"], commits=NIGHTS, injected=STEP, broken=0)
        commits = make_commits(home / "tree", tree, given.turns)
    for night in range(1, NIGHTS + 1):
        with _load_host(night % 2 == 0):
            if "null" in given.engines:
                slow = 1 + given.percent / 100 * (night >= STEP)
                compare(runs, f"null@{NULL_US}us", f"null@{NULL_US * slow:g}.{night:02}us", *SERIES)
            if night == BY_HAND:
                compare(runs, f"null@{NULL_US}us", f"null@{NULL_US * 1.5:g}us")
            if commits:
                place = f"sqlite@source:{home / 'tree'}"
                sides = (f"{place}@{commits[at]}?{FLAGS}" for at in (0, night))
                compare(runs, *sides, *SERIES)
        print(f"night {night} of {NIGHTS}", file=sys.stderr)
    first = ask_history(home)
    for step in [step for each in first for step in each["steps"] if step["confirm"]]:
        dyno(runs, *shlex.split(step["confirm"])[1:])
    told = {"bench": "nights", "injected": commits[STEP][:12] if commits else "", "first": first}
    print(json.dumps({**told, "confirmed": ask_history(home)}))


def compare(runs: Path, base: str, new: str, *words: str) -> None:
    dyno(runs, "compare", f"base={base}", f"new={new}", *PLAYED, *words)


def ask_history(home: Path) -> list[dict[str, Any]]:
    """Return each series of the nights with its flagged steps."""
    file = home / "history.json"
    dyno(home / "runs", "history", *SERIES, "--json", str(file))
    return [
        {
            "engine": series["engine"],
            "points": len(series["points"]),
            "tested": series["tested"],
            "steps": [
                {
                    "last_good": _name_point(series["points"][step["at"] - 1]),
                    "first_bad": _name_point(series["points"][step["at"]]),
                    **{key: step[key] for key in ("slowdown_percent", "trial", "confirm")},
                }
                for step in series["flagged_changes"]
            ],
        }
        for series in json.loads(file.read_text())["series"]
    ]


def dyno(runs: Path, *words: str) -> None:
    """Play a command over a folder of runs; a verdict's exit code is no failure, a mistake's is."""
    command = [sys.executable, "-m", "dyno.cli", *words]
    environment = {**os.environ, "DYNO_RUNS": str(runs)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode >= 64:
        sys.exit(f"dyno {shlex.join(words)}: {done.stderr}")


def _name_point(point: dict[str, Any]) -> str:
    return str(point["build"].get("commit", point["version"]))[:12]


@contextmanager
def _load_host(is_loaded: bool) -> Iterator[None]:
    if not is_loaded:
        yield
        return
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as burning:
        try:
            yield
        finally:
            burning.kill()


if __name__ == "__main__":
    main()
