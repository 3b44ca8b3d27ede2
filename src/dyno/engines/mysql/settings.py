"""The settings that a server of MySQL's family is started with, and the reason for each.

Whatever differs between the defaults of two versions and costs time is set here, so that two
builds differ in their code and not in what they assume; a candidate's own settings come on top. A
build that lacks a variable leaves it out: everything here is passed as `--loose-NAME`, and what the
server reports is what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from dyno.engines._packaged import VENDORS
from dyno.engines.mysql.builds import Prefix
from dyno.errors import UsageError, build_unknown_error

#: The first is the default; a vendor's has none of our values at all.
PROFILES = ("cached", "io-bound", "durable", *VENDORS)
#: What each claims of the data and the cache.
CLAIMS = {"cached": "cached", "io-bound": "io-bound", "durable": "cached"} | dict.fromkeys(
    VENDORS, ""
)
#: What `durable` has otherwise: a commit waits until its logs are on the disk. The binary log is
#: one of them in every version, as 8.0 ships it.
DURABLE = {
    "innodb_flush_log_at_trx_commit": "1",
    "rocksdb_flush_log_at_trx_commit": "1",
    "sync_binlog": "1",
}


@dataclass(frozen=True)
class VariableRow:
    """A variable's value for each profile (one for both where `io_bound` is empty), and why."""

    cached: str
    why: str
    io_bound: str = ""

    def choose_value(self, profile: str) -> str:
        return self.io_bound if self.io_bound and profile == "io-bound" else self.cached

    def format_values(self) -> str:
        return f"{self.cached} (io-bound: {self.io_bound})" if self.io_bound else self.cached


