"""What the kit's part `history` costs the server that collects (the experiment history-overhead).

One server with performance_schema on is under one unbroken load of point selects and of sysbench's
read-write mix; its event collects each second, thirty times as often as it does by default, and is
disabled and enabled in slices (ABBA, as in watch-cost). How long a collection takes under that
load, and its rows, are the server's own figures.

Server with its collector on core 0, driver on core 1.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from played import plan, play
from serving import command, say, serving
from watch_cost import WORKLOADS, change, slices

from dyno import driver
from dyno.engines import Server
from dyno.servers.kit import server as kit_server
from dyno.servers.kit import verbs
from dyno.servers.kit.library import find_parts

SERVERS = ("mysql@5.6.14", "mysql@8.0.33", "mariadb@debian")
#: What is set so that a cost can be seen, and what is so by default, in s.
INTERVAL_S, DEFAULT_S = 1, 30
EVENT = "ps_history.snapshot_performance_schema"
FIGURES = (
    "SELECT AVG(duration_ms), MAX(duration_ms), AVG(row_count), COUNT(*) FROM"
    " ps_history.psh_collections WHERE previous_ts IS NOT NULL"
)


def collects(server: Server, *, awake: bool) -> None:
    """Enables the event, or disables it."""
    driver.ask(server.session, [f"ALTER EVENT {EVENT} {'ENABLE' if awake else 'DISABLE'}"])


def measure(spec: str, server: Server, groups: int) -> None:
    """Prints a line for each workload."""
    play(plan(server.session, "oltp_point_select", ["cleanup", "prepare"], table_size=100_000))
    ((version,),) = driver.ask(server.session, ["SELECT VERSION()"])[0]
    kit = kit_server.KitServer(driver.ask, server.session, str(version), Path("/"), near=True)
    verbs.install(kit, find_parts(("history",)), say)
    for workload in WORKLOADS:
        emptied = ("TRUNCATE TABLE ps_history.psh_collections", "CALL ps_history.truncate_tables()")
        kit.query(f"CALL ps_history.set_collect_interval({INTERVAL_S})", *emptied)
        collects(server, awake=True)
        logs = slices(server, workload, partial(collects, server), groups)
        told = [float(it or 0) for it in kit.query(FIGURES)[0]]
        print(
            f"{spec} {workload}: throughput {change(logs)} with a collection each {INTERVAL_S} s,"
            f" {groups} ABBAs; one of {told[2]:.0f} rows takes {told[0]:.0f} ms ({told[1]:.0f} at"
            f" most, {told[3]:.0f} collections), of the {DEFAULT_S} s between two by default"
            f" {told[0] / DEFAULT_S / 10:.2f} %",
            flush=True,
        )


def main() -> None:
    parser = command("history-cost", SERVERS)
    parser.add_argument("--groups", type=int, default=8, help="ABBAs of 12 s for each workload")
    words = parser.parse_args()
    for spec in words.server:
        with serving(spec, performance_schema="ON", event_scheduler="ON") as server:
            measure(spec, server, 1 if words.quick else words.groups)


if __name__ == "__main__":
    main()
