"""Profiles and words before a run, on the servers' own programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from private_servers import SERVERS, serving

from dyno import driver
from dyno.engines import HoldsMemory, Remarks, WeighsData, find_engine

pytestmark = [pytest.mark.timeout(300)]
#: What a vendor's default is that no profile of ours has.
VENDORS = {
    "postgres-18": {"synchronous_commit": "on", "data_checksums": "on", "shared_buffers": "128MB"},
    "mysql-8.0": {"log_bin": "ON", "performance_schema": "ON", "sync_binlog": "1"},
    "mariadb-innodb": {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "1"},
}


def remarks(kind: str, build: str, **settings: str) -> list[str]:
    engine = find_engine(kind, driver.ask)
    assert isinstance(engine, Remarks)
    return engine.list_remarks(engine.program(build, {}, lambda _: None), settings)


def test_a_bare_number_is_told_in_the_unit_that_the_program_counts_in() -> None:
    sizes = {"shared_buffers": "128", "work_mem": "64", "max_wal_size": "64"}
    told = remarks("postgres", "18", **sizes, checkpoint_timeout="60", max_connections="90")
    assert told == [
        "shared_buffers=128 is 1.05 MB, as it has no unit",
        "work_mem=64 is 65.5 kB, as it has no unit",
        "max_wal_size=64 is 67.1 MB, as it has no unit",
        "checkpoint_timeout=60 is 60.0 s, as it has no unit",
    ]
    assert remarks("postgres", "12", shared_buffers="1MB") == []
    told = remarks("mysql", "8.0.33", innodb_buffer_pool_size="128", back_log="90")
    assert told == ["innodb_buffer_pool_size=128 is 128 bytes, as it has no unit"]


def test_a_key_without_effect_is_told_by_what_disarms_it() -> None:
    told = remarks("postgres", "18", io_method="sync", io_workers="3", autovacuum="on")
    assert told == ["io_workers=3 can have no effect while io_method=sync"]
    told = remarks("mysql", "8.0.33", sync_binlog="1", innodb_log_file_size="64M")
    assert [each.partition(" while ")[2] for each in told] == [
        "log_bin=off",
        "innodb_redo_log_capacity=512M",
    ]
    assert remarks("mysql", "8.0.33", sync_binlog="1", log_bin="on") == []
    assert remarks("mysql", "5.6.14", innodb_log_file_size="64M") == []


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("profile", ["durable", "stock"])
def test_a_server_runs_as_its_profile_says(name: str, profile: str, home: Path) -> None:
    kind = SERVERS[name][0]
    engine = find_engine(kind, driver.ask)
    assert isinstance(engine, WeighsData)
    with serving(name, profile=profile) as server:
        told = engine.settings(server)
        weighed = engine.weigh(server, {"profile": profile}, told)
    plain = {key: value.partition(" (")[0] for key, value in told.items()}
    vendors = {key: plain[key] for key in VENDORS[name]}
    assert weighed.survives == "a power cut" or (name, profile) == ("mariadb-innodb", "stock")
    assert weighed.claim == ("cached" if profile == "durable" else "")
    assert (vendors == VENDORS[name]) == (profile == "stock")


@pytest.mark.parametrize("name", ["mysql-5.6", "mysql-8.0", "mariadb-innodb"])
def test_a_durable_server_writes_its_binary_log_and_says_where_nothing_commits(
    name: str, home: Path
) -> None:
    engine = find_engine(SERVERS[name][0], driver.ask)
    assert isinstance(engine, WeighsData)
    with serving(name, profile="durable", autocommit="0") as server:
        told = engine.settings(server)
        weighed = engine.weigh(server, {"profile": "durable"}, told)
    assert (told["log_bin"], told["sync_binlog"]) == ("ON", "1")
    assert (weighed.survives, weighed.autocommits) == ("a power cut", False)
    assert weighed.decided_by["autocommit"] == "OFF"


def memory_mib(kind: str, build: str, **settings: str) -> int:
    engine = find_engine(kind, driver.ask)
    assert isinstance(engine, HoldsMemory)
    return (
        engine.estimate_memory_bytes(engine.program(build, {}, lambda _: None), settings, 1) >> 20
    )


def test_the_memory_of_a_server_follows_its_settings_as_the_program_resolves_them(
    tmp_path: Path,
) -> None:
    default = memory_mib("postgres", "18")
    assert default - memory_mib("postgres", "18", shared_buffers="256MB") == 1024 - 256
    assert default - memory_mib("postgres", "18", profile="stock") == 1024 - 128
    config = tmp_path / "my.cnf"
    config.write_text("[mysqld]\ninnodb_buffer_pool_size=300M\nperformance_schema=OFF\n")
    assert memory_mib("mysql", "8.0.33") - memory_mib("mysql", "8.0.33", config=str(config)) == (
        1024 - 300
    )
