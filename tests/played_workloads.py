"""Our own workloads, played by the real driver, and what a trial of one left."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dyno import driver, workloads
from dyno.driver.plan import Description, Plan, Script, Session
from dyno.instruments.time.evidence import read_ledger
from dyno.instruments.time.job import Tools
from dyno.judge.audits.ledger import is_as_expected
from dyno.record import PhaseRecord

NULL: Session = {"kind": "null", "delay_ns": 0}


SMALL_INSERT: dict[str, Any] = {
    "load_rows": 2000,
    "write_rows": 1000,
    "query_seconds": 0.1,
    "query_rates": "500",
}
SMALL_TPCC: dict[str, Any] = {"warehouses": 2, "customers": 60, "items": 200, "warmup_time": 0}
OLTP = sorted(name for name in workloads.list_workloads() if name.startswith("oltp_"))


@dataclass(frozen=True)
class Played:
    """What a trial left: its records by phase, the script's counters, where the data is."""

    phases: dict[str, PhaseRecord]
    counters: dict[str, int]
    session: Session
    description: Description
    plan: Plan
    written: tuple[driver.WrittenKeys, ...] = ()

    def number(self, sql: str) -> int:
        return int(self.text(sql))

    def text(self, sql: str) -> str:
        return str(driver.ask(self.session, [sql])[0][0][0])

    def claimed(self, counters: dict[str, int]) -> int:
        return sum(factor * self.counters.get(name, 0) for name, factor in counters.items())


def make_plan(session: Session, workload: str, seed: int = 7, **options: Any) -> Plan:
    texts = {name: str(value) for name, value in options.items()}
    return Plan(session, Script(str(workloads.find_workload(workload)), texts), seed, progress_s=0)


def described(workload: str, **options: Any) -> Description:
    return driver.describe(make_plan(NULL, workload, **options))


def play(
    session: Session, workload: str, home: Path, commands: tuple[str, ...] = (), **options: Any
) -> Played:
    plan = make_plan(session, workload, **options)
    plan = replace(plan, commands=commands or plan.commands)
    phases: dict[str, PhaseRecord] = {}
    with driver.DriverProcess(plan, driver.DriverLaunch(home / "driver.log")) as process:
        while not isinstance(event := process.read_event(driver.Limit("a phase", 30)), driver.End):
            if isinstance(event, PhaseRecord):
                phases[event.phase] = event
            process.go()
    described = driver.describe(plan)
    return Played(phases, event.counters, session, described, plan, event.written)


def changed_tpcc(folder: Path, changes: Iterable[tuple[str, str, str]]) -> Path:
    """Our `tpcc` in a folder of its own with texts replaced; each must stand there once."""
    folder.mkdir()
    own = workloads.find_workload("tpcc").parent
    names = ("tpcc.lua", "_dialect.lua", "_bulk_load.lua")
    for file in (*(own / name for name in names), *own.glob("_tpcc_*.lua")):
        shutil.copy(file, folder)
    for name, old, new in changes:
        file = folder / f"{name}.lua"
        text = file.read_text()
        assert text.count(old) == 1, (name, old)
        file.write_text(text.replace(old, new))
    return folder / "tpcc.lua"


def done(played: Played, phase: str) -> int:
    """How many events all streams of a phase did."""
    return sum(tally.done for tally in played.phases[phase].streams)


def failures(played: Played) -> dict[str, dict[str, int]]:
    return {
        f"{phase}/{tally.name}": tally.errors
        for phase, record in played.phases.items()
        for tally in record.streams
        if tally.failed
    }


def wrong_entries(
    plan: Plan, counters: dict[str, int], written: Sequence[driver.WrittenKeys] = ()
) -> list[str]:
    """The ledger's entries that do not hold, by name; those that foretell nothing are left out."""
    found = read_ledger(plan, counters, written, Tools())
    return [entry.name for entry in found if not entry.digest and not is_as_expected(entry)]


def assert_ledger_balances(played: Played) -> None:
    assert played.description.ledger
    assert not wrong_entries(played.plan, played.counters, played.written)
