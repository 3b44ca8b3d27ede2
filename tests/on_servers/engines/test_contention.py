"""Page splits and lock waits by the server's own count: where they count, and where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from played_workloads import play
from private_servers import SERVERS, serving

from dyno import driver
from dyno.engines import CountsContention, find_engine

pytestmark = [pytest.mark.timeout(300)]


@pytest.mark.parametrize("name", ["mysql-8.0", "mariadb-innodb"])
def test_rows_in_random_order_split_pages_and_reads_do_not(name: str, tmp_path: Path) -> None:
    engine = find_engine(SERVERS[name][0], driver.ask)
    assert isinstance(engine, CountsContention)
    with serving(name) as server:
        before = engine.count_contention(server)
        assert before.keys() == {"page_splits", "lock_waits"}
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


@pytest.mark.parametrize(("name", "profile"), [("mysql-8.0", "stock"), ("mysql-5.6", "cached")])
def test_splits_are_left_out_where_nobody_enabled_them_or_they_are_not_counted(
    name: str, profile: str
) -> None:
    engine = find_engine("mysql", driver.ask)
    assert isinstance(engine, CountsContention)
    with serving(name, profile=profile) as server:
        assert engine.count_contention(server).keys() == {"lock_waits"}


def test_tables_of_another_storage_engine_have_none_of_these_counters() -> None:
    engine = find_engine("mariadb", driver.ask)
    assert isinstance(engine, CountsContention)
    with serving("mariadb-innodb", engine="MyISAM") as server:
        assert engine.count_contention(server) == {}
