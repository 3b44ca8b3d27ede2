"""What the insert benchmark's secondary indexes do on real servers: built, cached, counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from mysql_family import answers, asked, running

from dyno import driver, workloads
from dyno.driver.plan import Plan, Script
from dyno.engines import Preloads, Server

pytestmark = [pytest.mark.timeout(180)]

ROWS = 2_000
#: Of far more pages than the server reads to estimate an index's statistics.
MANY = 150_000
INDEXES = ("marketsegment", "registersegment", "pdc")
CACHED = (
    "SELECT INDEX_NAME, COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE"
    " WHERE TABLE_NAME LIKE '%pi1%' AND PAGE_TYPE = 'INDEX' GROUP BY 1"
)
READ = "SHOW GLOBAL STATUS LIKE 'Handler_read_next'"


def _plan(server: Server, rows: int) -> Plan:
    options = {"load_rows": str(rows), "write_rows": "50", "queries": ""}
    return Plan(
        server.session, Script(str(workloads.find_workload("insert")), options), 7, progress_s=0
    )


def _cached(server: Server) -> list[int]:
    """How many pages of each secondary index lie in the buffer pool."""
    found = answers(asked(server, CACHED))
    return [int(found.get(f"pi1_{name}", "0")) for name in INDEXES]


def _indexed(server: Server, home: Path, rows: int) -> Sequence[int]:
    """Plays l.i0 and l.x; the pages in the buffer pool after that."""
    with driver.DriverProcess(
        _plan(server, rows), driver.DriverLaunch(home / "driver.log")
    ) as process:
        while not isinstance(event := process.read_event(driver.Limit("a phase", 60)), driver.End):
            if isinstance(event, driver.Ready) and event.phase == "l.i1":
                return _cached(server)
            process.go()
    raise AssertionError("no l.i1")


@pytest.mark.parametrize(("text", "keeps"), [("mysql@5.6.14", True), ("mysql@8.0.33", False)])
def test_only_8_0_drops_the_index_that_it_has_built_and_preload_brings_it_back(
    home: Path, text: str, keeps: bool
) -> None:
    """docs/evidence/insert-caching.md: why the cached experiments preload."""
    with running(text, home) as (engine, server):
        built = _indexed(server, home, MANY)
        assert isinstance(engine, Preloads)
        engine.preload(server)
        whole = _cached(server)
    assert min(whole) > 200
    shares = [left / all_ for left, all_ in zip(built, whole, strict=True)]
    assert min(shares) > 0.9 if keeps else max(shares) < 0.7, f"{built} of {whole} pages"


@pytest.mark.parametrize("text", ["mysql@5.6.14", "mysql@8.0.33", "mariadb@debian"])
def test_the_ledger_reads_the_entries_of_each_index(home: Path, text: str) -> None:
    with running(text, home) as (_, server):
        _indexed(server, home, ROWS)
        described = driver.describe(_plan(server, ROWS))
        counts = [entry.sql for entry in described.ledger if "entries" in entry.name]
        for sql in counts:
            before = int(answers(asked(server, READ))["Handler_read_next"])
            assert int(str(asked(server, sql)[0][0])) == ROWS + 100
            after = int(answers(asked(server, READ))["Handler_read_next"])
            assert after - before >= ROWS
    assert len(counts) == len(INDEXES)
