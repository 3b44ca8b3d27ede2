"""TPC-C's client: the CPU of the driver per transaction, beside sysbench with the same script.

Both play our `tpcc.lua` on the same two warehouses, from core 1, in turn: the driver with prepared
statements, which is its default, the same in batches (`batched`), and with text, as sysbench;
sysbench 1.0.20 with text alone, since it hands out no rows of prepared statements. CPU is per
transaction; what sysbench needs to start is taken off. 10 rounds of 4 s, about four minutes a
server.
"""

from __future__ import annotations

import os
from argparse import Namespace

from clients import Driver, Load
from paired import BENCH
from played import plan, play
from ratios import Limit, Limits, Row, compare, conclude, print_rows
from serving import command, serving, timed
from spent import Side, in_turn
from sysbench import Sysbench

from dyno.driver.plan import Session
from dyno.workloads import find_workload

SERVERS = ("postgres@18", "mysql@8.0.33")
OPTIONS: dict[str, object] = {"warehouses": 2}
UNDER_SYSBENCH = str(BENCH / "tpcc_under_sysbench.lua")
AS_TEXT: dict[str, object] = OPTIONS | {"db_ps_mode": "disable"}
BATCHED: dict[str, object] = OPTIONS | {"batched": "on"}
LIMITS: Limits = {"sysbench": {"cpu_us": Limit(most=0.5)}}


def sides(session: Session, connections: int, time_s: int) -> dict[str, Side]:
    """Ours in its three forms, and sysbench."""
    return {
        "in batches": Driver(session, Load("tpcc", connections, time_s, BATCHED)),
        "one by one": Driver(session, Load("tpcc", connections, time_s, OPTIONS)),
        "ours as text": Driver(session, Load("tpcc", connections, time_s, AS_TEXT)),
        "sysbench": Sysbench(session, Load(UNDER_SYSBENCH, connections, time_s, AS_TEXT)),
    }


def measured(at: str, words: Namespace) -> list[Row]:
    """One server."""
    time_s, rounds = (1, 3) if words.quick else (4, 10)
    with serving(at) as server:
        play(plan(server.session, "tpcc", ["prepare"], **OPTIONS))
        clients = sides(server.session, words.connections, words.seconds or time_s)
        taken = in_turn(clients, words.rounds or rounds)
    batched = taken.pop("in batches")
    by_one = taken.pop("one by one")
    rows = compare(f"{at}, one by one", {"ours": by_one, **taken}, LIMITS)
    rows += compare(f"{at}, in batches", {"ours": batched, "one by one": by_one, **taken}, LIMITS)
    print_rows(rows)
    return rows


def main() -> None:
    parser = timed(command("tpcc-client", SERVERS))
    parser.add_argument("--connections", type=int, default=4)
    words = parser.parse_args()
    os.environ["LUA_PATH"] = f"{find_workload('tpcc').parent}/?.lua;;"
    conclude("tpcc-client", [row for at in words.server for row in measured(at, words)])


if __name__ == "__main__":
    main()
