"""SQLite point selects in WAL mode: the driver beside a bare C loop over the same statement.

Both read the same database through the same library and settings, on the same core, with uniform
ids. Target: 1.25 times the loop's time a select. A core may change its speed from second to second
(a neighbour of the virtual machine), so the rounds are short and many. CPU stands beside wall time,
since it suffers less from a busy machine.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from paired import BENCH, Cost, alternate, quick, report_pairs
from played import SEED, plan, play, session

from dyno.driver.plan import Session

TABLE_SIZE = 10_000


@dataclass(frozen=True)
class Bench:
    """The session, where the compiled loop is, how long a round lasts, and on which core."""

    session: Session
    program: Path
    time_s: float
    core: int

    def prepare(self) -> None:
        """Loads the table and compiles the loop."""
        play(plan(self.session, "oltp_point_select", ["prepare"], table_size=TABLE_SIZE))
        source = BENCH / "point_select.c"
        subprocess.run(["gcc", "-O2", "-o", self.program, source, "-ldl"], check=True)

    def ours(self) -> Cost:
        """The driver's times per select."""
        options = {"table_size": TABLE_SIZE, "time": self.time_s, "warmup_time": 0}
        what = plan(self.session, "oltp_point_select", ["run"], **options)
        return play(replace(what, cpus=(self.core,))).cost("run")

    def peer(self) -> Cost:
        """The loop's."""
        where = [self.session["library"], self.session["database"]]
        pragmas = ";".join(f"PRAGMA {name}={value}" for name, value in self.session["pragmas"])
        words = [*where, pragmas, str(TABLE_SIZE), str(self.time_s), str(SEED)]
        pinned = ["taskset", "-c", str(self.core), self.program]
        done = subprocess.run([*pinned, *words], check=True, capture_output=True, text=True)
        selects, wall_ns, cpu_ns, _ = map(int, done.stdout.split())
        return Cost(wall_ns / selects, cpu_ns / selects)


def main() -> None:
    time_s, rounds = (0.2, 1) if quick("point-select") else (1.0, 25)
    with tempfile.TemporaryDirectory() as home:
        at = session("sqlite", "system", Path(home))
        bench = Bench(at, Path(home) / "point_select", time_s, max(os.sched_getaffinity(0)))
        bench.prepare()
        pairs = alternate(bench.ours, bench.peer, rounds)
    report_pairs("point-select", "C loop", pairs)


if __name__ == "__main__":
    main()
