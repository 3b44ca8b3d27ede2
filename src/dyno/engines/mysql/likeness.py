"""The settings of a MySQL server that runs already, for one that is to run like it; and what of a
server's settings is worth a word before a run: idle keys, and sizes in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask, _builds
from dyno.engines._idle_keys import OFF, Idle, find_idle_keys
from dyno.engines.mysql.builds import Prefix
from dyno.engines.mysql.settings import FAST, OURS, ROWS, STOCK, sort_settings
from dyno.engines.mysql.values import list_variables

#: What is written of statements, and when; files and their places are the server's own.
LOGGING = (
    *("general_log", "slow_query_log", "long_query_time", "log_output"),
    *("log_queries_not_using_indexes", "min_examined_row_limit", "log_slow_admin_statements"),
    *("log_slow_extra", "log_slow_rate_limit", "log_slow_verbosity", "log_slow_filter"),
    *("binlog_row_image", "innodb_print_all_deadlocks", "userstat"),
)


def liken_settings(
    ask: Ask, running: Session, build: Build, prefix: Prefix, left: Iterable[str]
) -> dict[str, str]:
    """What it has where our profiles have a value for memory, disk and work, and what it logs:
    those variables that `build` knows, over its own defaults. Names that are `left` mean something
    else there.
    """
    (rows,) = ask(running, ["SHOW GLOBAL VARIABLES"])
    told = {str(name).lower(): value or "" for name, value in rows}
    storage = told.get("default_storage_engine", "")
    logged = told.get("log_bin", "").lower()
    asked = {"profile": STOCK} | ({"engine": storage} if storage else {})
    asked |= {"log_bin": logged} if logged in ("on", "off") else {}
    known = list_variables(build, prefix, sort_settings(asked, {})) - set(left)
    return asked | {
        name: told[name] for name in (*FAST, *LOGGING) if name in told and name in known
    }


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