_MEMORY = {
    "innodb_buffer_pool_size": VariableRow("1G", "InnoDB's memory for pages", "128M"),
    "innodb_buffer_pool_instances": VariableRow(
        "8", "parts of it, 8.0's; from 8.4 on by the host's processors", "1"
    ),
    "innodb_numa_interleave": VariableRow("OFF", "8.0's; ON from 8.4 on"),
    "temptable_max_ram": VariableRow(
        "1G", "8.0's memory for temporary tables; from 8.4 on a share of the host's"
    ),
    "temptable_max_mmap": VariableRow(
        "1G", "8.0's; 0 from 8.4 on, where InnoDB takes what has no room"
    ),
    "rocksdb_block_cache_size": VariableRow("1G", "MyRocks' memory for blocks", "128M"),
    "key_buffer_size": VariableRow("256M", "MyISAM's memory for index blocks", "32M"),
    "aria_pagecache_buffer_size": VariableRow("256M", "Aria's memory for pages", "32M"),
}
_DISK = {
    "innodb_flush_method": VariableRow("O_DIRECT", "pages lie in the buffer pool only, not twice"),
    "rocksdb_use_direct_reads": VariableRow(
        "OFF", "likewise, where the disk is what is measured", "ON"
    ),
    "rocksdb_use_direct_io_for_flush_and_compaction": VariableRow(
        "OFF", "goes with direct reads", "ON"
    ),
    "innodb_flush_log_at_trx_commit": VariableRow(
        "2", "0, 1 or 2: 1 waits for the disk at every commit, and would measure the disk"
    ),
    "rocksdb_flush_log_at_trx_commit": VariableRow("2", "as InnoDB's"),
    "innodb_log_file_size": VariableRow(
        "256M", "of each of two redo logs; MariaDB from 10.5 has one"
    ),
    "innodb_redo_log_capacity": VariableRow("512M", "both of them, in MySQL from 8.0.30 on"),
    "innodb_log_buffer_size": VariableRow("16M", "8.0's; 8M before"),
    "innodb_log_writer_threads": VariableRow(
        "ON", "8.0's; from 8.4 on OFF where the host has few processors"
    ),
    "innodb_use_fdatasync": VariableRow("OFF", "8.0's; ON from 8.4 on, and unknown before 8.0.26"),
    "innodb_doublewrite": VariableRow("ON", "torn pages are survived, as by default everywhere"),
    "innodb_doublewrite_pages": VariableRow("4", "8.0's; 128 from 8.4 on"),
    "innodb_change_buffering": VariableRow(
        "all", "as in 5.5 to 8.0; none in 8.4, and in MariaDB from 10.5.15 on"
    ),
    "innodb_change_buffer_max_size": VariableRow("25", "8.0's; 5 in 9.7"),
    "innodb_page_cleaners": VariableRow(
        "4", "8.0's threads that write pages; from 8.4 on one for each part of the pool", "1"
    ),
    "innodb_purge_threads": VariableRow(
        "4", "8.0's; 1 in 5.6, and from 8.4 on where the host has few processors"
    ),
    "innodb_checksum_algorithm": VariableRow(
        "crc32", "5.6's own is slower than the machine's crc32"
    ),
    "innodb_flush_neighbors": VariableRow("0", "a seek costs nothing on a solid-state disk"),
    "innodb_io_capacity": VariableRow(
        "2000", "pages/s written in the background; 200 is a spindle"
    ),
    "innodb_io_capacity_max": VariableRow("4000", "the same in a hurry"),
    "innodb_max_dirty_pages_pct": VariableRow("90", "8.0's; 75 before"),
    "innodb_file_per_table": VariableRow("ON", "OFF in 5.5"),
    "innodb_file_format": VariableRow("Barracuda", "compressed tables in 5.5 and 5.6"),
    "innodb_buffer_pool_load_at_startup": VariableRow(
        "OFF", "a restart begins cold, each time alike"
    ),
    "innodb_buffer_pool_dump_at_shutdown": VariableRow("OFF", "goes with it"),
    "sync_binlog": VariableRow("0", "as the redo log; only where log_bin=on"),
    "binlog_transaction_dependency_history_size": VariableRow(
        "25000", "8.0's; 10 million in 9.7, only where log_bin=on"
    ),
    "gtid_mode": VariableRow("OFF", "8.0's; ON in 9.7, only where log_bin=on"),
    "binlog_format": VariableRow("ROW", "8.0's; only where log_bin=on"),
}
_WORK = {
    "innodb_adaptive_hash_index": VariableRow(
        "ON", "as in 5.5 to 8.0 (MariaDB from 10.5: OFF); OFF makes restarts agree better"
    ),
    "performance_schema": VariableRow(
        "OFF", "ON in MySQL from 5.6; it costs each version differently"
    ),
    "query_cache_type": VariableRow("OFF", "on only to be measured: ON or DEMAND, with a size"),
    "query_cache_size": VariableRow("0", "goes with query_cache_type"),
    "innodb_snapshot_isolation": VariableRow(
        "OFF", "MariaDB's; ON from 11.6 on: changing a row that was changed meanwhile is an error"
    ),
    "event_scheduler": VariableRow("OFF", "nothing runs beside the load"),
    "character_set_server": VariableRow("latin1", "all versions' up to 5.7; utf8mb4 costs more"),
    "collation_server": VariableRow("latin1_swedish_ci", "goes with the character set"),
    "sql_mode": VariableRow(
        "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
        "no value is cut, and no storage engine replaced, without an error",
    ),
    "explicit_defaults_for_timestamp": VariableRow(
        "ON", "8.0's: a timestamp column does what it says"
    ),
}
_CONNECTIONS = {
    "max_connections": VariableRow("2000", "a sweep goes to 1,024"),
    "back_log": VariableRow("2000", "they may all come at once"),
    "thread_cache_size": VariableRow("2000", "0 in 5.5: a thread made for each connection"),
    "table_open_cache": VariableRow("4000", "8.0's; 400 in 5.5"),
    "table_open_cache_instances": VariableRow("16", "8.0's; one mutex for all in 5.6"),
    "max_prepared_stmt_count": VariableRow("1048576", "each connection prepares its own"),
    "max_allowed_packet": VariableRow("64M", "8.0's; 1M in 5.5 is less than a batch of rows"),
    "local_infile": VariableRow("ON", "bulk loads stream through LOAD DATA LOCAL; OFF in 8.0"),
    "skip_name_resolve": VariableRow("ON", "no DNS inside a connection"),
    "skip_networking": VariableRow("ON", "the private socket only"),
    "mysqlx": VariableRow("OFF", "8.0's second protocol listens on a port of its own"),
}
_COUNTERS = {
    "innodb_monitor_enable": VariableRow(
        "index_page_splits", "the report shows them; off by default"
    ),
}

#: What decides how fast a server is, beside its build.
FAST = (*_MEMORY, *_DISK, *_WORK, "max_connections")
ROWS = _MEMORY | _DISK | _WORK | _CONNECTIONS | _COUNTERS

