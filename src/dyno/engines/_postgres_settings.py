"""PostgreSQL's settings: the table of both profiles, and what no table may hold.

The table follows the insert benchmark's configurations for PostgreSQL (Small Datum, `cx9a2a`):
checkpoints far apart, commits that do not wait, no parallel query, a quick autovacuum. Its memory
is made for hosts of 32 GB and data of tens; ours for the sizes that workloads have by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dyno.errors import UsageError, unknown


@dataclass(frozen=True)
class Row:
    """One setting: its value where the data are cached, where they are not, since which version."""

    cached: str
    io_bound: str
    meaning: str
    since: int = 0


def _same(value: str, meaning: str, since: int = 0) -> Row:
    return Row(value, value, meaning, since)


TABLE = {
    "shared_buffers": Row("1GB", "64MB", "the server's own cache"),
    "huge_pages": _same("off", "pages of 2 MB for it"),
    "max_connections": _same("2000", "connections at most"),
    "synchronous_commit": _same("off", "a commit waits for its log to reach the disk"),
    "fsync": _same("on", "the log reaches the disk at all"),
    "full_page_writes": _same("on", "a page's first change after a checkpoint logs all of it"),
    "wal_compression": _same("off", "such pages are compressed"),
    "max_wal_size": _same("8GB", "log that starts a checkpoint"),
    "min_wal_size": _same("1GB", "log files kept to be written again"),
    "checkpoint_timeout": _same("30min", "time that starts a checkpoint"),
    "checkpoint_completion_target": _same("0.9", "share of that time a checkpoint may take"),
    "bgwriter_delay": _same("100ms", "pause of the background writer"),
    "bgwriter_lru_maxpages": _same("2000", "pages it writes between two pauses"),
    "autovacuum": _same("on", "vacuum by itself"),
    "autovacuum_max_workers": _same("4", "its processes"),
    "autovacuum_naptime": _same("10s", "its pause"),
    "autovacuum_vacuum_cost_delay": _same("1ms", "its pause after each stretch of work"),
    "autovacuum_vacuum_cost_limit": _same("4000", "how long such a stretch is"),
    "autovacuum_vacuum_scale_factor": _same("0.05", "share of rows changed that wakes it"),
    "autovacuum_vacuum_insert_scale_factor": _same("0.05", "share of rows added that does", 13),
    "autovacuum_work_mem": _same("256MB", "its memory"),
    "max_parallel_workers": _same("0", "processes that help with a query"),
    "max_parallel_workers_per_gather": _same("0", "at one place in its plan"),
    "jit": _same("off", "compile expressions", 11),
    "log_checkpoints": _same("on", "checkpoints in the log"),
}
PROFILES = ("cached", "io-bound")

#: What is not the server's but ours; PostgreSQL's own settings follow from TABLE.
OURS = {
    "profile": ("cached", "cached or io-bound: which column of values the settings below have"),
    "config": ("", "a postgresql.conf of your own, in place of a profile"),
    "data_checksums": ("off", "on or off: pages carry checksums; 18 would have them by default"),
}

#: The settings that a private server cannot do without.
HELD = {
    "listen_addresses": "''",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "logging_collector": "off",
    "log_destination": "'stderr'",
}
UNTOUCHABLE = {*HELD, "unix_socket_directories", "data_directory", "config_file", "hba_file"}


def options() -> dict[str, tuple[str, str]]:
    """What `dyno show` says of each setting: its default and its meaning."""
    rows = {name: (row.cached, _meaning(row)) for name, row in TABLE.items()}
    return OURS | rows


def _meaning(row: Row) -> str:
    other = f"; {row.io_bound} where io-bound" if row.io_bound != row.cached else ""
    since = f" (since {row.since})" if row.since else ""
    return row.meaning + other + since


def check(settings: Mapping[str, str]) -> None:
    """`UsageError` for what can be wrong whatever the version is."""
    profile = settings.get("profile", "cached")
    if profile not in PROFILES:
        raise unknown("value of profile", profile, PROFILES)
    if settings.get("data_checksums", "off") not in ("on", "off"):
        raise unknown("value of data_checksums", settings["data_checksums"], ("on", "off"))
    if "config" in settings and "profile" in settings:
        raise UsageError("config stands in place of a profile", hint="leave one of them out")
    if "config" in settings and not Path(settings["config"]).expanduser().is_file():
        raise UsageError(f"there is no file {settings['config']}", hint="config names a file")
    if held := UNTOUCHABLE & set(settings):
        hint = "Dyno needs it for a private server"
        raise UsageError(f"{min(held)} cannot be set", hint=hint)
