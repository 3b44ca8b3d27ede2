"""A user's my.cnf, and the settings of a server that runs already, for one that is to run like it.

The program itself reads the file (`--print-defaults`: its sections, its includes), then is given
each option by itself: `--validate-config` from MySQL 8.0.16 on, else `--verbose --help`. Neither
needs data. Remarks before a run name idle keys, and sizes that are given in bytes.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from dyno import numbers, scratch, subprocesses
from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask, _builds
from dyno.engines._configs import OFF, ConfigOption, Idle, find_idle_keys, is_beyond_host
from dyno.engines._packaged import STOCK
from dyno.engines._server import process
from dyno.engines.mysql.builds import ANSWER_S, Prefix
from dyno.engines.mysql.settings import FAST, OURS, ROWS, AskedSettings, sort_settings
from dyno.engines.mysql.values import list_variables
from dyno.errors import TrialFailed, UsageError

VALIDATES = (8, 0, 16)
#: What an option belongs to that a private server on this host cannot have as the user's has it.
HELD = {
    "a path": re.compile(
        r"\w{1,64}_(dir|file|path|directory|directories|filename)|(base|data|tmp)dir|socket|chroot"
        r"|character_sets_dir|secure_file_priv|innodb_(temp_)?data_file_path"
        r"|innodb_undo_tablespaces|(early_)?plugin(_load\w*|_maturity)?|(init|pid)_file"
    ),
    "connections": re.compile(
        r"port|\w{1,64}_port|bind_address|networking|mysqlx\w*|admin_\w+|report_\w+|ssl\w*|tls\w*"
        r"|require_secure_transport|grant_tables"
    ),
    "logs": re.compile(
        r"log_\w+|log|general_log\w*|slow_query_log\w*|long_query_time|syslog\w*"
        r"|(max_)?binlog_\w+|max_binlog_\w+|sync_binlog|expire_logs_days"
    ),
    "replication": re.compile(
        r"server_id|\w{0,64}gtid\w*"
        r"|(relay|master|slave|replica|replicate|source|rpl|sync_relay)_\w+"
        r"|(group_replication|wsrep|semi_sync|sync_master)_\w+|(super_)?read_only|\w{1,64}_do_db"
    ),
    "the server's process": re.compile(
        r"user|daemonize|console|(un)?initialize\w*|bootstrap|core_file|memlock|large_pages"
        r"|innodb_force_recovery|innodb_dedicated_server|open_files_limit|plugin_dir|help|verbose"
    ),
}
#: What is taken as a whole, at the start.
MEMORY = re.compile(
    r"(innodb_buffer_pool|innodb_log_buffer|innodb_log_file|key_buffer|query_cache"
    r"|aria_pagecache_buffer|rocksdb_block_cache)_size"
    r"|innodb_redo_log_capacity|temptable_max_ram"
)
#: What data are made with, which a file says too late.
MADE_WITH = ("innodb_page_size", "lower_case_table_names")
_WORDS = r"^\d{4}-\d\d-\d\d.*?\[(?:%s)\] (?:\[[^]]*\] )*(?:/\S+: )?(.+)$"
_UNKNOWN = re.compile(r"unknown (?:variable|option)")
_ABORTING = "Aborting"


def read_options(build: Build, prefix: Prefix, file: Path) -> list[ConfigOption]:
    given = {_find_name(word): word for word in _list_words(build, prefix, file)}
    usual = set(map(_strip_numbers, find_words(_ask(build, prefix))))
    return [_judge(build, prefix, name, word, usual) for name, word in given.items()]


def _list_words(build: Build, prefix: Prefix, file: Path) -> Iterator[str]:
    """The command line that the server makes of it, as us: the file may be for us alone."""
    command = [str(build.program), f"--defaults-file={file.absolute()}", "--print-defaults"]
    environment = process.build_server_environment(Path("/"), prefix.build_environment())
    try:
        done = subprocesses.run(command, ANSWER_S, environment=environment)
    except (OSError, subprocess.TimeoutExpired) as refused:
        raise UsageError(f"cannot read {file}", cause=str(refused)) from None
    head, _, line = done.stdout.rstrip().rpartition("\n")
    if done.returncode or "is ignored" in done.stderr or "following arguments" not in head:
        cause = (done.stderr.strip() or done.stdout.strip() or "it says nothing").splitlines()[0]
        hint = "name a my.cnf as the server reads it, with all that it includes"
        name = f"{build.engine} {build.version}"
        raise UsageError(f"{name} cannot read {file}", cause=cause, hint=hint)
    yield from (f"--{it}" for it in re.split(r"(?:^|\s)--", f" {line.strip()}")[1:] if it)


def _find_name(word: str) -> str:
    return word[2:].partition("=")[0].replace("-", "_").lower()


def _judge(build: Build, prefix: Prefix, name: str, word: str, usual: set[str]) -> ConfigOption:
    has_value, value = "=" in word, word.partition("=")[2]
    held = _find_reason(name, value)
    refused, said = "", list[str]()
    try:
        said = find_words(_ask(build, prefix, word))
    except TrialFailed as failed:
        said = find_words(failed.cause, "ERROR") or [failed.cause.splitlines()[-1]]
        known = [it for it in said if not held or _UNKNOWN.search(it)]
        refused = next((it for it in known if _UNKNOWN.search(it)), known[0] if known else "")
    plain = name.removeprefix("loose_")
    warned = [
        it
        for it in said
        if it != refused
        and _strip_numbers(it) not in usual
        # an option that is held names what this host lacks, which is no matter of the release
        and (not held or plain in it.replace("-", "_").lower())
    ]
    told = "" if refused else " ".join(dict.fromkeys(warned))
    return ConfigOption(name, value if has_value else None, refused, told, held)


def _find_reason(name: str, value: str) -> str:
    """Return what an option that is not applied belongs to, or ""."""
    plain = re.sub(r"^(loose|skip|disable|enable|maximum)_", "", name.removeprefix("loose_"))
    for reason, names in HELD.items():
        if names.fullmatch(plain):
            return reason
    if value.startswith("/"):
        return "a path"
    size = numbers.parse_size_bytes(value) if MEMORY.fullmatch(plain) else None
    return "memory beyond this host's" if size and is_beyond_host(size) else ""


def _ask(build: Build, prefix: Prefix, word: str = "") -> str:
    """Return what the program says of one option alone; `TrialFailed` if it refuses it."""
    validates = build.engine == "mysql" and _builds.parse_version(build.version) >= VALIDATES
    asked = (
        ["--log-error-verbosity=2", "--validate-config"] if validates else ["--verbose", "--help"]
    )
    with scratch.make_folder("ask") as place:
        places = [f"--datadir={place}", f"--tmpdir={place}", *prefix.list_arguments()]
        words = [*filter(None, [word]), *places, *asked]
        command = [str(build.program), "--no-defaults", *words]
        return process.run_tool(command, place, more=prefix.build_environment())


def find_words(said: str, kinds: str = "Warning|ERROR") -> list[str]:
    """Return warnings and errors of a server's log, without source places."""
    found = (it.strip() for it in re.findall(_WORDS % kinds, said, re.MULTILINE))
    return [it for it in found if it != _ABORTING]


def _strip_numbers(text: str) -> str:
    return re.sub(r"\d+", "", text)


def format_file(options: Sequence[ConfigOption]) -> tuple[str, dict[str, str]]:
    lines = ["[mysqld]"]
    for it in options:
        value = (it.value or "").replace("\\", "\\\\")
        lines.append(it.name if it.value is None else f'{it.name}="{value}"')
    made = {it.name: it.value for it in options if it.name in MADE_WITH and it.value}
    return "\n".join(lines) + "\n", made


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
    """Return what the running server has where our profiles have a value for memory, disk and work,
    and what it logs: the variables that `build` knows, over its own defaults. Names that are `left`
    mean something else there.
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
#: No user means fewer bytes than these of a cache, a buffer or a log.
FEW_BYTES = 1 << 20
SIZED = re.compile(r"\d+[KMG]")


def list_remarks(build: Build, settings: Mapping[str, str], asked: AskedSettings) -> Iterator[str]:
    """A clause for each key that can have no effect, and for each size that is a few bytes."""
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