#: Of which a server takes less where its version or a small pool allows no more.
LOWERED = frozenset(
    {"innodb_buffer_pool_instances", "innodb_page_cleaners", "innodb_purge_threads"}
)

#: Settings that are no variable of this name, or mean more to us than the variable does.
OURS = {
    "profile": (
        "cached",
        "cached: the data fit into memory; io-bound: they do not; durable: cached, and a commit "
        "waits for the disk; stock: the server's own defaults in place of all settings below; "
        "packaged: these, and what a distribution's package sets",
    ),
    "config": (
        "",
        "your own my.cnf in place of all settings below; what the data are made with "
        "(innodb_page_size) stays a key",
    ),
    "engine": ("InnoDB", "the storage engine of new tables"),
    "skip_grant_tables": ("off", "on: no privileges are checked"),
    "performance_schema_instrument": (
        "",
        "what performance_schema=on counts beside its defaults: wait/synch/%=on times the server's "
        "own locks, which the report shows as waits for latches",
    ),
    "log_bin": (
        "off",
        "on: write the binary log, a second log at each commit; on where profile=durable, and by "
        "default from 8.0 on",
    ),
}

#: What the controls call by a name that all engines share.
KNOBS = {
    "adaptive_hash_index": {
        "on": {"innodb_adaptive_hash_index": "ON"},
        "off": {"innodb_adaptive_hash_index": "OFF"},
    }
}

#: Settings that change nothing in the files that a server leaves behind.
PASSING = frozenset(
    {
        *("profile", "skip_grant_tables", *_MEMORY, *_CONNECTIONS, *_COUNTERS),
        *("performance_schema", "performance_schema_instrument"),
        *("query_cache_type", "query_cache_size", "innodb_adaptive_hash_index", "event_scheduler"),
        *("innodb_flush_log_at_trx_commit", "rocksdb_flush_log_at_trx_commit", "sync_binlog"),
        *("innodb_io_capacity", "innodb_io_capacity_max", "innodb_flush_neighbors"),
        *("innodb_page_cleaners", "innodb_purge_threads", "innodb_log_writer_threads"),
        *("innodb_use_fdatasync", "innodb_snapshot_isolation"),
    }
)
#: What a home takes beside the data: redo logs, undo, system tables, temporary files.
FIXED_BYTES = 1 << 30


def describe_options() -> dict[str, tuple[str, str]]:
    return OURS | {name: (row.format_values(), row.why) for name, row in ROWS.items()}


SWITCHES = ("on", "off")
#: 5.5 takes no words for some of its switches, and ignores what it does not take.
NUMBERS = {"ON": "1", "OFF": "0"}
#: What holds under a user's own file too: a server of ours listens on its socket only.
PRIVATE = ("skip_networking", "mysqlx")
#: Options that a server lists beside its variables, and that a private server cannot do with.
UNTOUCHABLE = frozenset(
    {"bootstrap", "chroot", "console", "daemonize", "flashback", "gdb", "help", "initialize"}
    | {"initialize_insecure", "user", "validate_config", "verbose"}
)
NO_PACKAGE: Mapping[str, str] = MappingProxyType({})
#: How the binary log is turned on: its files' name, and a number that it demands.
LOGGED = ("--log-bin=binlog", "--server-id=1")


@dataclass(frozen=True)
class AskedSettings:
    """`own` are variables that the user named, `table` those of the profile that remain.

    `storage` is empty where the server's own choice stands, `log_bin` likewise.
    """

    own: dict[str, str]
    table: dict[str, str]
    storage: str
    config: Path | None
    skip_grants: bool
    log_bin: str
    instrument: str = ""

    def list_all(self) -> dict[str, str]:
        return self.table | self.own

    def select_firm(self) -> dict[str, str]:
        """Return what the server must report of the table, if it has it."""
        return {name: value for name, value in self.table.items() if name not in LOWERED}

    def list_strict(self) -> dict[str, str]:
        """What the server must report, or the trial fails."""
        logged = {"log_bin": self.log_bin} if self.log_bin else {}
        grants = {"skip_grant_tables": "ON" if self.skip_grants else "OFF"}
        return self.own | logged | grants

    def list_arguments(self, prefix: Prefix) -> list[str]:
        """The words of the command line; a row of the table is dropped where it is unknown."""
        table = {name: NUMBERS.get(value, value) for name, value in self.table.items()}
        words = [f"--loose-{name}={value}" for name, value in table.items()]
        words += [f"--{name}={value}" for name, value in self.own.items()]
        if self.log_bin:
            words += LOGGED if self.log_bin == "on" else ("--skip-log-bin",)
        if self.skip_grants:
            words.append("--skip-grant-tables")
        if self.instrument:
            words.append(f"--performance-schema-instrument={self.instrument}")
        if self.storage and (plugin := prefix.find_plugin(self.storage)).is_file():
            words.append(f"--plugin-load-add={plugin.name}")
        return words


