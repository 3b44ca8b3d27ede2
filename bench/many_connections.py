"""1,024 connections of one thread: what each weighs in the driver, and whether all get their turn.

Point selects for 60 s. Memory is what the driver's process holds at the end with 1,024 connections
less what it holds with one, by the connections added. A connection counts its own selects in a
variable of its script; the slowest one's are held against the mean of all. About 80 s a server.
"""

from __future__ import annotations

import resource
from argparse import Namespace
from dataclasses import replace

from paired import report
from played import Played, plan, play
from serving import CLIENT_CORE, command, pinned, serving

from dyno.driver.plan import Session

SERVERS = ("postgres@18", "mysql@8.0.33")
CONNECTIONS = 1024
TABLE: dict[str, object] = {"table_size": 100_000, "rand_type": "uniform"}
BYTES_MOST, FAIRNESS_LEAST = 350 * 1024, 0.8
#: What a server needs beside its defaults; MySQL's profile takes 2,000.
SETTINGS = {"postgres": {"max_connections": str(CONNECTIONS + 100)}}


def played(session: Session, connections: int, time_s: float) -> Played:
    """So many connections play for so long."""
    options = {"threads": connections, "time": time_s, "warmup_time": 0, **TABLE}
    what = replace(plan(session, "fair_select", ["run"], **options), cpus=(CLIENT_CORE,))
    return play(what, pinned(CLIENT_CORE))


def resident(run: Played) -> int:
    return run.phases["run"].usage.resident_bytes


def fairness(run: Played) -> float:
    """The slowest connection's selects by the mean."""
    counts = [count for name, count in run.counters.items() if name.startswith("connection ")]
    return min(counts) / (sum(counts) / CONNECTIONS) if len(counts) == CONNECTIONS else 0.0


def case(at: str, words: Namespace) -> dict[str, float]:
    """One server's figures."""
    with serving(at, **SETTINGS.get(at.partition("@")[0], {})) as server:
        session = server.session
        play(plan(session, "oltp_point_select", ["cleanup", "prepare"], **TABLE))
        one = played(session, 1, 2.0)
        many = played(session, CONNECTIONS, 5.0 if words.quick else 60.0)
    record = many.phases["run"]
    return {
        "connection_bytes": round((resident(many) - resident(one)) / (CONNECTIONS - 1)),
        "fairness": round(fairness(many), 4),
        "rate_per_s": round(record.streams[0].done / record.duration_s),
        "latency_ms_max": round(record.streams[0].latency.max_ns / 1e6, 1),
    }


def main() -> None:
    words = command("many-connections", SERVERS).parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    rows: list[tuple[object, ...]] = [("server", "what", "value", "limit", "")]
    figures: dict[str, float | str] = {"bench": "many-connections"}
    for at in words.server:
        found = case(at, words)
        limits = {
            "connection_bytes": (f"≤ {BYTES_MOST}", found["connection_bytes"] <= BYTES_MOST),
            "fairness": (f"≥ {FAIRNESS_LEAST}", found["fairness"] >= FAIRNESS_LEAST),
        }
        for name, value in found.items():
            limit, kept = limits.get(name, ("", None))
            rows.append((at, name, value, limit, {None: "", True: "ok", False: "short"}[kept]))
            figures[f"{at} {name}"] = value
    report(rows, figures)


if __name__ == "__main__":
    main()
