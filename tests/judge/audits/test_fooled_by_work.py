"""Ways to be fooled by other work than was asked for: injected in runs that are played, and caught.

On SQLite and DuckDB; `tests/on_servers/judge/test_fooled_by_work_on_servers.py` injects the same
on servers.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from injected_faults import findings, injected, skipping_library
from ways_to_be_fooled import assert_caught

pytestmark = pytest.mark.slow

#: What is known of statements, rows and the client's time.
OURS = ("rows_changed", "committed", "same_work", "client_time", "errors")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_TMP", str(tmp_path))


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_the_same_work_on_both_sides_is_sound(tmp_path: Path, engine: str) -> None:
    found = injected(tmp_path, "none", engine)
    told = {f.audit: f.soundness for f in found if f.audit in OURS}
    assert told == dict.fromkeys(OURS, "sound"), found


def test_an_engine_that_skips_every_tenth_update(tmp_path: Path) -> None:
    library = skipping_library(tmp_path)
    if library is None:
        pytest.skip("no C compiler")
    options = {"events": "1000", "warmup_time": "0", "table_size": "1000"}
    for sides in (
        ("old=sqlite@system", f"new=sqlite@{library}"),
        (f"one=sqlite@{library}", f"two=sqlite@{library}?page_size=8192"),
    ):
        found = findings(tmp_path, sides, "oltp_update_non_index", options)
        assert_caught("skipped-updates", found, "sqlite")


#: A workload that writes texts over, with its options and, of SQLite's shim, a tenth of the writes.
OVERWRITING = {
    "oltp_update_non_index": {"table_size": "300"},
    "oltp_write_only": {"table_size": "300", "threads": "3"},
    "kv": {"mix": "a", "records": "300"},
    "micro": {"tests": "update-nonindex", "table_size": "300"},
}


@pytest.mark.parametrize("workload", OVERWRITING)
def test_an_engine_that_skips_every_tenth_update_and_says_that_it_did_it(
    tmp_path: Path, workload: str
) -> None:
    library = skipping_library(tmp_path, lies=True)
    if library is None:
        pytest.skip("no C compiler")
    options = OVERWRITING[workload] | {"events": "1000", "warmup_time": "0"}
    sides = f"one=sqlite@{library}", f"two=sqlite@{library}?page_size=8192"
    found = findings(tmp_path, sides, workload, options)
    assert_caught("lying-updates", found, "sqlite")
    told = [f.sentence for f in found if f.audit == "ledger" and f.soundness == "invalid"]
    assert any("written last" in sentence for sentence in told), told
    sound = findings(tmp_path, ("one=sqlite@system", sides[1]), workload, options)
    assert not [f for f in sound if f.soundness == "invalid" and " on one" in f.sentence]


def test_a_tenth_of_the_statements_left_out(tmp_path: Path) -> None:
    assert_caught("left-out", injected(tmp_path, "a tenth left out"), "sqlite")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_side_that_works_on_another_table(tmp_path: Path, engine: str) -> None:
    assert_caught("other-table", injected(tmp_path, "another table", engine), engine)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_side_that_always_asks_for_the_same_row(tmp_path: Path, engine: str) -> None:
    assert_caught("same-row", injected(tmp_path, "always the same row", engine), engine)


def test_a_side_that_loads_other_rows(tmp_path: Path) -> None:
    assert_caught("other-load", injected(tmp_path, "other rows loaded"), "sqlite")


def test_a_side_whose_init_sends_something_else(tmp_path: Path) -> None:
    assert_caught("other-init", injected(tmp_path, "another set-up"), "sqlite")


def test_a_side_that_sends_one_statement_more(tmp_path: Path) -> None:
    assert_caught("one-more", injected(tmp_path, "one statement more"), "sqlite")


@pytest.mark.parametrize("fault", ["ignored inserts", "updates of nothing", "deletes of nothing"])
def test_writes_that_change_nothing_on_any_side(tmp_path: Path, fault: str) -> None:
    assert_caught("nothing-changed", injected(tmp_path, fault, everywhere=True), "sqlite")


def test_errors_that_the_script_catches(tmp_path: Path) -> None:
    assert_caught("caught-errors", injected(tmp_path, "caught errors"), "sqlite")
    assert_caught("caught-errors", injected(tmp_path, "caught errors", everywhere=True), "sqlite")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_side_that_never_commits(tmp_path: Path, engine: str) -> None:
    assert_caught("never-commits", injected(tmp_path, "never commits", engine), engine)


def test_both_sides_never_commit(tmp_path: Path) -> None:
    assert_caught("never-commits", injected(tmp_path, "never commits", everywhere=True), "sqlite")


def test_a_side_that_rolls_back(tmp_path: Path) -> None:
    assert_caught("rolls-back", injected(tmp_path, "rolls back"), "sqlite")


def test_both_sides_roll_back(tmp_path: Path) -> None:
    found = injected(tmp_path, "rolls back", everywhere=True)
    assert_caught("all-rolled-back", found, "sqlite")


def test_a_side_that_reads_in_one_endless_transaction(tmp_path: Path) -> None:
    assert_caught("open-ends", injected(tmp_path, "reads in one transaction"), "sqlite")


@pytest.mark.parametrize("fault", ["sleeps", "rarely sleeps", "rests"])
def test_a_script_that_sleeps_on_one_side(tmp_path: Path, fault: str) -> None:
    assert_caught("script-sleeps", injected(tmp_path, fault), "sqlite")


def test_a_script_that_works_by_itself_on_one_side(tmp_path: Path) -> None:
    assert_caught("script-works", injected(tmp_path, "works"), "sqlite")


def test_a_script_that_waits_for_a_program_on_one_side(tmp_path: Path) -> None:
    assert_caught("script-waits", injected(tmp_path, "runs a program"), "sqlite")
