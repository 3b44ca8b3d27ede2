"""The insert benchmark's l.i0 on PostgreSQL: the driver's CPU per row beside a Python client's.

Both insert 100 rows a statement, each committed by itself, into tables without secondary indexes:
the Python client (`insert_client.py`, psycopg 3) over one connection, the driver over
`--connections` (2: while one statement is made, the server works on another). How busy the server
was under each is the CPU of all its processes over the wall time, on its one core. 10 rounds, about
3 minutes. It needs `pip install -e '.[bench]'`.
"""

from __future__ import annotations

import statistics
import sys
from argparse import Namespace
from dataclasses import dataclass, field

from clients import driven, spent
from paired import BENCH, table
from pgbench import postgres_socket
from played import plan, play
from ratios import Limit, Limits, Row, compare, conclude, print_rows
from serving import CLIENT_CORE, command, pinned, serving
from spent import Spent, Usage, in_turn, run

from dyno.engines import Server
from dyno.probes._proc import cpu_ns_of, family

BATCH = 100
LIMITS: Limits = {"python": {"cpu_us": Limit(most=0.1)}}
BUSY_LEAST = 0.9
#: Nothing after l.i0 that takes time: few writes, no queries.
REST = {"write_rows": 100, "query_rates": "", "load_batch": BATCH}


@dataclass
class Inserts:
    """A server, rows for a round of each client, and how busy the server was in each."""

    server: Server
    connections: int
    our_rows: int
    python_rows: int
    busy: dict[str, list[float]] = field(default_factory=lambda: {"ours": [], "python": []})

    def server_ns(self) -> float:
        """CPU of the server's processes."""
        return float(cpu_ns_of(family(self.server.pid)))

    def ours(self) -> Spent:
        """The driver's l.i0."""
        at, clients = self.server.session, {"clients": self.connections}
        options = {"load_rows": self.our_rows, **clients, **REST}
        played = driven(
            plan(at, "insert", ["prepare", "run", "cleanup"], **options), self.server_ns
        )
        found = spent(played, "l.i0", self.our_rows)
        self.busy["ours"].append(played.watched["l.i0"] / found.wall_ns)
        return found

    def python(self) -> Spent:
        """The Python client's; its own start-up is not in its figures."""
        at = self.server.session
        folder, port = postgres_socket(at)
        where = f"host={folder} port={port} user={at['user']} dbname={at['database']}"
        play(plan(at, "insert", ["prepare"]))
        before_ns = self.server_ns()
        words = [sys.executable, BENCH / "insert_client.py", self.python_rows, BATCH, where]
        said, _ = run([*pinned(CLIENT_CORE), *words])
        wall_ns, user_ns, kernel_ns = (float(word) * self.python_rows for word in said.split())
        self.busy["python"].append((self.server_ns() - before_ns) / wall_ns)
        play(plan(at, "insert", ["cleanup"]))
        return Spent(self.python_rows, wall_ns, Usage(user_ns, kernel_ns))


def measured(at: str, words: Namespace) -> tuple[list[Row], dict[str, float]]:
    """One server: the costs, and how busy it was under each client."""
    factor, rounds = (1, 3) if words.quick else (10, 10)
    with serving(at) as server:
        inserts = Inserts(server, words.connections, 50_000 * factor, 20_000 * factor)
        sides = {"ours": inserts.ours, "python": inserts.python}
        rows = compare(at, in_turn(sides, rounds), LIMITS)
    busy = {name: statistics.median(shares) for name, shares in inserts.busy.items()}
    print_rows(rows)
    said = "ok" if busy["ours"] >= BUSY_LEAST else "short"
    head = ("server busy under", "share", "limit", "")
    ours = ("ours", f"{busy['ours']:.2f}", f"≥ {BUSY_LEAST}", said)
    table([head, ours, ("python", f"{busy['python']:.2f}", "", "")])
    return rows, busy


def main() -> None:
    parser = command("insert-rate", ("postgres@18",))
    parser.add_argument("--connections", type=int, default=2)
    words = parser.parse_args()
    for at in words.server:
        rows, busy = measured(at, words)
        conclude("insert-rate", rows, server_busy=round(busy["ours"], 3))


if __name__ == "__main__":
    main()
