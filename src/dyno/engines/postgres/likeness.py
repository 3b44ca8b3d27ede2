"""The settings of a PostgreSQL that runs already, for one that is to run like it; and what of a
server's settings is worth a word before a run: idle keys, and bare numbers' units.

A number without a unit counts in the setting's own (`pg_settings.unit`): pages of 8 kB, kB, ms. No
table of these is kept: the server's program is told a known size or time for the setting, and says
how many of its units that is (`postgres -C`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dyno import numbers, scratch
from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines._idle_keys import OFF, Idle, find_idle_keys
from dyno.engines._server import libraries, process
from dyno.engines.postgres.settings import (
    OURS,
    STOCK,
    TABLE,
    UNTOUCHABLE,
    choose_settings,
    has_compiler,
)
from dyno.errors import TrialFailed

#: Groups of settings that decide how fast it is: also what it logs and counts, but not where.
#: Left out are those of connections and identity, of replication, archives and clients: they belong
#: to the place where it runs.
GROUPS = (
    "Autovacuum",
    "Lock Management",
    "Query Tuning",
    "Reporting and Logging / What to Log",
    "Reporting and Logging / When to Log",
    "Resource Usage",
    "Statistics",
    "Vacuuming",
    "Write-Ahead Log / Checkpoints",
    "Write-Ahead Log / Settings",
)
#: Where somebody set a value; our own connection's (client, session) are none.
SET_BY = ("configuration file", "command line", "global", "database", "user", "database user")
ASKED = (
    "SELECT name, current_setting(name, true), source, category FROM pg_settings "
    "WHERE context <> 'internal' OR name = 'data_checksums' ORDER BY name"
)


def liken_settings(ask: Ask, running: Session, build: Build) -> dict[str, str]:
    """What was set there, and what it has where our profiles have a value: those that `build`
    knows, over PostgreSQL's own defaults.
    """
    more = libraries.build_environment(build.libraries)
    told = process.ask_program([str(build.program), "--describe-config"], more)
    known = {*OURS, *re.findall(r"^\w+", told, re.M)} - UNTOUCHABLE
    found = {
        str(name): value or ""
        for name, value, source, group in ask(running, [ASKED])[0]
        if name in TABLE
        or name == "data_checksums"
        or (source in SET_BY and str(group).startswith(GROUPS))
    }
    return {"profile": STOCK} | {name: value for name, value in found.items() if name in known}


#: From PostgreSQL's documentation of each setting.
IDLE = (
    Idle("autovacuum_.*", "autovacuum", OFF),
    Idle("commit_delay|commit_siblings", "synchronous_commit", OFF),
    Idle("commit_delay|commit_siblings|wal_sync_method", "fsync", OFF),
    Idle("commit_siblings", "commit_delay", ("0",)),
    Idle("wal_compression", "full_page_writes", OFF),
    Idle("max_parallel_workers", "max_parallel_workers_per_gather", ("0",)),
    Idle("max_parallel_workers_per_gather", "max_parallel_workers", ("0",)),
    Idle("parallel_.*|min_parallel_.*", "max_parallel_workers_per_gather", ("0",)),
    Idle("jit_.*", "jit", OFF),
    Idle("bgwriter_lru_multiplier", "bgwriter_lru_maxpages", ("0",)),
    Idle("huge_page_size", "huge_pages", OFF),
    Idle("io_workers|io_min_workers|io_max_workers", "io_method", ("sync", "io_uring")),
)
#: The server's own values of what stands on a right side above and in no profile.
DEFAULTS = {"commit_delay": "0"}
#: A size and a time that any setting in such units takes, in bytes and in microseconds.
SIZE, SIZE_BYTES = "8MB", 8 << 20
TIME, TIME_US = "1h", 3_600_000_000


def list_remarks(build: Build, settings: Mapping[str, str], major: int) -> Iterator[str]:
    """A clause for each key that can have no effect, and for each bare number that has a unit."""
    own = {name: value for name, value in settings.items() if name not in OURS}
    yield from find_idle_keys(own, DEFAULTS | choose_settings(settings, major), IDLE)
    if settings.get("profile") == STOCK and major >= 12 and not has_compiler(build):
        yield "jit is on by default, without effect: this build cannot compile expressions"
    for name, value in own.items():
        if value.isdecimal() and int(value) > 0 and (unit := _find_unit(build, name)):
            per, kind = unit
            size = numbers.format_quantity(int(value) * per, kind)
            yield f"{name}={value} is {size}, as it has no unit"


def _find_unit(build: Build, name: str) -> tuple[float, str] | None:
    """What 1 of a setting is, in bytes or microseconds; None where it has no unit."""
    for known, amount, kind in ((SIZE, SIZE_BYTES, "B"), (TIME, TIME_US, "us")):
        counted = _read_value(build, name, known)
        if counted.isdecimal() and int(counted) > 0:
            return amount / int(counted), kind
    return None


def _read_value(build: Build, name: str, value: str) -> str:
    """How the server's program holds `value`; empty where it does not take it."""
    with scratch.make_folder("ask") as folder:
        words = [str(build.program), "-D", str(folder), "-c", f"config_file={folder / 'none.conf'}"]
        (folder / "none.conf").write_text("")
        try:
            more = libraries.build_environment(build.libraries)
            asked = [*words, "-c", f"{name}={value}", "-C", name]
            said = process.run_tool(asked, folder, more=more).split()
        except TrialFailed:
            return ""
    return said[-1] if said else ""  # its log goes before