def sort_settings(
    settings: Mapping[str, str],
    adjusted: Mapping[str, str],
    packaged: Mapping[str, str] = NO_PACKAGE,
) -> AskedSettings:
    """The settings sorted out. `adjusted` are rows that this build takes in another value, or
    better not at all (empty); `packaged` those that stand in place of the table."""
    own = {name: value for name, value in settings.items() if name not in OURS}
    chosen = {name: default for name, (default, _) in OURS.items()} | dict(settings)
    config = Path(chosen["config"]).expanduser().absolute() if chosen["config"] else None
    profile, durable = chosen["profile"], DURABLE if chosen["profile"] == "durable" else {}
    table = (
        {name: row.choose_value(profile) for name, row in ROWS.items()} | dict(adjusted) | durable
    )
    implied = _find_implied(own, table)
    table |= implied
    is_vendors = profile in VENDORS
    if config or is_vendors:
        table = {name: table[name] for name in PRIVATE} | dict(packaged)
        table |= {name: value for name, value in implied.items() if name in packaged}
    mine = {"engine", "log_bin"} & set(settings)
    return AskedSettings(
        own=own,
        table={name: value for name, value in table.items() if value and name not in own},
        storage=chosen["engine"] if "engine" in mine or not (config or is_vendors) else "",
        config=config,
        skip_grants=chosen["skip_grant_tables"].lower() == "on",
        log_bin=is_logged(settings) if "log_bin" in mine or not (config or is_vendors) else "",
        instrument=chosen["performance_schema_instrument"],
    )


def _find_implied(own: Mapping[str, str], table: Mapping[str, str]) -> dict[str, str]:
    """Rows that another value of the user's implies; empty: the server says which."""
    implied = dict[str, str]()
    if "character_set_server" in own:
        implied["collation_server"] = ""
    elif collation := own.get("collation_server"):
        charset = collation.lower().partition("_")[0]
        # MariaDB's uca1400_… are of any character set
        implied["character_set_server"] = "" if charset.startswith("uca") else charset
    capacity, most = own.get("innodb_io_capacity", ""), table.get("innodb_io_capacity_max", "")
    if capacity.isdecimal() and most.isdecimal() and int(capacity) > int(most):
        implied["innodb_io_capacity_max"] = ""
    return implied


def is_logged(settings: Mapping[str, str]) -> str:
    """Return `on` or `off`: whether the binary log is written, unless a file or stock settings say
    so.
    """
    durable = settings.get("profile") == "durable"
    return settings.get("log_bin", "on" if durable else OURS["log_bin"][0]).lower()


def check_settings(settings: Mapping[str, str]) -> None:
    """Raise `UsageError` for what is wrong in any version."""
    if refused := UNTOUCHABLE & set(settings):
        hint = "it is not a variable, and would change what the server's process does"
        raise UsageError(f"{min(refused)} cannot be set", hint=hint)
    if settings.get("profile", PROFILES[0]) not in PROFILES:
        raise build_unknown_error("value of profile", settings["profile"], PROFILES)
    for name in ("skip_grant_tables", "log_bin"):
        if settings.get(name, "off").lower() not in SWITCHES:
            raise build_unknown_error(f"value of {name}", settings[name], SWITCHES)
    if file := settings.get("config"):
        _check_file(file, settings)


def _check_file(file: str, settings: Mapping[str, str]) -> None:
    if "profile" in settings:
        raise UsageError("config and profile cannot be combined", hint="leave one of them out")
    try:
        Path(file).expanduser().read_bytes()
    except OSError as refused:
        raise UsageError(f"cannot read {file}", cause=refused.strerror) from None
