"""How many events a second the driver can play on null, and what an event and a user weigh.

Targets: 3M events/s of one query each in one thread, memory flat over time, 300 KB a connection.
The empty event bounds the cost of tallying from above: it is the tally, two looks at the clock
and one resumption of the script's coroutine.
"""

from __future__ import annotations

import statistics

from paired import NULL, Played, plan, play, quick, report

CONNECTIONS = 1000
EARLY, LATE = 0.25, 1.0


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


def main() -> None:
    short = quick("event-rate")
    time_s, rounds = (0.3, 1) if short else (5.0, 5)
    runs = [(played("one_query", time_s), played("no_query", time_s)) for _ in range(rounds)]
    event_ns = [run.time_ns("run") for run, _ in runs]
    empty_ns = [run.time_ns("run") for _, run in runs]
    rows = [("round", "events/s", "ns/event", "ns/empty event")]
    rows += [
        (str(number), f"{1e9 / event:,.0f}", f"{event:.0f}", f"{empty:.0f}")
        for number, (event, empty) in enumerate(zip(event_ns, empty_ns, strict=True), 1)
    ]
    median_ns = statistics.median(event_ns)
    report(
        rows,
        {
            "bench": "event-rate",
            "events_per_s": round(1e9 / median_ns),
            "event_ns": round(median_ns, 1),
            "empty_event_ns": round(statistics.median(empty_ns), 1),
            "ratio_to_3M_per_s": round(median_ns * 3e6 / 1e9, 4),
            "growth_bytes": max(growth_bytes(run) for run, _ in runs),
            "connection_kb": round(connection_bytes(0.3 if short else 2.0) / 1024, 1),
        },
    )


if __name__ == "__main__":
    main()
