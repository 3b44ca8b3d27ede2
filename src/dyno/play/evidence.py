"""The ledger: what an engine says it holds, beside what the script says it put there.

What an engine holds at a trial's end, how safely, and on what storage: evidence for audits.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from dyno import driver
from dyno.engines import Engine, Server, WeighsData
from dyno.host import file_system
from dyno.plan import LedgerEntry, Plan
from dyno.record import Evidence

#: Rows as the driver hands them over.
_Rows = list[list[str | None]]


def read_ledger(plan: Plan, counters: dict[str, int]) -> tuple[Evidence, ...]:
    """What the engine says it holds beside what the script says it put there.

    The script is asked for its ledger anew, since the SQL may depend on the engine. Nothing is
    asked of `null`, which holds nothing.
    """
    if plan.session["kind"] == "null":
        return ()
    ledger = driver.describe(plan).ledger
    answers = driver.ask(plan.session, [entry.sql for entry in ledger]) if ledger else []
    return tuple(
        _evidence(entry, rows, counters) for entry, rows in zip(ledger, answers, strict=True)
    )


def _evidence(entry: LedgerEntry, rows: _Rows, counters: dict[str, int]) -> Evidence:
    """A number that counters foretell or, without counters, the rows themselves."""
    if entry.counters:
        expected = sum(factor * counters.get(n, 0) for n, factor in entry.counters.items())
        return Evidence(entry.name, entry.sql, expected, _cell(rows))
    return Evidence(entry.name, entry.sql, 0, str(len(rows)), digest_rows(rows))


def digest_rows(rows: _Rows) -> str:
    """A checksum of the rows in any order: the same rows, the same digest."""
    lines = sorted(json.dumps(row) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _cell(rows: _Rows) -> str:
    return str(rows[0][0]) if rows and rows[0] else ""


#: The conditions of a trial under which it stands.
DATA, DURABILITY, STORAGE = "data", "durability", "storage"
CGROUPS = Path("/sys/fs/cgroup")


def data_conditions(
    engine: Engine, server: Server, asked: dict[str, str], told: dict[str, str]
) -> dict[str, dict[str, str]]:
    """Conditions by name; what is not known is left out. To be asked while the engine runs."""
    place = _place(engine, server)
    conditions = {STORAGE: _storage(place)} if place else {}
    if not isinstance(engine, WeighsData):
        return conditions
    held = engine.weigh(server, asked, told)
    numbers = {"bytes": held.data_bytes, "cache_bytes": held.cache_bytes}
    data = {name: str(number) for name, number in numbers.items() if number is not None}
    if held.claim:
        data["claim"] = held.claim
    safety = {"survives": held.survives} if held.survives else {}
    return conditions | {DATA: data, DURABILITY: safety | held.decided_by}


def _place(engine: Engine, server: Server) -> Path | None:
    """Where the data lie: a server that runs already works in its own folder, if it is here."""
    if engine.embedded or server.handle is not None:
        return server.home
    with suppress(OSError):
        return Path(f"/proc/{server.pid}/cwd").readlink()
    return None


def _storage(home: Path) -> dict[str, str]:
    """The file system under the data, its size, what is free for those who are not root, and the
    limits that a control group sets to its device.
    """
    room = os.statvfs(home)
    told = {
        "file_system": file_system(home),
        "bytes": str(room.f_blocks * room.f_frsize),
        "free_bytes": str(room.f_bavail * room.f_frsize),
    }
    return told | ({"limits": limits} if (limits := _limits(CGROUPS)) else {})


def _limits(cgroups: Path) -> str:
    """The lines of `io.max` (cgroup v2) of our group and those above it, of every device."""
    with suppress(OSError):
        own = cgroups / Path("/proc/self/cgroup").read_text().rpartition("::/")[2].strip()
        groups = [group for group in (own, *own.parents) if group.is_relative_to(cgroups)]
        files = [group / "io.max" for group in groups]
        return "; ".join(file.read_text().strip() for file in files if file.is_file()).strip("; ")
    return ""
