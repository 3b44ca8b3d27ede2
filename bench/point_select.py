"""SQLite point selects in WAL mode: the driver beside a bare C loop over the same statement.

Both read the same database through the same library and settings, with uniform ids. Target: 1.25
times the loop's time a select. CPU stands beside wall time, since it suffers less from a busy
machine.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from paired import BENCH, SEED, Cost, alternate, plan, play, quick, report_pairs, session

from dyno.plan import Session

TABLE_SIZE = 10_000


@dataclass(frozen=True)
class Bench:
    """The session, where the compiled loop is, and how long a round lasts."""

    session: Session
    program: Path
    time_s: float

    def prepare(self) -> None:
        """Loads the table and compiles the loop."""
        play(plan(self.session, "oltp_point_select", ["prepare"], table_size=TABLE_SIZE))
        source = BENCH / "point_select.c"
        subprocess.run(["gcc", "-O2", "-o", self.program, source, "-ldl"], check=True)

    def ours(self) -> Cost:
        """The driver's times per select."""
        options = {"table_size": TABLE_SIZE, "time": self.time_s, "warmup_time": 0}
        played = play(plan(self.session, "oltp_point_select", ["run"], **options))
        return played.cost("run")

    def peer(self) -> Cost:
        """The loop's."""
        where = [self.session["library"], self.session["database"]]
        pragmas = ";".join(f"PRAGMA {name}={value}" for name, value in self.session["pragmas"])
        words = [*where, pragmas, str(TABLE_SIZE), str(self.time_s), str(SEED)]
        done = subprocess.run([self.program, *words], check=True, capture_output=True, text=True)
        selects, wall_ns, cpu_ns, _ = map(int, done.stdout.split())
        return Cost(wall_ns / selects, cpu_ns / selects)


def main() -> None:
    time_s, rounds = (0.2, 1) if quick("point-select") else (3.0, 7)
    with tempfile.TemporaryDirectory() as home:
        at = session("sqlite", "system", Path(home))
        bench = Bench(at, Path(home) / "point_select", time_s)
        bench.prepare()
        pairs = alternate(bench.ours, bench.peer, rounds)
    report_pairs("point-select", "C loop", pairs)


if __name__ == "__main__":
    main()
