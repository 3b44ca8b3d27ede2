"""Files of settings as servers' own programs read and judge them; no server is started for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno import driver
from dyno.engines import ConfigOption, ReadsConfigs, find_engine
from dyno.errors import UsageError
from dyno.runs.experiment.candidates import parse_candidate

MY_CNF = """\
[client]
port = 1
[mysqld]
port = 3307
slow_query_log_file = /var/log/slow.log
expire_logs_days = 7
innodb-log-file-size = 64M
innodb_buffer_pool_size = 900T
sql_mode = 'STRICT_TRANS_TABLES'
init_connect = "SET NAMES utf8mb4"
loose-of-a-fork = 3
skip-name-resolve
[mysqld-8.0]
join_buffer_size = 1M
[mysqld-9.7]
sort_buffer_size = 1M
!includedir {more}
"""
INCLUDED = "[server]\nbinlog_format = ROW\nmax_connections = 77\n"
POSTGRESQL_CONF = """\
# of 13
data_directory = '/var/lib/main'  # the data
max_connections 55
work_mem = '8MB'
shared_buffers = 4TB
vacuum_defer_cleanup_age = 5
wal_keep_size = 3
stats_temp_directory = 'x'
auto_explain.log_format = json
application_name = 'it''s # here'
autovacuum_max_workers = many
include_dir 'more'
include_if_exists 'nowhere.conf'
"""


def read(side: str, file: Path) -> dict[str, ConfigOption]:
    spec = parse_candidate(side)
    engine = find_engine(spec.engine, driver.ask)
    assert isinstance(engine, ReadsConfigs)
    build = engine.program(spec.with_password, {}, lambda _: None)
    return {it.name: it for it in engine.read_config(build, file)}


@pytest.fixture
def more(tmp_path: Path) -> Path:
    (tmp_path / "more").mkdir()
    return tmp_path / "more"


def test_options_of_mysql_are_read_from_its_sections_and_judged_by_each_release(
    more: Path,
) -> None:
    file = more.parent / "my.cnf"
    file.write_text(MY_CNF.format(more=more))
    (more / "x.cnf").write_text(INCLUDED)
    old, new = read("mysql@8.0.33", file), read("mysql@9.7", file)
    assert "join_buffer_size" in old and "sort_buffer_size" in new
    assert "join_buffer_size" not in new and "sort_buffer_size" not in old
    assert old["port"].value == "3307" and old["max_connections"].value == "77"
    assert old["init_connect"].value == "SET NAMES utf8mb4"
    assert old["skip_name_resolve"].value is None
    refused = {name: it.refused for name, it in new.items() if it.refused}
    assert refused.keys() == {"expire_logs_days", "innodb_log_file_size"}
    assert refused["expire_logs_days"] == "unknown variable 'expire_logs_days=7'."
    assert "use binlog_expire_logs_seconds" in old["expire_logs_days"].warned
    assert not any(it.refused for it in old.values())
    assert "deprecated" in new["binlog_format"].warned and not old["binlog_format"].warned
    assert "loose-of-a-fork" in new["loose_of_a_fork"].warned
    assert {name: it.held for name, it in new.items() if it.held} == {
        "port": "connections",
        "slow_query_log_file": "a path",
        "expire_logs_days": "logs",
        "binlog_format": "logs",
        "innodb_buffer_pool_size": "memory beyond this host's",
    }


def test_options_of_mariadb_that_it_keeps_and_ignores_are_warned_of(more: Path) -> None:
    file = more.parent / "my.cnf"
    file.write_text("[mysqld]\nport=1\n[mariadb]\nmax_connections=0\n[mysqld-8.0]\nsort=1\n")
    found = read("mariadb@debian", file)
    assert found.keys() == {"port", "max_connections"}
    assert "adjusted to 10" in found["max_connections"].warned


def test_settings_of_postgres_are_read_with_their_includes_and_judged_by_each_release(
    more: Path,
) -> None:
    file = more.parent / "postgresql.conf"
    file.write_text(POSTGRESQL_CONF)
    (more / "a.conf").write_text("WORK_MEM = 16MB\n")
    (more / ".hidden.conf").write_text("work_mem = 1MB\n")
    old, new = read("postgres@13", file), read("postgres@18", file)
    assert old["work_mem"].value == "16MB" and old["max_connections"].value == "55"
    assert old["application_name"].value == "it's # here"
    gone = 'unrecognized configuration parameter "{}"'
    many = 'invalid value for parameter "autovacuum_max_workers": "many"'
    assert {name: it.refused for name, it in old.items() if it.refused} == {
        "autovacuum_max_workers": many
    }
    assert {name: it.refused for name, it in new.items() if it.refused} == {
        "autovacuum_max_workers": many,
        "vacuum_defer_cleanup_age": gone.format("vacuum_defer_cleanup_age"),
        "stats_temp_directory": gone.format("stats_temp_directory"),
    }
    assert {name: it.held for name, it in new.items() if it.held} == {
        "data_directory": "a path",
        "shared_buffers": "memory beyond this host's",
        "wal_keep_size": "replication",
        "auto_explain.log_format": "an extension",
    }


@pytest.mark.parametrize(
    "side,text,cause",
    [
        ("mysql@8.0.33", "[mysqld]\n!includedir /nowhere\n", "/nowhere"),
        ("mysql@8.0.33", "port = 1\n", "without preceding group"),
        ("postgres@13", "work_mem 8MB 9\n", "line 1 is not a setting: work_mem 8MB 9"),
        ("postgres@13", "include 'gone.conf'\n", "No such file"),
        ("postgres@13", "include_dir 'gone'\n", "line 1 of"),
        ("postgres@13", "include 'it.conf'\n", ""),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_cause(
    side: str, text: str, cause: str, tmp_path: Path
) -> None:
    file = tmp_path / "it.conf"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        read(side, file)
    assert cause in refused.value.cause, refused.value.cause
