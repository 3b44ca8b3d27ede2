"""Page splits and lock waits by the server's own count: where they count, and where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from played_workloads import play
from private_servers import SERVERS, serving

from dyno import driver
from dyno.engines import CountsContention, CountsInternals, find_engine

pytestmark = [pytest.mark.timeout(300)]


LATCHES = {"index_lock_waits", "page_lock_waits"}


@pytest.mark.parametrize(
    ("name", "of_locks"), [("mysql-8.0", LATCHES), ("mariadb-innodb", set[str]())]
)
def test_rows_in_random_order_split_pages_and_reads_do_not(
    name: str, of_locks: set[str], tmp_path: Path
) -> None:
    engine = find_engine(SERVERS[name][0], driver.ask)
    assert isinstance(engine, CountsContention)
    with serving(name) as server:
        before = engine.count_contention(server)
        assert before.keys() == {"page_splits", "lock_waits"} | of_locks
        options: dict[str, Any] = {
            "rows": 4000,
            "type": "char36",
            "events": 20,
            "warmup_time": 0,
            "threads": 1,
        }
        play(server.session, "types", tmp_path, **options)
        written = engine.count_contention(server)
        assert written["page_splits"] - before["page_splits"] >= 10
        assert written["lock_waits"] == before["lock_waits"]
        driver.ask(server.session, ["SELECT COUNT(*) FROM ids_by_type"])
        assert engine.count_contention(server) == written
        if of_locks:
            users: dict[str, Any] = {"table_size": 500, "threads": 64, "time": 1, "warmup_time": 0}
            play(server.session, "oltp_insert", tmp_path, **users)
            slept = engine.count_contention(server)
            assert slept["page_lock_waits"] > written["page_lock_waits"], "all fill one page"


TIMED = {
    "performance_schema": "on",
    "performance_schema_instrument": "wait/synch/rwlock/sql/LOCK_grant=on",
}


@pytest.mark.parametrize(
    ("name", "settings"), [("mysql-8.0", {"profile": "stock"}), ("mysql-5.6", TIMED)]
)
def test_splits_are_left_out_where_they_are_not_counted_and_latches_where_not_timed(
    name: str, settings: dict[str, str]
) -> None:
    engine = find_engine("mysql", driver.ask)
    assert isinstance(engine, CountsContention) and isinstance(engine, CountsInternals)
    with serving(name, **settings) as server:
        assert engine.settings(server), "an instrument is no variable, and is not asked back"
        assert ("latch_wait_us" in engine.count_internals(server)) == (settings == TIMED)
        assert engine.count_contention(server).keys() == {"lock_waits"} | LATCHES


def test_tables_of_another_storage_engine_have_none_of_these_counters() -> None:
    engine = find_engine("mariadb", driver.ask)
    assert isinstance(engine, CountsContention)
    with serving("mariadb-innodb", engine="MyISAM") as server:
        assert engine.count_contention(server) == {}
