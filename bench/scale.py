"""How near a forecast from one user comes to what more users do, of operations whose serial part
is known: a row for each number of users of each, forecast band and measured.

*At its speed* is the same forecast with the CPU time that an operation took in the very plays: on a
host whose cores change their speed it tells the model's own error. With `--from-one-core` the one
user was played on a single core.

About ten minutes; the host must be quiet, since a forecast beside others' work is doubtful. The
rows are for docs/evidence/scaling.md.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from msgspec.structs import replace

from dyno.cli import run_words
from dyno.errors import HostError
from dyno.judge.analysis.scaling import HostCheck, forecast_scaling
from dyno.judge.analysis.scaling_verdict import judge_scaling
from dyno.record.scaling import SCALING_RECORD, ScaleRun
from dyno.runs.run_folder import read_json

ROOT = Path(__file__).resolve().parent.parent
KNOWN = str(ROOT / "bench/known_lock.lua")
#: Each: a name, the candidate, and its workload with options.
PLANTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("advisory lock, 100 of 400 µs", "postgres@18", (KNOWN, "lock_us=100", "free_us=300")),
    ("advisory lock, 300 of 500 µs", "postgres@18", (KNOWN, "lock_us=300", "free_us=200")),
    (
        "advisory lock, asleep for 1 to 2 ms",
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
USERS, RESTARTS = "1,2,4,8", "4"
#: Half of a band's width, in percent of its middle, that is wanted at most.
HALF_WIDTH_PERCENT = 15.0


def main() -> int:
    """The rows, and how many of the operations are forecast within their bands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="plays those whose name has this word")
    parser.add_argument("--quick", action="store_true", help="short plays: shows that it runs")
    parser.add_argument("--from-one-core", action="store_true", help="one user on a single core")
    asked = parser.parse_args()
    print("| operation | users | forecast from one | measured | off | within | at its speed |")
    print("|---|---|---|---|---|---|---|", flush=True)
    good = played = 0
    length = ["--restarts", "2", "--time", "0.4s"] if asked.quick else ["--restarts", RESTARTS]
    with _build_plugin() as plugin:
        for name, candidate, (workload, *options) in PLANTS:
            if asked.only not in name:
                continue
            words = [candidate.format(plugin=plugin), "-w", workload, *length]
            words += [it for each in options for it in ("--set", each)]
            played += 1
            run = _play([*words, "--users", USERS])
            if run and asked.from_one_core:
                run = _join(run, words)
            if run is None:
                print(f"| {name} | failed | | | | | |", flush=True)
                continue
            rows = [_judge(name, each, _forecast_at_speed(run, each.users)) for each in _check(run)]
            good += all(within for _, within in rows)
            print("\n".join(row for row, _ in rows), flush=True)
    print(f"\n{good} of {played} within their bands at every number of users", flush=True)
    return 0


def _check(run: ScaleRun) -> tuple[HostCheck, ...]:
    (found,) = forecast_scaling(run).candidates
    return found.checks


def _forecast_at_speed(run: ScaleRun, users: int) -> HostCheck:
    """The check of so many users if one user's operations had taken the CPU time of theirs."""
    taken = {
        count: mean(it.cpu_ns for it in run.plays if it.users == count and not it.watched)
        for count in (1, users)
    }
    factor = taken[users] / taken[1]
    plays = tuple(
        replace(
            it,
            server_cpu_ns=factor * it.server_cpu_ns,
            client_cpu_ns=factor * it.client_cpu_ns,
            rate_per_s=it.rate_per_s / factor,
        )
        if it.users == 1 and not it.watched
        else it
        for it in run.plays
    )
    return next(it for it in _check(replace(run, plays=plays)) if it.users == users)


def _judge(name: str, check: HostCheck, at_speed: HostCheck) -> tuple[str, bool]:
    band, measured = check.forecast, check.measured
    half = 50 * (band.high - band.low) / band.middle
    is_within = band.low <= measured <= band.high
    word = "yes" if is_within else "no"
    word += f", ± {half:.0f} %" + " (wide)" * (half > HALF_WIDTH_PERCENT)
    told = f"{band.middle:,.0f} [{band.low:,.0f}, {band.high:,.0f}]"
    row = f"| {name} | {check.users} | {told} | {measured:,.0f} | {100 * check.off:+.0f} % | {word}"
    return f"{row} | {100 * at_speed.off:+.0f} % |", is_within and half <= HALF_WIDTH_PERCENT


def _join(run: ScaleRun, words: list[str]) -> ScaleRun | None:
    """The run with one user's plays on a single core in the place of its own."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        alone = _play([*words, "--users", "1"])
    finally:
        os.sched_setaffinity(0, cores)
    if alone is None:
        return None
    plain = {it.restart: it for it in alone.plays if not it.watched}
    plays = tuple(
        replace(plain[it.restart], number=it.number) if it.users == 1 and not it.watched else it
        for it in run.plays
    )
    return replace(run, plays=plays)


def _play(words: list[str]) -> ScaleRun | None:
    """A run; none where it failed, whose error is on stderr."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
    ):
        if run_words(["scale", *words]):
            return None
        (record,) = Path("runs").glob(f"*/{SCALING_RECORD}")
        run = read_json(ScaleRun, record)
    for each in judge_scaling(run, forecast_scaling(run)).findings:
        if each.audit == "noise" and each.soundness == "doubtful":
            print(f"noisy: {each.sentence}", file=sys.stderr)
    return run


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
