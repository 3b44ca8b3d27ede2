"""What several client hosts are for, and what playing from them costs: one driver without a
coordinator, and with one from 1 and from 2 hosts, on an echo over TCP that answers at once.

All hosts of this benchmark are this machine, reached by `env`: they share its cores with the echo,
so two hosts have no more cores than one, and a rate that does not grow here says nothing of two
machines. `beside_ms` is the time of a play that is not its phase: starting, connecting, agreeing on
the start, merging. `clock_error_us` is how well the clocks were known.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from paired import report

from dyno import driver
from dyno.driver import clients
from dyno.driver.plan import Plan, Script, Session
from dyno.driver.process import DriverLaunch, DriverProcess, Limit
from dyno.instruments.time.echo import TCP, EchoEngine, make_echo_plan
from dyno.record import ClientHost, PhaseRecord

CONNECTIONS, BYTES = 16, 64


@contextmanager
def echoing() -> Iterator[Session]:
    """The echo on a port of the loopback device."""
    engine = EchoEngine()
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as folder:
        server = engine.start(engine.program(TCP, {}, lambda _: None), Path(folder), {})
        try:
            yield server.session
        finally:
            engine.stop(server)


def play(
    plan: Plan, fleet: clients.ClientFleet | None, length_s: float
) -> tuple[PhaseRecord, float]:
    """The phase, and the seconds of the play that were not its."""
    began_s = time.monotonic()
    launch = DriverLaunch(None)
    driven = fleet.drive(plan, launch, {"run": length_s}) if fleet else DriverProcess(plan, launch)
    with driven as process:
        while not isinstance(event := process.read_event(Limit("the play", 60)), driver.End):
            if isinstance(event, PhaseRecord):
                record = event
            if not isinstance(event, driver.Progress):
                process.go()
    whole_s = time.monotonic() - began_s
    return record, whole_s - (record.ended_ns - record.started_ns) / 1e9


def main() -> None:
    words = argparse.ArgumentParser(prog="bench/run client-hosts", description=__doc__)
    words.add_argument("--quick", action="store_true", help="shorter phases, fewer plays")
    quick = words.parse_args().quick
    length_s, plays = (0.5, 3) if quick else (3.0, 9)
    echo = make_echo_plan("echo", [("run", CONNECTIONS, BYTES, BYTES)], length_s)
    rows: list[tuple[object, ...]] = [
        ("played by", "events/s", "busiest thread %", "beside ms", "clock error µs")
    ]
    figures: dict[str, float | str] = {"bench": "client-hosts"}
    hosts = [ClientHost(f"c{number}", ("env",)) for number in range(2)]
    with echoing() as session:
        one = clients.reach_hosts(hosts[:1])
        two = clients.reach_hosts(hosts)
        ways = {"one driver": None, "1 host": one, "2 hosts": two}
        # as many worker threads as each host has
        script, threads = Script(echo.script, echo.options), one.hosts[0].cores
        plan = Plan(session, script, 1, ("run",), progress_s=0.0, threads=threads)
        found: dict[str, list[tuple[PhaseRecord, float]]] = {name: [] for name in ways}
        for _ in range(plays):
            for name, fleet in ways.items():
                found[name].append(play(plan, fleet, length_s))
    for name, own in found.items():
        rate = median(r.streams[0].done / r.duration_s for r, _ in own)
        parts = [part for record, _ in own for part in record.clients]
        busy = f"{median(p.busiest_percent for p in parts):.0f}" if parts else ""
        error_us = median(p.clock.error_ns / 1e3 for p in parts) if parts else 0.0
        beside_ms = 1e3 * median(beside for _, beside in own)
        rows.append((name, round(rate), busy, round(beside_ms, 1), round(error_us, 1) or ""))
        figures |= {f"{name} rate_per_s": round(rate), f"{name} beside_ms": round(beside_ms, 1)}
        figures[f"{name} clock_error_us"] = round(error_us, 1)
    report(rows, figures)


if __name__ == "__main__":
    main()
