"""`dyno explain` on DuckDB's files, of the newest version and of one whose profile tells less."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from explaining import QUICK, explain, times_of

from dyno import driver
from dyno.engines import find_engine
from dyno.errors import UsageError

TABLES = "CREATE TABLE orders AS SELECT i AS id, i % 500 AS customer FROM range(50000) t(i)"


@pytest.mark.parametrize("version", ["1.1.3", "1.5.6"])
def test_operators_are_told_and_nothing_is_written(version: str, tmp_path: Path) -> None:
    build = find_engine("duckdb", driver.ask).program(version, {}, lambda _: None)
    file = tmp_path / "shop.duckdb"
    session = {"kind": "duckdb", "library": str(build.program), "database": str(file)}
    driver.ask({**session, "settings": []}, [TABLES])
    before = file.read_bytes()
    dsn = f"duckdb@{version}:{file}"
    found = explain(dsn, "SELECT count(*) FROM orders WHERE customer = 7")
    assert {"parse", "execute", "storage engine", "not attributed"} <= times_of(found).keys()
    assert ("optimise" in times_of(found)) == (version == "1.5.6")
    assert any("SCAN" in node.name and node.us for node in found.nodes)
    with pytest.raises(UsageError, match="the statement writes"):
        explain(dsn, "DELETE FROM orders")
    assert file.read_bytes() == before
    assert explain(dsn, "DELETE FROM orders", replace(QUICK, writes=True, runs=1)).changed == 50000
    found = explain(str(file), "SELECT count(*) FROM orders")
    assert found.engine == "duckdb" and found.rows == 1
