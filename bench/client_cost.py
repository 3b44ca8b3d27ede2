"""What a query costs the client: the driver beside sysbench, pgbench and bare sockets in C.

`--workload lines` plays the command lines that people swap for ours, word for word, on PostgreSQL:
`pgbench` beside `dyno pgbench`, `sysbench` beside `dyno sysbench`.

For each server, workload and number of connections all clients play in turn for 2 s, 10 times, on
core 1, with the server on core 0. sysbench has a thread for each connection, as it must; the others
have one thread. What a tool uses to start and connect is measured apart and taken off. The bare
client knows the point select only, and no password, as a server of MySQL's has one; pgbench's texts
in the updates are shorter than the others'.

All of it takes about 35 minutes; `--server postgres@18 --connections 4` about 3.
"""

from __future__ import annotations

import tempfile
from argparse import Namespace
from pathlib import Path

from clients import Bare, Driver, Load, compiled
from paired import BENCH
from pgbench import Pgbench
from played import plan, play
from ratios import Limit, Limits, Row, compare, conclude, print_rows
from serving import budget, command, serving, timed
from spent import Side, in_turn
from swapped_lines import both_sides, fill, lines
from sysbench import Sysbench

from dyno.engines import Server

SERVERS = ("postgres@18", "mysql@5.6.14", "mysql@8.0.33")
CONNECTIONS = (1, 4, 16, 64)
#: sysbench's name of each, and the statements in one of its events.
WORKLOADS = {"point-select": ("oltp_point_select", 1), "read-write": ("oltp_read_write", 20)}
#: The command lines that people swap for ours.
LINES = "lines"
LINE_LIMITS = {"cpu_us": Limit(most=1.0), "rate_per_s": Limit(least=0.98)}
TABLE: dict[str, object] = {"table_size": 100_000, "rand_type": "uniform"}
#: Above so many connections the limits are tighter: io_uring serves several by one system call.
FEW = 4


def limits(connections: int) -> Limits:
    """What issue 3 asks for."""
    sysbench, pgbench = (0.95, 1.0) if connections <= FEW else (0.85, 0.95)
    both = {"user_us": Limit(most=0.5), "rate_per_s": Limit(least=1.0)}
    return {
        "sysbench": {"cpu_us": Limit(most=sysbench), **both},
        "pgbench": {"cpu_us": Limit(most=pgbench), **both},
        "bare": {"cpu_us": Limit(most=1.15)},
    }


def sides(server: Server, load: Load, program: Path) -> dict[str, Side]:
    """All clients that can play the load."""
    session = server.session
    found: dict[str, Side] = {
        "ours": Driver(session, load),
        "sysbench": Sysbench(session, load),
    }
    if session["kind"] == "postgres":
        script = load.workload.removeprefix("oltp_") + ".pgbench"
        found["pgbench"] = Pgbench(session, load, BENCH / script)
    if load.workload == "oltp_point_select" and not session.get("password"):
        found["bare"] = Bare(session, load, program)
    return found


def cases(at: str, server: Server, words: Namespace, program: Path) -> list[Row]:
    """Every workload and number of connections on one server; prints each when it is measured."""
    time_s, rounds = budget(words)
    play(plan(server.session, "oltp_point_select", ["cleanup", "prepare"], **TABLE))
    rows = []
    if LINES in words.workload and server.session["kind"] == "postgres":
        rows += line_cases(at, server, words)
    for name in filter(WORKLOADS.get, words.workload):
        workload, statements = WORKLOADS[name]
        for connections in words.connections:
            load = Load(workload, connections, time_s, TABLE, statements)
            taken = in_turn(sides(server, load, program), rounds)
            found = compare(f"{at} {name} {connections}", taken, limits(connections))
            print_rows(found)
            rows += found
    return rows


def line_cases(at: str, server: Server, words: Namespace) -> list[Row]:
    """Every command line that people swap, on one server; prints each when it is measured."""
    time_s, rounds = budget(words)
    fill(server.session)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, line in lines(Path(folder)).items():
            taken = in_turn(both_sides(line, server.session, time_s), rounds)
            found = compare(f"{at} {name}", taken, {line[0]: LINE_LIMITS})
            print_rows(found)
            rows += found
    return rows


def arguments() -> Namespace:
    parser = timed(command("client-cost", SERVERS))
    parser.add_argument("--connections", nargs="+", type=int, default=CONNECTIONS)
    choices = [*WORKLOADS, LINES]
    parser.add_argument("--workload", nargs="+", choices=choices, default=choices)
    return parser.parse_args()


def main() -> None:
    words, rows = arguments(), []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        for at in words.server:
            with serving(at) as server:
                rows += cases(at, server, words, program)
    conclude("client-cost", rows)


if __name__ == "__main__":
    main()
