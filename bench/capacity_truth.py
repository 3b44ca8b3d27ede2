"""How near `dyno capacity` comes to the truth on engines whose service time is known.

    bench/run capacity-truth [--quick | --simulated]

`null@D` with N connections is a queue with N servers of the fixed service time D; arrivals are
Poisson's. With equal service times each server takes every N-th arrival, so that one server with
gaps of N exponentials is simulated (Lindley's recursion, 4 million arrivals): the rate at which the
percentile passes the limit is the truth. The engine's own timer is a little late on any host; the
delay that the driver measured is told, and the truth for it, too. `--simulated` plays nothing: 300
restarts of the search on simulated servers say how far the answer lies off, by requests of a step.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from played import plan, play

from dyno.instruments.capacity.player import SCATTER_FIRST, SCATTER_LATER
from dyno.instruments.capacity.search import WIDEN_FIRST, WIDEN_LATER, RateSearch
from dyno.judge.stats.rate_at_limit import find_rate_at_limit
from dyno.record.capacity import CapacityStep

ARRIVALS, SEARCH_STEPS = 4_000_000, 16
DYNO = Path(__file__).resolve().parent.parent / ".venv" / "bin" / "dyno"


@dataclass(frozen=True)
class TruthCase:
    """So many servers of a service time, held to a limit on a percentile."""

    servers: int
    service: str
    service_ns: int
    percentile: str
    limit: str
    limit_ns: int


CASES = (
    TruthCase(4, "2ms", 2 * 10**6, "p99", "5ms", 5 * 10**6),
    TruthCase(16, "5ms", 5 * 10**6, "p95", "8ms", 8 * 10**6),
)


def main() -> None:
    """Plays the cases, and prints a line for each and one of JSON."""
    parser = argparse.ArgumentParser(prog="bench/run capacity-truth")
    parser.add_argument("--quick", action="store_true", help="one case, three restarts")
    parser.add_argument("--simulated", action="store_true", help="by the requests of a step")
    given = parser.parse_args()
    if given.simulated:
        rows = [simulate_restarts(requests) for requests in (1000, 2000, 3000, 5000, 10_000)]
        print(json.dumps({"bench": "capacity-truth", "simulated": rows}))
        return
    quick = given.quick
    rows = [measure_case(case, 3 if quick else 6) for case in CASES[: 1 if quick else None]]
    print(json.dumps({"bench": "capacity-truth", "cases": rows}))


def measure_case(case: TruthCase, blocks: int) -> dict[str, object]:
    """The answer of a case beside the truth."""
    found = ask_capacity(case, blocks)
    measured_ns = measure_service_ns(case)
    truth = find_true_rate(case, case.service_ns)
    timed = find_true_rate(case, measured_ns)
    (side,) = found["candidates"]
    rate = side["rate_per_s"]
    row = {
        "case": f"{case.servers} servers of {case.service}, {case.percentile}<{case.limit}",
        "truth_per_s": round(truth, 1),
        "measured_service_us": round(measured_ns / 1e3, 1),
        "truth_of_measured_per_s": round(timed, 1),
        "found_per_s": rate and round(rate, 1),
        "low": side["low"] and round(side["low"], 1),
        "high": side["high"] and round(side["high"], 1),
        "off_percent": rate and round(100.0 * (rate / truth - 1.0), 2),
        "client": found["client"],
    }
    print("  ".join(f"{name} {value}" for name, value in row.items()), file=sys.stderr)
    return row


def measure_service_ns(case: TruthCase) -> float:
    """What a request took on average by the engine's own clock, at half of the greatest rate."""
    session = {"kind": "null", "delay_ns": case.service_ns}
    rate = 0.5e9 * case.servers / case.service_ns
    options = {"threads": case.servers, "rate": rate, "arrivals": "poisson", "table_size": 100}
    record = play(plan(session, "oltp_point_select", ["run"], time=2, **options)).phases["run"]
    (tally,) = record.streams
    return float(tally.service_ns or 0) / tally.queries


