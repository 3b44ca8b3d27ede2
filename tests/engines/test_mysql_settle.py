"""Settling a server of MySQL's family: what is asked of which storage engine, and for how long."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dyno.engines import find_engine
from dyno.engines.mysql import data
from dyno.engines.mysql.data import settle
from dyno.errors import TrialFailed

Rows = list[list[str | None]]


class Told:
    """A server with these tables, whose dirty pages go away one look after the other."""

    def __init__(self, *tables: tuple[str, str], dirty: Sequence[int] = (0,)) -> None:
        self.tables, self.dirty, self.said = tables, list(dirty), list[str]()
        self.busy = ["operation_type: Compaction", "operation_type: \nelapsed_time_ms: "]

    def __call__(self, statements: Sequence[str]) -> list[Rows]:
        return [self._answer(statement) for statement in statements]

    def _answer(self, statement: str) -> Rows:
        self.said.append(statement)
        if "information_schema.TABLES" in statement:
            return [[name, storage] for name, storage in self.tables]
        if statement.startswith("SHOW GLOBAL VARIABLES"):
            return [["innodb_io_capacity", "200"], ["innodb_max_dirty_pages_pct", "75.000000"]]
        if statement.startswith("SHOW GLOBAL STATUS"):
            left = self.dirty.pop(0) if len(self.dirty) > 1 else self.dirty[0]
            pages = {"total": 1000, "dirty": left, "free": 5}
            return [[f"Innodb_buffer_pool_pages_{name}", str(n)] for name, n in pages.items()]
        if statement == data.THREADS:
            return [["BG_THREADS", "1", self.busy.pop(0)], ["DBSTATS", "", ""]]
        return [["0"]]


pytestmark = pytest.mark.usefixtures("short_sleeps")


def test_innodb_is_hurried_until_a_hundredth_is_dirty_and_put_back() -> None:
    told = Told(("a", "InnoDB"), ("b", "InnoDB"), dirty=(500, 11, 10))
    settle(told, ours=True)
    assert told.said.count(data.DIRTY) == 3
    assert {"ANALYZE TABLE `a`", "ANALYZE TABLE `b`"} <= set(told.said)
    settings = [statement for statement in told.said if statement.startswith("SET")]
    assert settings == [
        "SET GLOBAL innodb_io_capacity = 20000",
        "SET GLOBAL innodb_max_dirty_pages_pct = 1",
        "SET GLOBAL innodb_max_dirty_pages_pct = 75.000000",
        "SET GLOBAL innodb_io_capacity = 200",
    ]


def test_pages_that_stay_dirty_fail_the_trial_and_the_settings_are_put_back() -> None:
    told = Told(("a", "InnoDB"), dirty=(500,))
    with pytest.raises(TrialFailed, match="InnoDB's dirty pages were not written back in 0 s"):
        settle(told, ours=True, limit_s=0.0)
    assert told.said[-1] == "SET GLOBAL innodb_io_capacity = 200"


def test_myrocks_is_flushed_and_waited_for_until_no_thread_compacts() -> None:
    told = Told(("a", "ROCKSDB"))
    settle(told, ours=True)
    assert told.said.count(data.THREADS) == 2
    assert data.ROCKS_FLUSH in told.said and told.said[-1] == "ANALYZE TABLE `a`"


def test_other_engines_close_their_tables_and_an_empty_database_needs_nothing() -> None:
    told = Told(("a", "Aria"))
    settle(told, ours=True)
    assert told.said[-1] == "FLUSH TABLES"
    nothing = Told()
    settle(nothing, ours=True)
    assert nothing.said[1:] == ["DO 0"]


def test_what_passes_with_the_process_does_not_part_kept_loads() -> None:
    engine = find_engine("mysql", lambda *_: [])
    settings = {"profile": "io-bound", "query_cache_size": "1M", "engine": "MyISAM"}
    kept = engine.select_file_settings(settings)  # type: ignore[attr-defined]
    assert kept == {"engine": "MyISAM"}
    rows = 10**9
    plain = engine.estimate_disk_bytes(rows, {})  # type: ignore[attr-defined]
    logged = engine.estimate_disk_bytes(rows, {"log_bin": "on"})  # type: ignore[attr-defined]
    assert logged == plain + rows
