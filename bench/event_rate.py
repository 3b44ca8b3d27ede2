"""How many events a second the driver can play on null, and what an event and a user weigh.

Targets: 3M events/s of one query each in one thread, of which 60 ns an event for tallying (a look
at the clock included); memory flat over time; 300 KB a connection. CPU per event stands beside
wall time, since it suffers less from a busy machine.
"""

from __future__ import annotations

import statistics
import subprocess

from paired import BENCH, quick, report
from played import NULL, Played, plan, play

CONNECTIONS = 1000
EARLY = 0.25
LIMIT_EVENT_NS, LIMIT_TALLY_NS, LIMIT_CONNECTION_BYTES = 1e9 / 3e6, 60.0, 300 * 1024


def played(script: str, time_s: float, threads: int = 1) -> Played:
    return play(plan(NULL, script, ["run"], time=time_s, threads=threads))


def growth_bytes(run: Played) -> int:
    """Resident bytes added between an early moment and the last."""
    seen = run.resident
    return seen[-1][1] - seen[int(len(seen) * EARLY)][1] if seen else 0


def connection_bytes(time_s: float) -> float:
    """Resident bytes that each further connection adds."""
    few, many = (
        played("one_query", time_s, threads).phases["run"].usage.resident_bytes
        for threads in (1, CONNECTIONS)
    )
    return (many - few) / (CONNECTIONS - 1)


def tally_ns() -> float:
    """What counting an event costs in the driver's own tally, with one look at the clock."""
    command = ["cargo", "run", "--quiet", "--release", "--example", "tally_cost"]
    done = subprocess.run(command, cwd=BENCH.parent, check=True, capture_output=True, text=True)
    return sum(map(float, done.stdout.split()))


def main() -> None:
    short = quick("event-rate")
    time_s, rounds = (0.3, 1) if short else (5.0, 5)
    runs = [(played("one_query", time_s), played("no_query", time_s)) for _ in range(rounds)]
    costs = [(one.cost("run"), empty.cost("run")) for one, empty in runs]
    table = [(a.wall_ns, a.cpu_ns, b.wall_ns, b.cpu_ns) for a, b in costs]
    event_ns, cpu_ns, empty_ns, _ = (
        round(statistics.median(column), 1) for column in zip(*table, strict=True)
    )
    head = ("round", "ns/event", "CPU ns/event", "ns/empty event", "CPU ns/empty event")
    rows = [(number, *(f"{ns:.0f}" for ns in row)) for number, row in enumerate(table, 1)]
    connection = connection_bytes(0.3 if short else 2.0)
    figures = {
        "bench": "event-rate",
        "events_per_s": round(1e9 / event_ns),
        "event_ns": event_ns,
        "event_cpu_ns": cpu_ns,
        "empty_event_ns": empty_ns,
        "event_ratio": round(event_ns / LIMIT_EVENT_NS, 4),
        "growth_bytes": max(growth_bytes(run) for run, _ in runs),
        "connection_bytes": round(connection),
        "connection_ratio": round(connection / LIMIT_CONNECTION_BYTES, 4),
    }
    if not short:  # it compiles
        figures["tally_ratio"] = round(tally_ns() / LIMIT_TALLY_NS, 4)
    report([head, *rows], figures)


if __name__ == "__main__":
    main()
