"""DuckDB, nothing faked: fetched by npm, played from load to ledger; its session's own tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from played_workloads import SMALL_TPCC, assert_ledger_balances, play
from repository import ROOT

from dyno import driver
from dyno.cli import run_words
from dyno.engines import find_engine

pytestmark = [pytest.mark.timeout(400)]

OLD, NEW = "1.1.3", "1.5.6"
BRIEF = ["--set", "time=0.3", "--set", "table_size=200"]
BRIEF_INSERT = ["load_rows=1000", "write_rows=500", "query_seconds=0.2", "query_rates=100"]


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize(
    ("workload", "options"),
    [
        ("oltp_point_select", BRIEF),
        ("oltp_insert", [*BRIEF, "--set", "threads=2"]),
        ("insert", [word for option in BRIEF_INSERT for word in ("--set", option)]),
    ],
)
def test_a_workload_ends_with_a_true_ledger(
    version: str, workload: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["play", f"duckdb@{version}", "-w", workload, *options]) == 0
    said = capsys.readouterr().out
    (ledger,) = (line for line in said.splitlines() if line.startswith("ledger: rows ="))
    found, expected = (word for word in ledger.split() if word.isdigit())
    assert found == expected != "0"


def test_tpcc_is_played_and_keeps_its_conditions(tmp_path: Path) -> None:
    engine = find_engine("duckdb", driver.ask)
    server = engine.start(engine.program(NEW, {}, lambda _: None), tmp_path, {})
    played = play(server.session, "tpcc", tmp_path, **(SMALL_TPCC | {"events": 200, "threads": 2}))
    (tally,) = played.phases["run"].streams
    assert tally.done > 100 and {"new_order", "payment"} <= tally.transactions.keys()
    assert_ledger_balances(played)


def test_settings_are_read_back_as_they_were_set(tmp_path: Path) -> None:
    engine = find_engine("duckdb", driver.ask)
    build = engine.program(OLD, {}, lambda _: None)
    server = engine.start(build, tmp_path, {"memory_limit": "300MiB", "threads": "2"})
    found = engine.settings(server)
    assert (found["version"], found["threads"]) == (OLD, "2")
    assert found["memory_limit"] == "300.0 MiB"
    engine.settle(server)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_the_session_keeps_its_promises_to_this_version(version: str) -> None:
    library = find_engine("duckdb", driver.ask).program(version, {}, lambda _: None).program
    done = subprocess.run(
        # of the whole workspace, as everybody's: `-p` alone has other features, and compiles anew
        ["cargo", "test", "--quiet", "--workspace", "duckdb", "--", "--include-ignored"],
        cwd=ROOT,
        env=os.environ | {"DYNO_TEST_DUCKDB": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 7 passed; 0 failed; 0 ignored" in done.stdout
