"""Faults planted in the load itself, played by the real driver, and found by the audits."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fakes import make_phase, make_run, make_trial, make_workload
from trial import play_record

from dyno.audits import audits
from dyno.driver import Process
from dyno.record import Finding, PhaseRecord, Run

NULL = {"kind": "null", "delay_ns": 100_000}
#: A phase `run` with one stream of one user, for so many seconds.
PHASES = """
dyno.phases = {{{{ name = "run", stationary = true,
  streams = {{{{name = "reader", run = "event", connections = 1, pace = {pace}}}}},
  stop = {{kind = "time", duration_s = {seconds}}} }}}}
function thread_init() con = sysbench.sql.driver():connect() end
"""
CLOSED, PACED = '{kind = "closed"}', '{kind = "uniform", rate_per_s = 200}'
QUERIES = "function event() for _ = 1, {count} do con:query('SELECT 1') end end"
STEADY = QUERIES.format(count=10)
#: Ten times the work from the middle of two seconds on.
DRIFTING = "local began = os.clock()\n" + QUERIES.format(count="(dyno.turn() < 800 and 10 or 100)")


def _script(event: str, seconds: float = 2, pace: str = CLOSED) -> str:
    return PHASES.format(pace=pace, seconds=seconds) + event


def _run(metric: str = "rate_per_s", pace: str = "closed") -> Run:
    phase = make_phase(primary=(metric,))
    phase["streams"][0]["pace"] = {"kind": pace}
    return make_run(["old"], workloads=[make_workload(phases=[phase])])


def _heard(run: Run, *records: PhaseRecord) -> dict[str, Finding]:
    """What is not sound, by audit, of these restarts."""
    trials = [make_trial(n, "old", n, 1, phases=(record,)) for n, record in enumerate(records)]
    findings = [f for name in ALL for f in audits()[name].judge(run, trials)]
    return {f.audit: f for f in findings if f.soundness != "sound"}


ALL = (
    "clock coordinated_omission counters driver_late errors noise percentiles stalls steady_state"
).split()
