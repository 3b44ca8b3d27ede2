"""Everything of a server that a log played in place could change, as text: rows, schemas, accounts,
variables, persisted files, slots, locks, statistics' reset times, names of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dyno import driver
from dyno.engines import Server

#: Catalogues whose rows are compared, each by a column of its own that does not count time.
_CATALOGUES = (
    "pg_class WHERE relpersistence <> 't'", "pg_attribute", "pg_proc", "pg_type", "pg_namespace",
    "pg_authid", "pg_auth_members", "pg_db_role_setting", "pg_database", "pg_tablespace",
    "pg_description", "pg_seclabel", "pg_rewrite", "pg_trigger", "pg_policy", "pg_constraint",
    "pg_largeobject_metadata", "pg_largeobject", "pg_replication_origin", "pg_publication",
    "pg_subscription", "pg_extension", "pg_operator", "pg_cast", "pg_default_acl", "pg_statistic",
    "pg_replication_slots", "pg_prepared_xacts", "pg_file_settings", "pg_hba_file_rules",
    "item", "kept", "counter",
)  # fmt: skip
_STATES = (
    "SELECT name, setting, source, pending_restart FROM pg_settings WHERE source <> 'session'"
    " ORDER BY 1",
    "SELECT datname, stats_reset FROM pg_stat_database ORDER BY 1",
    "SELECT stats_reset FROM pg_stat_archiver",
    "SELECT stats_reset FROM pg_stat_bgwriter",
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
    # no transaction was given a number: nothing at all was written by one
    "SELECT txid_snapshot_xmax(txid_current_snapshot())",
)
#: Files that come and go with time: logs, statistics, temporary ones.
_PASSING = ("pg_wal", "pg_stat", "pg_stat_tmp", "pgsql_tmp", "pg_internal.init", "#innodb_temp",
            "#innodb_redo")  # fmt: skip


def dump(server: Server) -> str:
    """All that is compared."""
    parts = of_postgres(server) if server.session["kind"] == "postgres" else of_mysql(server)
    return "\n".join([*parts, *_files(server)])


def of_postgres(server: Server) -> Iterator[str]:
    """Rows of every catalogue and table, and what the server says of itself."""
    asked = [f"SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM (SELECT * FROM {it}) t"
             for it in _CATALOGUES]  # fmt: skip
    for question, rows in zip(
        (*asked, *_STATES), driver.ask(server.session, [*asked, *_STATES]), strict=True
    ):
        yield f"{question}: {rows}"


def of_mysql(server: Server) -> Iterator[str]:
    """Rows of every table of the accounts and of ours, definitions, global variables, locks."""
    (tables,) = driver.ask(server.session, [
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE (TABLE_SCHEMA LIKE"
        " 'dyno%' OR TABLE_SCHEMA = 'mysql' OR (TABLE_SCHEMA = 'performance_schema' AND"
        " TABLE_NAME LIKE 'setup%')) AND TABLE_TYPE NOT LIKE '%VIEW' AND TABLE_NAME NOT LIKE '%log'"
        " AND TABLE_NAME NOT LIKE 'innodb%' AND TABLE_NAME NOT LIKE 'gtid%' ORDER BY 1, 2"
    ])  # fmt: skip
    yield str(tables)
    rows = [f"SELECT * FROM `{schema}`.`{name}`" for schema, name in tables]
    asked = [
        *rows,
        "SHOW GLOBAL VARIABLES WHERE Variable_name NOT IN ('timestamp', 'gtid_binlog_pos')",
        "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS"
        " WHERE TABLE_SCHEMA = 'dyno'",
        "SELECT ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES"
        " WHERE ROUTINE_SCHEMA = 'dyno'",
        "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA",
        "SELECT PLUGIN_NAME, PLUGIN_STATUS FROM information_schema.PLUGINS ORDER BY 1",
        "SELECT IS_USED_LOCK('dyno'), IS_USED_LOCK('a'), IS_USED_LOCK('item')",
        "SHOW GRANTS",
    ]
    for question, answer in zip(asked, driver.ask(server.session, asked), strict=True):
        yield f"{question}: {sorted(map(str, answer))}"


def _files(server: Server) -> Iterator[str]:
    """The names of the data folder's files, what is persisted there, what was left elsewhere."""
    data = server.home / "data"
    for folder, folders, files in os.walk(data):
        folders[:] = sorted(name for name in folders if name not in _PASSING)
        yield from (f"{folder}/{name}" for name in sorted(files) if name not in _PASSING)
    for name in ("postgresql.auto.conf", "mysqld-auto.cnf"):
        if (file := data / name).exists():
            yield file.read_text()
    yield str(Path("/tmp/dyno-stolen").exists())
