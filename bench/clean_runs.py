"""Short comparisons in which nothing is wrong: how often does an audit say that something is?

By default twenty runs of SQLite, PostgreSQL and MySQL, an old version against a new one, on four
workloads, small. `--all` takes every workload that comes along and DuckDB and MariaDB too, `--each
N` plays so many runs of each engine and workload, `--aa` one build under two names. Every finding
that is neither sound nor *not checked* is printed as soon as its run ends. A doubtful one may be
true of a small or busy machine, where the driver shares its cores; an invalid one is a false alarm,
and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paired import report

from dyno.record import Finding
from dyno.record.decode import decode

#: Engine to its two builds, and how many runs of each workload it has.
ENGINES = {
    "sqlite": (("3.24.0", "3.54.1"), 2),
    "postgres": (("12.22", "18.6"), 2),
    "mysql": (("5.6.14", "8.0.33"), 1),
}
#: Those that `--all` adds.
MORE_ENGINES = {"duckdb": (("1.1.2", "1.1.3"), 1), "mariadb": (("10.2.11", "10.11.5"), 1)}
OLTP = ("time=1", "warmup_time=0.2", "table_size=5000")
BRIEF = ("time=1", "warmup_time=0.2")
#: Workload to the options that keep a trial near two seconds.
WORKLOADS = {
    "oltp_point_select": OLTP,
    "oltp_read_write": OLTP,
    "oltp_insert": OLTP,
    "insert": ("query_rates=100", "load_rows=20000", "write_rows=4000"),
}
#: Those that `--all` adds.
MORE_WORKLOADS = {
    "oltp_delete": OLTP,
    "oltp_read_only": OLTP,
    "oltp_update_index": OLTP,
    "oltp_update_non_index": OLTP,
    "oltp_write_only": OLTP,
    "kv": (*BRIEF, "records=5000"),
    "tpcc": (*BRIEF, "warehouses=1", "customers=300", "items=1000"),
    "types": ("rows=5000", "time=1"),
    "load": ("rows=20000",),
    "lineitem_load": ("scale=0.005",),
    "micro": ("time=0.3", "warmup_time=0.1"),
    "dbt3": ("scale=0.01",),
    "ssb": ("scale=0.01",),
}
BLOCKS = 3
WORDS = ("sound", "does not apply", "not checked", "doubtful", "invalid")
#: No run of these takes longer, unless it hangs.
LIMIT_S = 1200


@dataclass(frozen=True)
class Run:
    """One comparison to play."""

    engine: str
    workload: str
    seed: int
    aa: bool = False

    @property
    def name(self) -> str:
        """`mysql oltp_insert 3`."""
        return f"{self.engine} {self.workload} {self.seed}" + (" A/A" if self.aa else "")

    def findings(self, home: str) -> list[Finding]:
        """Plays it in `home`; what the audits said."""
        old, new = (ENGINES | MORE_ENGINES)[self.engine][0]
        sides = [f"{self.engine}@{old}", f"{self.engine}@{new}"]
        if self.aa:
            sides = [f"{name}={self.engine}@{new}" for name in ("one", "two")] + ["--aa"]
        words = ["compare", *sides, "-w", self.workload]
        options = (WORKLOADS | MORE_WORKLOADS)[self.workload]
        words += [word for option in options for word in ("--set", option)]
        words += ["--blocks", str(BLOCKS), "--seed", str(self.seed)]
        command = [sys.executable, "-m", "dyno.cli", *words]
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=LIMIT_S)
        verdicts = list(Path(home).glob("runs/*/verdict.json"))
        if done.returncode > 3 or not verdicts:
            raise SystemExit(f"dyno {' '.join(words)} exited {done.returncode}:\n{done.stderr}")
        said = json.loads(verdicts[0].read_text())
        return [decode(Finding, each) for each in said["findings"]]


def runs(words: argparse.Namespace) -> Iterator[Run]:
    """The runs that were asked for; with `--quick` one of each engine."""
    every = ENGINES | (MORE_ENGINES if words.all else {})
    workloads = WORKLOADS | (MORE_WORKLOADS if words.all else {})
    for engine in words.engine or every:
        seeds = range(1, (words.each or (ENGINES | MORE_ENGINES)[engine][1]) + 1)
        chosen = words.workload or workloads
        each = [Run(engine, workload, seed, words.aa) for seed in seeds for workload in chosen]
        yield from each[:1] if words.quick else each


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run clean-runs")
    parser.add_argument("--quick", action="store_true", help="one run of each engine")
    parser.add_argument("--all", action="store_true", help="every workload and engine")
    parser.add_argument("--each", type=int, help="runs of each engine and workload")
    parser.add_argument("--aa", action="store_true", help="the new build under two names")
    engines, workloads = ENGINES | MORE_ENGINES, WORKLOADS | MORE_WORKLOADS
    parser.add_argument("--engine", choices=engines, action="append", help="only this; repeatable")
    parser.add_argument("--workload", choices=workloads, action="append", help="likewise")
    return parser.parse_args()


def told(run: Run, found: Sequence[Finding]) -> tuple[object, ...]:
    """Prints what is wrong with a run; its row of the table."""
    for finding in found:
        if finding.soundness in ("doubtful", "invalid"):
            print(
                f"{run.name}: {finding.audit} {finding.soundness}: {finding.sentence}", flush=True
            )
    own = Counter(finding.soundness for finding in found)
    return (run.name, *(own[word] for word in WORDS))


def main() -> int:
    rows: list[tuple[object, ...]] = [("run", *WORDS)]
    counts: Counter[str] = Counter(dict.fromkeys(WORDS, 0))
    for run in runs(arguments()):
        with tempfile.TemporaryDirectory() as home:
            found = run.findings(home)
        counts.update(finding.soundness for finding in found)
        rows.append(told(run, found))
    report(rows, {"bench": "clean-runs", "runs": len(rows) - 1, **counts})
    return 1 if counts["invalid"] else 0


if __name__ == "__main__":
    sys.exit(main())
