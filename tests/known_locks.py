"""Plays `bench/known_lock.lua` on an engine, its locks watched: what was found of them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from private_servers import choose_build
from repository import ROOT

from dyno import driver
from dyno.driver.plan import Plan, Script
from dyno.engines import MeasuresLocks, Server, find_engine
from dyno.host.probes import ProbeTarget
from dyno.instruments.time.locks import LockProbe, LocksFound
from dyno.profile import lock_calls
from dyno.record import PhaseRecord
from dyno.runs.experiment.candidates import parse_candidate

SCRIPT = ROOT / "bench/known_lock.lua"


@dataclass(frozen=True)
class KnownPlay:
    """What was found; the phase's operations a second; how long each held the lock, by its own
    clock (0 where the script does not tell).
    """

    found: LocksFound
    rate_per_s: float
    held_us: float


def play_known_lock(
    text: str, home: Path, options: Mapping[str, object], script: str = str(SCRIPT), users: int = 1
) -> KnownPlay:
    """What the locks of a candidate's engine were found to be, in `time` seconds."""
    spec = parse_candidate(choose_build(text))
    engine = find_engine(spec.engine, driver.ask)
    asked = dict(engine.lock_settings) if isinstance(engine, MeasuresLocks) else {}
    server = engine.start(engine.program(spec.build, {}, lambda _: None), home, asked | spec.keys)
    words = {"threads": str(users)} | {name: str(value) for name, value in options.items()}
    with tempfile.TemporaryDirectory() as folder:
        around = lock_calls.build_environment(Path(folder)) if engine.embedded else {}
        try:
            _play(server, home, Script(script, words), "prepare", {})
            probe = LockProbe(engine, Path(folder))
            with probe.watch(server):
                run, told_us = _play(server, home, Script(script, words), "run", around, probe)
                operations = sum(stream.done + stream.warmup for stream in run.streams)
                found = probe.describe(operations, users)
            rate_per_s = operations * 1e9 / (run.ended_ns - run.started_ns)
            return KnownPlay(found, rate_per_s, told_us / operations)
        finally:
            engine.stop(server)


def _play(
    server: Server,
    home: Path,
    script: Script,
    command: str,
    around: Mapping[str, str],
    probe: LockProbe | None = None,
) -> tuple[PhaseRecord, int]:
    plan = Plan(server.session, script, 7, (command,))
    records: list[PhaseRecord] = []
    launch = driver.DriverLaunch(home / "driver.log", (), dict(around))
    with driver.DriverProcess(plan, launch) as process:
        while not isinstance(event := process.read_event(driver.Limit("it", 60)), driver.End):
            if isinstance(event, PhaseRecord):
                records.append(event)
            # nobody hangs up on an embedded engine: its phase ends with the record
            is_end = isinstance(event, driver.Answered if server.pid else PhaseRecord)
            if probe and (isinstance(event, driver.Ready) or is_end):
                probe.sample(ProbeTarget(server.pid or process.pid, process.pid, home))
            if not isinstance(event, driver.Progress):
                process.go()
    return records[-1], event.counters.get("held_us", 0)
