"""64 point selects to a batch, on PostgreSQL: beside one at a time, and beside pgbench's pipeline.

Ours sends a batch with one Sync; pgbench plays the same by `\\startpipeline`. Per select; 10 rounds
of 2 s. About 2 minutes for each number of connections.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from clients import Driver, Load
from pgbench import Pgbench
from played import plan, play
from ratios import Limit, Limits, Row, compare, conclude, print_rows
from serving import budget, command, serving, timed
from spent import Side, in_turn

from dyno.driver.plan import Session

BATCH = 64
TABLE: dict[str, object] = {"table_size": 100_000, "rand_type": "uniform"}
LIMITS: Limits = {
    "unpipelined": {"rate_per_s": Limit(least=2.5)},
    "pgbench": {"cpu_us": Limit(most=0.7)},
}


def script() -> str:
    """pgbench's batch: every select has an id of its own."""
    ids = [f"\\set id{n} random(1, :table_size)" for n in range(BATCH)]
    selects = [f"SELECT c FROM sbtest1 WHERE id = :id{n};" for n in range(BATCH)]
    return "\n".join([*ids, "\\startpipeline", *selects, "\\endpipeline", ""])


def case(session: Session, connections: int, file: Path, budget: tuple[int, int]) -> list[Row]:
    """One number of connections; `budget` is seconds and rounds."""
    time_s, rounds = budget
    batched = Load("pipelined_select", connections, time_s, TABLE, BATCH)
    sides: dict[str, Side] = {
        "ours": Driver(session, batched),
        "unpipelined": Driver(session, Load("oltp_point_select", connections, time_s, TABLE)),
        "pgbench": Pgbench(session, batched, file),
    }
    rows = compare(f"pipeline {connections}", in_turn(sides, rounds), LIMITS)
    print_rows(rows)
    return rows


def main() -> None:
    parser = timed(command("pipeline", ("postgres@18",)))
    parser.add_argument("--connections", nargs="+", type=int, default=(1, 4, 16))
    words, rows = parser.parse_args(), []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pipeline.pgbench"
        file.write_text(script())
        for at in words.server:
            with serving(at) as server:
                play(plan(server.session, "oltp_point_select", ["cleanup", "prepare"], **TABLE))
                for connections in words.connections:
                    rows += case(server.session, connections, file, budget(words))
    conclude("pipeline", rows)


if __name__ == "__main__":
    main()
