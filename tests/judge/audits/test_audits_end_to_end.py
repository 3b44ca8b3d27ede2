"""Faults injected in the load itself, played by the real driver, and found by the audits."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fakes import make_phase, make_run, make_trial, make_workload
from trial import played

from dyno.driver.plan import Plan, Script
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import PhaseRecord

#: Long beside what a crowded machine adds to it.
NULL = {"kind": "null", "delay_ns": 10_000_000}
#: What one trial can be blamed for. The rest of the package judges engines and hosts.
OF_THE_LOAD = (
    "coordinated_omission",
    "counters",
    "driver_late",
    "errors",
    "percentiles",
    "stalls",
    "steady_state",
)
SCRIPT = """
function thread_init() con = sysbench.sql.driver():connect() end
dyno.phases = {{{{ name = "run", stationary = true,
  streams = {{{{name = "reader", run = "event", connections = {users}, pace = {pace}}}}},
  stop = {stop} }}}}
function event() {event} end
"""
STEADY = "con:query('SELECT 1')"
#: Each event does a tenth more than the one before.
DRIFTING = "for _ = 1, 1.1 ^ dyno.turn() do con:query('SELECT 1') end"
#: Three of four attempts are thrown away.
RESTARTING = (
    "tries = (tries or 0) + 1; con:query('SELECT 1'); "
    "if tries % 4 > 0 then error({errcode = sysbench.error.RESTART_EVENT}) end"
)
CLOSED = '{kind = "closed"}'
PACED = '{kind = "uniform", rate_per_s = 100}'
TWO_SECONDS = '{kind = "time", duration_s = 2}'


def _plan(folder: Path, event: str, stop: str = TWO_SECONDS, pace: str = CLOSED) -> Plan:
    folder.mkdir()
    script, users = folder / "script.lua", 1 if pace == CLOSED else 16
    script.write_text(SCRIPT.format(event=event, stop=stop, pace=pace, users=users))
    return Plan(NULL, Script(str(script)), seed=7, commands=("run",), progress_s=0)


def _restarts(folder: Path, event: str, at_once: int = 1) -> list[PhaseRecord]:
    """Three, one after the other: what disturbs the host for a second is no drift of theirs."""
    plans = [_plan(folder / str(number), event) for number in range(3)]
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(played, plans))


def _blamed(*records: PhaseRecord, **phase: Any) -> dict[str, str]:
    """The audits that are not satisfied with these restarts, and what they say."""
    run = make_run(["old"], workloads=[make_workload(phases=[make_phase() | phase])])
    trials = [make_trial(n, "old", n, 1, phases=(record,)) for n, record in enumerate(records)]
    findings = [f for name in OF_THE_LOAD for f in load_audits()[name].judge(RunView(run, trials))]
    return {f.audit: f.sentence for f in findings if f.soundness in ("invalid", "doubtful")}


@pytest.mark.slow
def test_a_steady_load_is_clean(tmp_path: Path) -> None:
    assert _blamed(*_restarts(tmp_path, STEADY)) == {}


def test_a_script_whose_work_grows_is_found(tmp_path: Path) -> None:
    blamed = _blamed(*_restarts(tmp_path, DRIFTING, at_once=3))
    assert list(blamed) == ["steady_state"]
    assert "the rate of reader changed by -" in blamed["steady_state"]


def test_a_script_that_throws_its_work_away_is_found(tmp_path: Path) -> None:
    stop = '{kind = "count", events = 25}'
    blamed = _blamed(played(_plan(tmp_path / "a", RESTARTING, stop)))
    assert list(blamed) == ["errors"]
    assert "75 % of the attempts were thrown away" in blamed["errors"]


def _starved(pid: int) -> None:
    """Keeps the driver from its cores for most of the time, until it is gone."""
    with suppress(ProcessLookupError):
        while True:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.45)
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.15)


def _beside(work: Callable[[int], None]) -> Callable[[int], None]:
    return lambda pid: threading.Thread(target=work, args=(pid,), daemon=True).start()


@pytest.mark.slow
def test_a_driver_that_is_starved_is_found_out(tmp_path: Path) -> None:
    pace = {"kind": "uniform", "rate_per_s": 100.0}
    primary = [{"stream": "reader", "metric": "latency_ns_p50", "margin_percent": None}]
    phase = {"streams": [make_phase()["streams"][0] | {"pace": pace}], "primary": primary}
    calm = played(_plan(tmp_path / "calm", STEADY, pace=PACED))
    assert "driver_late" not in _blamed(calm, **phase)
    starved = played(_plan(tmp_path / "starved", STEADY, pace=PACED), _beside(_starved))
    assert "though a user was free" in _blamed(starved, **phase)["driver_late"]
