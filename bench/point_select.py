"""SQLite point selects in WAL mode: the driver beside a bare C loop over the same statement.

Both read the same database through the same library, with uniform ids. Target: 1.25 times the
loop's time a select.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from paired import BENCH, SEED, alternate, plan, play, quick, report, sqlite_library, summary

from dyno.plan import Session

TABLE_SIZE = 10_000


@dataclass(frozen=True)
class Bench:
    """Where the database and the compiled loop are, and how long a round lasts."""

    home: Path
    library: Path
    time_s: float

    @property
    def session(self) -> Session:
        database = str(self.home / "bench.db")
        pragmas = [("journal_mode", "wal")]
        return {
            "kind": "sqlite",
            "library": str(self.library),
            "database": database,
            "pragmas": pragmas,
        }

    def prepare(self) -> None:
        """Loads the table and compiles the loop."""
        play(plan(self.session, "oltp_point_select", ["prepare"], table_size=TABLE_SIZE))
        source, program = BENCH / "point_select.c", self.home / "point_select"
        subprocess.run(["gcc", "-O2", "-o", program, source, "-ldl"], check=True)

    def ours_ns(self) -> float:
        options = {"table_size": TABLE_SIZE, "time": self.time_s, "warmup_time": 0}
        played = play(plan(self.session, "oltp_point_select", ["run"], **options))
        return played.time_ns("run")

    def peer_ns(self) -> float:
        """The loop's wall time per select."""
        command = [self.home / "point_select", self.library, self.home / "bench.db"]
        words = [str(TABLE_SIZE), str(self.time_s), str(SEED)]
        done = subprocess.run([*command, *words], check=True, capture_output=True, text=True)
        selects, wall_ns, *_ = map(int, done.stdout.split())
        return wall_ns / selects


def main() -> None:
    time_s, rounds = (0.2, 1) if quick("point-select") else (3.0, 7)
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(Path(home), sqlite_library(), time_s)
        bench.prepare()
        pairs = alternate(bench.ours_ns, bench.peer_ns, rounds)
    rows = [("round", "driver ns", "C loop ns", "ratio")]
    rows += [
        (str(number), f"{pair.ours:.0f}", f"{pair.peer:.0f}", f"{pair.ratio:.3f}")
        for number, pair in enumerate(pairs, 1)
    ]
    report(rows, {"bench": "point-select", **summary(pairs)})


if __name__ == "__main__":
    main()
