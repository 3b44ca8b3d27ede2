"""One SQLite build under two names, over and over: how often is it called slower than itself?

The error rate that the method promises is at most 5 % in all; the target here is at most 2 of 20
runs of each workload. The sizes are small, so that 40 runs end within the hour.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from paired import quick, report
from scipy.stats import beta

RUNS = 20
SLOWER_MAX = 2
#: Blocks at the last analysis, of two.
BLOCKS = 10
BUILD = "sqlite@3.45.0"
#: Workloads with the options that keep a trial near a second.
WORKLOADS = {
    "oltp_point_select": ["time=1", "warmup_time=0.2"],
    "insert": ["query_rates=100", "queries=range", "write_rows=5000"],
}
#: A rank for the worst of a run's primaries, as the exit code has it.
WORST = ("invalid", "slower", "inconclusive", "faster", "not slower")


def verdict(workload: str, seed: int, home: str) -> str:
    """The overall verdict of one A/A comparison."""
    rows = Path(home) / "rows.json"
    sets = [word for option in WORKLOADS[workload] for word in ("--set", option)]
    words = ["compare", "--aa", f"a={BUILD}", f"b={BUILD}", "--workload", workload, *sets]
    words += ["--blocks", str(BLOCKS), "--seed", str(seed), "--json", str(rows)]
    dyno = Path(sys.executable).with_name("dyno")
    done = subprocess.run([dyno, *words], cwd=home, capture_output=True, text=True)
    if done.returncode > 3:
        raise SystemExit(f"dyno {' '.join(words)} exited {done.returncode}:\n{done.stderr}")
    found = {row["verdict"] for row in json.loads(rows.read_text()) if row["primary"]}
    return next(name for name in WORST if name in found)


def upper_percent(slower: int, runs: int) -> float:
    """The upper 95 % Clopper-Pearson bound of the error rate, in percent."""
    return 100.0 if slower == runs else 100 * float(beta.ppf(0.95, slower + 1, runs - slower))


def main() -> None:
    runs = 1 if quick("same-build") else RUNS
    rows: list[tuple[object, ...]] = [("workload", "runs", "slower", "at most", "verdicts")]
    figures: dict[str, float | str] = {"bench": "same-build", "runs": runs}
    for workload in WORKLOADS:
        with tempfile.TemporaryDirectory() as home:
            counts = Counter(verdict(workload, seed, home) for seed in range(1, runs + 1))
        bound = upper_percent(counts["slower"], runs)
        said = ", ".join(f"{count} {name}" for name, count in counts.most_common())
        rows.append((workload, runs, counts["slower"], f"{bound:.0f} %", said))
        figures[f"{workload}_slower"] = counts["slower"]
        figures[f"{workload}_ratio"] = counts["slower"] / (SLOWER_MAX * runs / RUNS)
    report(rows, figures)


if __name__ == "__main__":
    main()
