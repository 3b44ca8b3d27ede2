"""Short comparisons in which nothing is wrong: how often does an audit say that something is?

Twenty runs of SQLite, PostgreSQL and MySQL, an old version against a new one, on four workloads,
small. Every doubtful or invalid finding is printed. A doubtful one may be true of a small machine,
where the driver shares its cores; an invalid one is a false alarm, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from paired import report

from dyno.decode import decode
from dyno.record import Finding

#: Engine to its two builds, and how many runs of each workload it has.
ENGINES = {
    "sqlite": (("3.24.0", "3.54.1"), 2),
    "postgres": (("12.22", "18.6"), 2),
    "mysql": (("5.6.14", "8.0.33"), 1),
}
OLTP = ("time=1", "warmup_time=0.2", "table_size=5000")
#: Workload to the options that keep a trial near two seconds.
WORKLOADS = {
    "oltp_point_select": OLTP,
    "oltp_read_write": OLTP,
    "oltp_insert": OLTP,
    "insert": ("query_rates=100", "load_rows=20000", "write_rows=4000"),
}
BLOCKS = 3


@dataclass(frozen=True)
class Run:
    """One comparison to play."""

    engine: str
    workload: str
    seed: int

    def findings(self, home: str) -> list[Finding]:
        """Plays it in `home`; what the audits said."""
        old, new = ENGINES[self.engine][0]
        words = ["compare", f"{self.engine}@{old}", f"{self.engine}@{new}", "-w", self.workload]
        words += [word for option in WORKLOADS[self.workload] for word in ("--set", option)]
        words += ["--blocks", str(BLOCKS), "--seed", str(self.seed)]
        command = [sys.executable, "-m", "dyno.cli", *words]
        done = subprocess.run(command, cwd=home, capture_output=True, text=True)
        verdicts = list(Path(home).glob("runs/*/verdict.json"))
        if done.returncode > 3 or not verdicts:
            raise SystemExit(f"dyno {' '.join(words)} exited {done.returncode}:\n{done.stderr}")
        said = json.loads(verdicts[0].read_text())
        return [decode(Finding, each) for each in said["findings"]]


def runs(engines: list[str], workloads: list[str], *, quick: bool) -> Iterator[Run]:
    """The runs of `engines` under `workloads`; with `quick` one of each engine."""
    for engine in engines:
        seeds = range(1, ENGINES[engine][1] + 1)
        each = [Run(engine, workload, seed) for seed in seeds for workload in workloads]
        yield from each[:1] if quick else each


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run clean-runs")
    parser.add_argument("--quick", action="store_true", help="one run of each engine")
    parser.add_argument("--engine", choices=ENGINES, action="append", help="only this; repeatable")
    parser.add_argument("--workload", choices=WORKLOADS, action="append", help="likewise")
    return parser.parse_args()


def main() -> int:
    words = arguments()
    rows: list[tuple[object, ...]] = [("run", "sound", "not checked", "doubtful", "invalid")]
    counts = dict.fromkeys(("sound", "not checked", "doubtful", "invalid"), 0)
    engines, workloads = words.engine or list(ENGINES), words.workload or list(WORKLOADS)
    played = list(runs(engines, workloads, quick=words.quick))
    for run in played:
        name = f"{run.engine} {run.workload} {run.seed}"
        with tempfile.TemporaryDirectory() as home:
            found = run.findings(home)
        own = {word: sum(each.soundness == word for each in found) for word in counts}
        counts = {word: counts[word] + own[word] for word in counts}
        rows.append((name, *own.values()))
        for finding in found:
            if finding.soundness in ("doubtful", "invalid"):
                print(
                    f"{name}: {finding.audit} {finding.soundness}: {finding.sentence}", flush=True
                )
    report(rows, {"bench": "clean-runs", "runs": len(played), **counts})
    return 1 if counts["invalid"] else 0


if __name__ == "__main__":
    sys.exit(main())
