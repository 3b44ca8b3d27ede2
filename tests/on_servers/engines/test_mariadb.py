"""Real MariaDB servers: Debian's with every storage engine it ships."""

from __future__ import annotations

from pathlib import Path

import pytest
from mysql_family import asked, build, processes_left_in, running
from private_servers import login

from dyno.errors import DynoError, UsageError

pytestmark = [pytest.mark.timeout(1200)]

DEBIAN = "mariadb@debian"
STORED = "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_NAME = 't'"


@pytest.mark.parametrize(
    "storage", ["InnoDB", "RocksDB", "Aria", "MyISAM", "Archive", "Memory", "Blackhole"]
)
def test_every_storage_engine_that_debian_ships_takes_rows(storage: str, home: Path) -> None:
    with running(f"{DEBIAN}?engine={storage}", home) as (engine, server):
        asked(server, "CREATE TABLE t (id INT NOT NULL)", "INSERT INTO t VALUES (7)")
        assert str(asked(server, STORED)[0][0]).lower() == storage.lower()
        engine.settle(server)
        rows = asked(server, "SELECT id FROM t")
        assert rows == ([] if storage == "Blackhole" else [["7"]])
        assert engine.settings(server)["default_storage_engine"].lower() == storage.lower()
    assert processes_left_in(home) == []


def test_myrocks_is_set_up_and_settled_like_innodb(home: Path) -> None:
    with running(f"{DEBIAN}?engine=RocksDB&profile=io-bound", home) as (engine, server):
        told = engine.settings(server)
        assert told["rocksdb_block_cache_size"] == str(128 << 20)
        assert told["rocksdb_use_direct_reads"] == "ON"
        asked(
            server,
            "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v CHAR(250))",
            "INSERT INTO t (v) VALUES ('x')",
            *["INSERT INTO t (v) SELECT v FROM t"] * 10,
        )
        unflushed = (
            "SELECT SUM(VALUE) FROM information_schema.ROCKSDB_CFSTATS"
            " WHERE STAT_TYPE = 'NUM_ENTRIES_ACTIVE_MEM_TABLE' AND CF_NAME = 'default'"
        )
        assert float(asked(server, unflushed)[0][0] or 0) > 0
        engine.settle(server)
        assert float(asked(server, unflushed)[0][0] or 0) == 0


def test_debians_version_is_a_name_of_it_too() -> None:
    _, program, _ = build(DEBIAN)
    engine, same, _ = build(f"mariadb@{program.version}")
    assert (same.program, same.version) == (program.program, program.version)
    assert engine.versions[-1] != program.version


def test_a_server_of_the_other_kind_is_told_apart() -> None:
    _, program, _ = build(DEBIAN)
    with pytest.raises(UsageError, match="is mariadb") as caught:
        build(f"mysql@{program.program}")
    assert "mariadb@" in caught.value.hint
    folder = program.program.parent.parent.parent
    assert build(f"mariadb@{folder}")[1].version == program.version


def test_a_server_that_runs_is_reached_by_its_url_and_left_alone(home: Path) -> None:
    with running(DEBIAN, home) as (engine, server):
        asked(server, "CREATE TABLE t (id INT)", "INSERT INTO t VALUES (7)")
        place = str(server.session["host"]).replace("/", "%2F")
        _, met, _ = build(f"mariadb://{login(server.session)}@{place}/dyno")
        other = engine.start(met, home.with_name("other"), {})
        assert (met.attached, other.pid) == (True, server.pid)
        engine.settle(other)
        assert engine.settings(other)["max_connections"] == "2000"
        engine.stop(other)
        assert asked(server, "SELECT id FROM t") == [["7"]]
        with pytest.raises(DynoError, match="nowhere"):
            build(f"mariadb://{login(server.session)}@{place}/nowhere")
