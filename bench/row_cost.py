"""The insert benchmark's client-side CPU per row: the driver on null beside a Python client.

Both build the same rows and statements and hand them to an engine that does nothing, so both
figures are lower bounds. Target: one tenth of the Python client's.
"""

from __future__ import annotations

import subprocess
import sys

from paired import BENCH, Cost, alternate, quick, report_pairs
from played import NULL, plan, play

BATCH = 100
#: Nothing after l.i0 that takes time: few writes, no queries.
REST = {"write_rows": 100, "query_rates": "", "load_batch": BATCH}


def ours(rows: int) -> Cost:
    return play(plan(NULL, "insert", ["prepare", "run"], load_rows=rows, **REST)).cost("l.i0")


def peer(rows: int) -> Cost:
    command = [sys.executable, str(BENCH / "insert_client.py"), str(rows), str(BATCH)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    wall_ns, user_ns, kernel_ns = map(float, done.stdout.split())
    return Cost(wall_ns, user_ns + kernel_ns)


def main() -> None:
    rows, rounds = (20_000, 1) if quick("row-cost") else (1_000_000, 5)
    pairs = alternate(lambda: ours(rows), lambda: peer(rows), rounds)
    report_pairs("row-cost", "Python", pairs)


if __name__ == "__main__":
    main()
