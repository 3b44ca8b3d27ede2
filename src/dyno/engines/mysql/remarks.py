"""What of a MySQL server's settings is worth a word before a run: idle keys, and sizes in bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dyno.builds import Build
from dyno.engines import _builds
from dyno.engines._idle_keys import OFF, Idle, find_idle_keys
from dyno.engines.mysql.settings import OURS, ROWS, sort_settings

#: From the manuals of MySQL, MariaDB and MyRocks.
IDLE = (
    Idle("sync_binlog|binlog_.*|max_binlog_.*|expire_logs_days", "log_bin", OFF),
    Idle("query_cache_.*", "query_cache_type", OFF),
    Idle("query_cache_.*", "query_cache_size", ("0",)),
    Idle("performance_schema_.*", "performance_schema", OFF),
    Idle(
        "innodb_adaptive_hash_index_(parts|partitions)|innodb_ahi_.*",
        "innodb_adaptive_hash_index",
        OFF,
    ),
    Idle("innodb_doublewrite_.*", "innodb_doublewrite", OFF),
    Idle("innodb_flush_log_at_timeout", "innodb_flush_log_at_trx_commit", ("1",)),
    Idle("innodb_.*", "engine", ("rocksdb", "myisam", "aria", "memory")),
    Idle("rocksdb_.*", "engine", ("innodb", "myisam", "aria", "memory")),
    Idle("key_buffer_size|myisam_.*", "engine", ("innodb", "rocksdb", "aria", "memory")),
)
#: From here on MySQL has one size for all of its redo logs, and those of each are not looked at.
ONE_CAPACITY = (8, 0, 30)
#: Nobody means fewer bytes than these of a cache, a buffer or a log.
FEW_BYTES = 1 << 20
SIZED = re.compile(r"\d+[KMG]")


def list_remarks(
    build: Build, settings: Mapping[str, str], adjusted: Mapping[str, str]
) -> Iterator[str]:
    """A clause for each key that can have no effect, and for each size that is a few bytes."""
    asked = sort_settings(settings, adjusted)
    switches = {"log_bin": asked.log_bin, "engine": asked.storage}
    own = {name: value for name, value in settings.items() if name not in OURS}
    yield from find_idle_keys(
        own, asked.list_all() | {n: v for n, v in switches.items() if v}, IDLE
    )
    capacity = asked.list_all().get("innodb_redo_log_capacity")
    one = build.engine == "mysql" and _builds.parse_version(build.version) >= ONE_CAPACITY
    for name, value in own.items():
        if one and capacity and name in ("innodb_log_file_size", "innodb_log_files_in_group"):
            yield f"{name}={value} can have no effect while innodb_redo_log_capacity={capacity}"
        if _is_size(name) and value.isdecimal() and 0 < int(value) < FEW_BYTES:
            yield f"{name}={value} is {value} bytes, as it has no unit"


def _is_size(name: str) -> bool:
    row = ROWS.get(name)
    return name.endswith("_buffer_size") or (row is not None and bool(SIZED.fullmatch(row.cached)))
