"""What an engine holds at a trial's end, how safely, and on what storage: evidence for audits."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from dyno.conduct.host import file_system
from dyno.engines import Engine, Holds, Server

#: The conditions of a trial under which it stands.
DATA, DURABILITY, STORAGE = "data", "durability", "storage"
CGROUPS = Path("/sys/fs/cgroup")


def found(
    engine: Engine, server: Server, asked: dict[str, str], told: dict[str, str]
) -> dict[str, dict[str, str]]:
    """Conditions by name; what is not known is left out. To be asked while the engine runs."""
    place = _place(engine, server)
    conditions = {STORAGE: _storage(place)} if place else {}
    if not isinstance(engine, Holds):
        return conditions
    held = engine.holding(server, asked, told)
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
