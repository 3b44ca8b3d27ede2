"""The insert benchmark's l.i0 on PostgreSQL: the driver's CPU per row beside a Python client's.

Both insert 100 rows a statement, each committed by itself, into tables without secondary indexes:
the Python client (`insert_client.py`, psycopg 3) over one connection, the driver over
`--connections` (2: while one statement is made, the server works on another). How busy the server
was under each is the CPU of all its processes over the wall time, on its one core. `--client FILE`
times a copy of your own of the insert benchmark's client, too, without its start-up: iibench.py of
github.com/mdcallag/mytools, which needs psycopg2. 10 rounds, about 3 minutes. It needs
`pip install -e '.[bench]'`.
"""

from __future__ import annotations

import statistics
import sys
from argparse import Namespace
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from clients import driven, spent
from paired import BENCH, table
from pgbench import postgres_socket
from played import plan, play
from ratios import Limit, Limits, Row, compare, conclude, print_rows
from serving import CLIENT_CORE, command, pinned, serving
from spent import Spent, Usage, in_turn, run

from dyno.engines import Server
from dyno.host.processes import list_process_family, sum_cpu_ns

BATCH = 100
LIMITS: Limits = {peer: {"cpu_us": Limit(most=0.1)} for peer in ("python", "iibench")}
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
    client: Path | None = None
    busy: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def server_ns(self) -> float:
        """CPU of the server's processes."""
        return float(sum_cpu_ns(list_process_family(self.server.pid)))

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

    def iibench(self) -> Spent:
        """The user's copy of the benchmark's own client; its start-up is taken off.

        It ends when its next report is due, not with its last row, so its rate is not to be had.
        """
        start, whole = self._iibench(BATCH), self._iibench(self.python_rows + BATCH)
        used = Usage(whole.user_ns - start.user_ns, whole.kernel_ns - start.kernel_ns)
        return Spent(self.python_rows, whole.wall_ns, used)

    def _iibench(self, rows: int) -> Usage:
        at = self.server.session
        folder, port = postgres_socket(at)
        words = {"dbms": "postgres", "db_host": folder, "db_name": at["database"]}
        words |= {"db_user": at["user"], "db_password": "none", "table_name": "pi1"}
        words |= {"max_rows": rows, "rows_per_commit": BATCH, "num_secondary_indexes": 0}
        words |= {"data_length_min": 10, "data_length_max": 20}
        options = [f"--{name}={value}" for name, value in words.items()]
        python = [f"PGPORT={port}", sys.executable, self.client, "--setup", *options]
        used = run([*pinned(CLIENT_CORE), "env", *python])[1]
        play(plan(at, "insert", ["cleanup"]))
        return used


def measured(at: str, words: Namespace) -> tuple[list[Row], dict[str, float]]:
    """One server: the costs, and how busy it was under each client."""
    factor, rounds = (1, 3) if words.quick else (10, 10)
    with serving(at) as server:
        rows_each = (50_000 * factor, 20_000 * factor)
        inserts = Inserts(server, words.connections, *rows_each, words.client)
        sides = {"ours": inserts.ours, "python": inserts.python}
        if words.client:
            sides["iibench"] = inserts.iibench
        rows = compare(at, in_turn(sides, rounds), LIMITS)
    rows = [row for row in rows if (row.peer, row.what) != ("iibench", "rate_per_s")]
    busy = {name: statistics.median(shares) for name, shares in inserts.busy.items()}
    print_rows(rows)
    said = "ok" if busy["ours"] >= BUSY_LEAST else "short"
    head = ("server busy under", "share", "limit", "")
    ours = ("ours", f"{busy['ours']:.2f}", f"≥ {BUSY_LEAST}", said)
    others = [(name, f"{share:.2f}", "", "") for name, share in busy.items() if name != "ours"]
    table([head, ours, *others])
    return rows, busy


def main() -> None:
    parser = command("insert-rate", ("postgres@18",))
    parser.add_argument("--connections", type=int, default=2)
    parser.add_argument("--client", type=Path, help="your own copy of iibench.py")
    words = parser.parse_args()
    if words.quick and words.client:
        parser.error(
            "--quick is too short for --client: its start-up, taken off, would be the figure"
        )
    for at in words.server:
        rows, busy = measured(at, words)
        conclude("insert-rate", rows, server_busy=round(busy["ours"], 3))


if __name__ == "__main__":
    main()
