"""Workload `load` on real servers: the storage engines of the article, and what each one lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from played_workloads import Played, assert_ledger_balances, failures, play
from private_servers import serving

from dyno.errors import DynoError

pytestmark = [pytest.mark.timeout(300)]

SMALL: dict[str, Any] = {"rows": 4000, "parts": 2, "threads": 1}


def loaded(name: str, home: Path, storage: str = "", **options: Any) -> Played:
    more = {"engine": storage} if storage else {}
    with serving(name, **more) as server:
        played = play(server.session, "load", home, ("prepare", "run"), **SMALL | options)
        assert not failures(played)
        assert_ledger_balances(played)
        return played


@pytest.mark.parametrize("storage", ["InnoDB", "RocksDB", "Aria", "MyISAM"])
def test_storage_engines_say_what_table_and_indexes_take(storage: str, tmp_path: Path) -> None:
    played = loaded("mariadb-innodb", tmp_path, storage, indexes="after", text="phrase")
    assert played.phases["index"].streams[0].done == 1
    assert played.counters["data_bytes"] > 0 and played.counters["index_bytes"] > 0


def test_archive_is_loaded_without_indexes_and_refuses_them_by_name(tmp_path: Path) -> None:
    played = loaded("mariadb-innodb", tmp_path, "ARCHIVE")
    assert 0 < played.counters["data_bytes"] < 4000 * 200
    with pytest.raises(DynoError, match="Archive has no secondary indexes; set indexes=none"):
        loaded("mariadb-innodb", tmp_path, "ARCHIVE", indexes="after")


def test_a_compressed_table_takes_less(tmp_path: Path) -> None:
    sizes = [
        loaded("mysql-8.0", tmp_path, text="phrase", key_block_size=size).counters["data_bytes"]
        for size in (0, 8)
    ]
    assert sizes[1] < sizes[0]


def test_compression_of_another_storage_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="key_block_size is InnoDB's, and tables here are MyISAM's"):
        loaded("mariadb-innodb", tmp_path, "MyISAM", key_block_size=8)


@pytest.mark.parametrize("name", ["postgres-12", "postgres-18", "mysql-5.6"])
def test_other_servers_are_loaded_as_they_are(name: str, tmp_path: Path) -> None:
    played = loaded(name, tmp_path, indexes="before")
    assert played.counters["data_bytes"] > 4000 * 100 and played.counters["index_bytes"] > 0
