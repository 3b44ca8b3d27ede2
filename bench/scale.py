"""How near a forecast from one user comes to what more users do, of operations whose serial part
is known: a row for each number of users of each, forecast band and measured.

About ten minutes; the host must be quiet, since a forecast beside others' work is doubtful. The
rows are for docs/evidence/scaling.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dyno.cli import run_words
from dyno.errors import HostError

ROOT = Path(__file__).resolve().parent.parent
KNOWN = str(ROOT / "bench/known_lock.lua")
#: Each: a name, the candidate, and its workload with options.
PLANTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("advisory lock, 100 of 400 µs", "postgres@18", (KNOWN, "lock_us=100", "free_us=300")),
    ("advisory lock, 300 of 500 µs", "postgres@18", (KNOWN, "lock_us=300", "free_us=200")),
    (
        "advisory lock, asleep for 1,000 of 1,300 µs",
        "postgres@18",
        (KNOWN, "how=sleep", "lock_us=1000", "free_us=300"),
    ),
    ("GET_LOCK, 100 of 400 µs", "mysql@8.0", (KNOWN, "lock_us=100", "free_us=300")),
    ("GET_LOCK, 300 of 500 µs", "mysql@8.0", (KNOWN, "lock_us=300", "free_us=200")),
    ("SQLite's write lock, 100 of 400 µs", "sqlite", (KNOWN, "lock_us=100", "free_us=300")),
    ("SQLite's write lock, 300 of 500 µs", "sqlite", (KNOWN, "lock_us=300", "free_us=200")),
    ("mutex, 20 of 80 µs", "plugin@{plugin}?lock_us=20&free_us=60", ("kv", "records=10")),
    ("mutex, 60 of 100 µs", "plugin@{plugin}?lock_us=60&free_us=40", ("kv", "records=10")),
    ("one counter, 200 times", "plugin@{plugin}?increments=200&free_us=20", ("kv", "records=10")),
)
USERS, RESTARTS = "1,2,4,8", "3"
#: Half of a band's width, in percent of its middle, that is wanted at most.
HALF_WIDTH_PERCENT = 15.0


def main() -> int:
    """The rows, and how many of the operations are forecast within their bands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="plays those whose name has this word")
    parser.add_argument("--quick", action="store_true", help="short plays: shows that it runs")
    asked = parser.parse_args()
    print("| operation | users | forecast from one | measured | off | within |", flush=True)
    print("|---|---|---|---|---|---|", flush=True)
    good = played = 0
    with _build_plugin() as plugin:
        for name, candidate, (workload, *options) in PLANTS:
            if asked.only not in name:
                continue
            words = [candidate.format(plugin=plugin), "-w", workload]
            words += [it for each in options for it in ("--set", each)]
            words += ["--users", USERS, "--restarts", "2" if asked.quick else RESTARTS]
            checks = _play([*words, "--time", "0.4s" if asked.quick else "1s"])
            rows = [_judge(name, each) for each in checks]
            played += 1
            good += bool(rows) and all(within for _, within in rows)
            print("\n".join(row for row, _ in rows) or f"| {name} | failed | | | | |", flush=True)
    print(f"\n{good} of {played} within their bands at every number of users", flush=True)
    return 0


def _judge(name: str, check: dict[str, Any]) -> tuple[str, bool]:
    band, measured = check["forecast"], check["measured"]
    half = 50 * (band["high"] - band["low"]) / band["middle"]
    is_within = band["low"] <= measured <= band["high"]
    word = "yes" if is_within else "no"
    word += f", ± {half:.0f} %" + " (wide)" * (half > HALF_WIDTH_PERCENT)
    off = 100 * (band["middle"] / measured - 1)
    told = f"{band['middle']:,.0f} [{band['low']:,.0f}, {band['high']:,.0f}]"
    row = f"| {name} | {check['users']} | {told} | {measured:,.0f} | {off:+.0f} % | {word} |"
    return row, is_within and half <= HALF_WIDTH_PERCENT


def _play(words: list[str]) -> list[dict[str, Any]]:
    """The checks of a run; none where it failed, whose error is on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.json"
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
            code = run_words(["scale", *words, "--json", str(file)])
        if code:
            return []
        told = json.loads(file.read_text())
        for doubt in told["doubts"]:
            if doubt["audit"] == "noise":
                print(f"noisy: {doubt['sentence']}", file=sys.stderr)
        (found,) = told["forecast"]
        return list(found["checks"])


@contextlib.contextmanager
def _build_plugin() -> Iterator[Path]:
    """The engine whose operations need one thing each, built for this bench alone."""
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "known_lock.so"
        include = ["-I", str(ROOT / "src/dyno/engines/plugin")]
        command = ["cc", "-O2", "-fPIC", "-shared", "-o", str(built), *include]
        done = subprocess.run([*command, str(ROOT / "bench/known_lock.c")], timeout=60, check=False)
        if done.returncode:
            raise HostError("bench/known_lock.c cannot be built", hint="install a C compiler")
        yield built


if __name__ == "__main__":
    sys.exit(main())
