"""The insert benchmark's client-side CPU per row: the driver on null beside a Python client.

Both build the same rows and statements and hand them to an engine that does nothing, so both
figures are floors. Target: one tenth of the Python client's.
"""

from __future__ import annotations

import subprocess
import sys

from paired import BENCH, NULL, alternate, plan, play, quick, report, summary

BATCH = 100
#: Nothing after l.i0 that takes time: few writes, no queries.
REST = {"write_rows": 100, "query_rates": "", "load_batch": BATCH}


def ours_ns(rows: int) -> float:
    return play(plan(NULL, "insert", ["prepare", "run"], load_rows=rows, **REST)).cost_ns("l.i0")


def peer_ns(rows: int) -> float:
    command = [sys.executable, BENCH / "insert_client.py", str(rows), str(BATCH)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    rows, rounds = (20_000, 1) if quick("client-cost") else (1_000_000, 5)
    pairs = alternate(lambda: ours_ns(rows), lambda: peer_ns(rows), rounds)
    table = [("round", "driver ns/row", "Python ns/row", "ratio")]
    table += [
        (str(number), f"{pair.ours:.0f}", f"{pair.peer:.0f}", f"{pair.ratio:.4f}")
        for number, pair in enumerate(pairs, 1)
    ]
    report(table, {"bench": "client-cost", **summary(pairs)})


if __name__ == "__main__":
    main()
