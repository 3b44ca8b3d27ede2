"""Workload `ssb`: its rows held against ssb-dbgen's; on SQLite its answers, what is injected in
them, the ledger, tables of others.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from played_workloads import (
    NULL,
    assert_ledger_balances,
    described,
    done,
    failures,
    play,
)

from dyno import driver
from dyno.driver.plan import Session
from dyno.errors import DynoError, UsageError

pytestmark = pytest.mark.slow

#: One run of each query: what is measured is not the matter here.
BRIEF: dict[str, Any] = {"runs": 1, "discard": 0}
#: SHA-256 of the files that ssb-dbgen writes at scale 1, of our rows in its form.
DIGESTS = {
    "part": "7c1b8e710b9677d75f34939b965cb512cbe4d313d1316301d25bf6fc5965f54c",
    "supplier": "d09faf5a22389e895eb27eb3989934715c8124a0048fd66b06c75a833b420e2e",
    "customer": "1948243884d70a882945cf4f65df79f46ee7e5b8d2daa304bfaa3d20925b5326",
    "date": "a389677a574fc53906f17b3bfb0be93dd4ebe9c12295d45c01eb1c58a1152aa7",
    "lineorder": "8f976c4d1512b731a15852f501de9481089591d0d7b700ff07d7bcbfb137ae88",
}


@pytest.mark.parametrize("table", DIGESTS)
def test_rows_at_scale_1_are_ssb_dbgens_byte_for_byte(table: str) -> None:
    """That program ends each field with a bar."""
    command = [str(driver.find_driver()), "rows", json.dumps({"kind": "ssb", "table": table})]
    digest = hashlib.sha256()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as made:
        assert made.stdout
        while text := made.stdout.read(1 << 20):
            digest.update(text.replace(b"\t", b"|").replace(b"\n", b"|\n"))
    assert (made.returncode, digest.hexdigest()) == (0, DIGESTS[table])


@pytest.fixture
def loaded(sqlite: Session, tmp_path: Path) -> Session:
    play(sqlite, "ssb", tmp_path, ("prepare",))
    return sqlite


def test_every_answer_is_checked_and_every_row_accounted_for(
    sqlite: Session, tmp_path: Path
) -> None:
    played = play(sqlite, "ssb", tmp_path, **BRIEF, streams=2)
    assert not failures(played)
    assert (done(played, "answers"), done(played, "throughput")) == (13, 26)
    assert [name for name in played.phases if name[0] == "q"][:4] == [
        "q1.1",
        "q1.2",
        "q1.3",
        "q2.1",
    ]
    sizes = {"part": 2000, "supplier": 20, "customer": 300, "date": 2557, "lineorder": 60162}
    assert played.counters == {f"loaded_{name}": count for name, count in sizes.items()}
    assert_ledger_balances(played)


@pytest.mark.parametrize(
    ("fault", "query"),
    [
        ("UPDATE lineorder SET lo_discount = 2 WHERE lo_discount = 4", "Q1.1"),
        ("UPDATE date SET d_weeknuminyear = 7 WHERE d_weeknuminyear = 6", "Q1.3"),
        ("UPDATE part SET p_brand1 = 'MFGR#2220' WHERE p_brand1 = 'MFGR#2222'", "Q2.2"),
        ("UPDATE customer SET c_region = 'ASIA' WHERE c_region = 'EUROPE'", "Q3.1"),
        ("UPDATE lineorder SET lo_supplycost = lo_supplycost + 1", "Q4.1"),
    ],
)
def test_a_wrong_answer_ends_the_trial(
    loaded: Session, tmp_path: Path, fault: str, query: str
) -> None:
    driver.ask(loaded, [fault])
    with pytest.raises(DynoError, match=f"{query} is answered wrong at scale 0.01"):
        play(loaded, "ssb", tmp_path, ("run",), **BRIEF)


def test_answers_of_any_scale_are_those_that_another_run_has_written(
    sqlite: Session, tmp_path: Path
) -> None:
    file = tmp_path / "answers.lua"
    written = {"scale": 0.02, "answers": file, "keys": "off", "indexes": "off"}
    play(sqlite, "ssb", tmp_path, ("prepare", "run"), **BRIEF, **written, check="print")
    played = play(sqlite, "ssb", tmp_path, ("run",), **BRIEF, **written)
    assert done(played, "answers") == 13
    driver.ask(sqlite, ["DELETE FROM lineorder WHERE lo_orderkey = 1"])
    with pytest.raises(DynoError, match=r"is answered wrong at scale 0\.02"):
        play(sqlite, "ssb", tmp_path, ("run",), **BRIEF, **written)
    with pytest.raises(DynoError, match=r"holds no answers of ssb at scale 0\.03"):
        described("ssb", scale=0.03, answers=file)
    with pytest.raises(DynoError, match=r"holds no answers of dbt3 at scale 0\.02"):
        described("dbt3", scale=0.02, answers=file)


def test_a_file_of_answers_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="answers: cannot open"):
        described("ssb", answers=tmp_path / "absent")
    for text in ("known[1] = ", "error()", "x = 1"):
        (tmp_path / "file").write_text(text)
        with pytest.raises(DynoError, match="answers: "):
            described("ssb", answers=tmp_path / "file")


def test_tables_of_others_are_not_dropped(sqlite: Session, tmp_path: Path) -> None:
    driver.ask(sqlite, ["CREATE TABLE date (mine TEXT)", "INSERT INTO date VALUES ('kept')"])
    with pytest.raises(DynoError, match="date"):
        play(sqlite, "ssb", tmp_path, ("prepare",))
    play(sqlite, "ssb", tmp_path, ("cleanup",))
    tables, rows = driver.ask(
        sqlite, ["SELECT name FROM sqlite_master WHERE type = 'table'", "SELECT mine FROM date"]
    )
    assert (tables, rows) == ([["date"]], [["kept"]])


def test_cleanup_leaves_nothing(loaded: Session, tmp_path: Path) -> None:
    play(loaded, "ssb", tmp_path, ("cleanup",))
    (((count,),),) = driver.ask(loaded, ["SELECT COUNT(*) FROM sqlite_master"])
    assert count == "0"


@pytest.mark.parametrize(("keys", "indexes", "made"), [("off", "off", 0), ("on", "on", 5)])
def test_keys_and_indexes_are_optional(
    sqlite: Session, tmp_path: Path, keys: str, indexes: str, made: int
) -> None:
    played = play(sqlite, "ssb", tmp_path, ("prepare",), keys=keys, indexes=indexes)
    assert played.number("SELECT COUNT(*) FROM sqlite_master WHERE type = 'index'") == made


def test_an_engine_without_a_limit_refuses_it(sqlite: Session, tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=r"query_limit: sqlite .*gives no query up"):
        play(sqlite, "ssb", tmp_path, **BRIEF, query_limit=1)


def test_an_unknown_dialect_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="no bulk load is known in the dialect 'oracle'"):
        play(NULL, "ssb", tmp_path, ("prepare",), db_driver="oracle")


@pytest.mark.parametrize(
    "options",
    [{"scale": 0.001}, {"scale": 1.5}, {"scale": 1001}, {"runs": 0}, {"check": "x"}],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        described("ssb", **options)


def test_plans_are_asked_of_all_queries() -> None:
    names = [entry.name for entry in described("ssb").plans]
    assert (len(names), names[0], names[-1]) == (13, "Q1.1", "Q4.3")


def test_what_is_not_known_is_not_checked() -> None:
    assert "answers" not in [phase.name for phase in described("ssb", scale=0.02).phases]