def ask_capacity(case: TruthCase, blocks: int) -> dict[str, list[dict[str, float | None]]]:
    """What `dyno capacity` says."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.json"
        words = [str(DYNO), "capacity", f"null@{case.service}", "-w", "oltp_point_select"]
        words += ["--set", f"threads={case.servers}", "--set", "table_size=100"]
        words += ["--slo", f"{case.percentile}<{case.limit}", "--blocks", f"{blocks}"]
        words += ["--step", "4s", "--seed", "1", "--json", str(file)]
        subprocess.run(
            words, check=False, stdout=sys.stderr, env=os.environ | {"DYNO_RUNS": folder}
        )
        return json.loads(file.read_text())  # type: ignore[no-any-return]


def find_true_rate(case: TruthCase, service_ns: float) -> float:
    """The rate at which the percentile of waits and service passes the limit."""
    low, high = 0.2 * case.servers / service_ns, case.servers / service_ns
    for _ in range(SEARCH_STEPS):
        rate = math.sqrt(low * high)
        if simulate_percentile(case, rate, service_ns) > case.limit_ns:
            high = rate
        else:
            low = rate
    return 1e9 * math.sqrt(low * high)


def simulate_percentile(case: TruthCase, rate_per_ns: float, service_ns: float) -> float:
    """The percentile of the time from arrival to answer, in ns."""
    rng = np.random.default_rng(1)
    gaps = rng.gamma(case.servers, 1.0 / rate_per_ns, ARRIVALS // case.servers)
    sums = np.cumsum(service_ns - gaps)
    waits = sums - np.minimum.accumulate(np.minimum(sums, 0.0))
    return float(np.quantile(waits, float(case.percentile[1:]) / 100.0)) + service_ns


RESTARTS, BLOCKS = 300, 8
SIMULATED = TruthCase(8, "20ms", 20 * 10**6, "p99", "40ms", 40 * 10**6)


def simulate_restarts(requests: int) -> dict[str, float]:
    """How far the rates of simulated restarts lie off the truth, and their spread, in percent."""
    truth = find_true_rate(SIMULATED, SIMULATED.service_ns)
    rng, known, logs = np.random.default_rng(5), 0.0, []
    for number in range(RESTARTS):
        first = number % BLOCKS == 0
        start = 0.75e9 * SIMULATED.servers / SIMULATED.service_ns if first else known
        scatter = rng.uniform(-1, 1) * (SCATTER_FIRST if first else SCATTER_LATER)
        search = RateSearch(start * math.exp(scatter), 1.0, WIDEN_FIRST if first else WIDEN_LATER)
        while (rate := search.choose_rate()) is not None:
            search.take(simulate_step(rng, rate, requests))
        rates = [step.rate_per_s for step in search.steps]
        known = find_rate_at_limit(rates, [step.load for step in search.steps]) or start
        logs.append(100.0 * math.log(known / truth))
    return {
        "requests": requests,
        "off_percent": round(float(np.mean(logs)), 2),
        "sd_percent": round(float(np.std(logs)), 2),
    }


def simulate_step(rng: np.random.Generator, rate_per_s: float, requests: int) -> CapacityStep:
    """A step of so many requests that begins with idle servers and a warm-up of a sixth as many."""
    case = SIMULATED
    due = np.cumsum(rng.exponential(1e9 / rate_per_s, requests + requests // 6))
    waits = np.empty(due.size)
    for first in range(case.servers):
        own = due[first :: case.servers]
        done = np.arange(own.size) * float(case.service_ns)
        waits[first :: case.servers] = np.maximum.accumulate(own - done) + done - own
    value = float(np.quantile(waits[requests // 6 :], 0.99)) + case.service_ns
    load = value / case.limit_ns
    return CapacityStep(
        rate_per_s, requests / rate_per_s, requests, requests, 0, 0, (value,), load, rate_per_s
    )


if __name__ == "__main__":
    main()
