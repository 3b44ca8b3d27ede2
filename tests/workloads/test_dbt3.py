"""Workload `dbt3` on SQLite: answers, what is injected in them, the ledger, tables of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from played_scripts import Player
from played_workloads import (
    NULL,
    assert_ledger_balances,
    described,
    done,
    failures,
    make_plan,
    play,
)

from dyno import driver, workloads
from dyno.driver.plan import Plan, Session
from dyno.errors import DynoError, UsageError

pytestmark = pytest.mark.slow

#: One run of each query: what is measured is not the matter here.
BRIEF: dict[str, Any] = {"runs": 1, "discard": 0}
LINES, ORDERS = 60175, 15000


def play_command(session: Session, command: str, home: Path, **options: Any) -> None:
    plan = make_plan(session, "dbt3", **BRIEF | options)
    part = Plan(plan.session, plan.script, plan.seed, (command,), progress_s=0)
    with driver.DriverProcess(part, driver.DriverLaunch(home / "driver.log")) as process:
        while not isinstance(process.read_event(driver.Limit("a phase", 60)), driver.End):
            process.go()


#: Refreshes one set by a connection whose first deletion of orders meets a deadlock.
DEADLOCK = """
sysbench.cmdline.options = {scale = {"", 0.01}}
local tables = require("_dbt3_tables")
function tables:load(con, name)
  con:query("LOAD " .. name)
  return 15
end
local refresh = require("_dbt3_refresh")
local con, is_first = {}, true
function con:query(sql)
  print(sql)
  if sql:find("DELETE FROM orders") and is_first then
    is_first = false
    error({errcode = sysbench.error.RESTART_EVENT})
  end
  return {nrows = 15}
end
function event()
  refresh.exchange(con, 2)
end
"""


def test_a_set_whose_deletion_begins_anew_is_loaded_once_and_counted(tmp_path: Path) -> None:
    for file in workloads.find_workload("dbt3").parent.glob("_*.lua"):
        (tmp_path / file.name).symlink_to(file)
    player = Player(tmp_path)
    tally, counters = player(DEADLOCK, events=1, time=0)
    assert (tally.done, tally.restarted) == (1, 1)
    assert set(counters.values()) == {15} and len(counters) == 4
    sent = player.printed()
    assert sent.count("LOAD orders") == 1 and sent.count("DELETE FROM orders") == 2
    assert sent.index("DELETE FROM lineitem") < sent.index("DELETE FROM orders")


@pytest.fixture
def loaded(sqlite: Session, tmp_path: Path) -> Session:
    play_command(sqlite, "prepare", tmp_path)
    return sqlite


def test_every_answer_is_checked_and_every_row_accounted_for(
    sqlite: Session, tmp_path: Path
) -> None:
    played = play(sqlite, "dbt3", tmp_path, **BRIEF, streams=2)
    assert not failures(played)
    assert done(played, "answers") == 22
    power = [name for name in played.phases if name.startswith("q")]
    assert power[:3] == ["q14", "q02", "q09"] and len(power) == 22
    assert done(played, "throughput") == 2 * 23
    assert (played.counters["loaded_lineitem"], played.counters["loaded_orders"]) == (LINES, ORDERS)
    assert played.counters["inserted_orders"] == played.counters["deleted_orders"] == 3 * 15
    assert played.counters["inserted_lineitem"] == played.counters["deleted_lineitem"] > 0
    assert_ledger_balances(played)


@pytest.mark.parametrize(
    ("fault", "query"),
    [
        ("UPDATE lineitem SET l_tax = l_tax + 0.01 WHERE l_orderkey = 1", "Q01"),
        ("DELETE FROM region WHERE r_name = 'EUROPE'", "Q02"),
        (
            "UPDATE orders SET o_comment = 'special requests' WHERE o_orderkey = 1",
            "Q13",
        ),
        ("UPDATE supplier SET s_comment = 'Customer Complaints' WHERE s_suppkey = 3", "Q16"),
        ("UPDATE customer SET c_acctbal = c_acctbal + 1 WHERE c_acctbal > 0", "Q22"),
    ],
)
def test_a_wrong_answer_ends_the_trial(
    loaded: Session, tmp_path: Path, fault: str, query: str
) -> None:
    driver.ask(loaded, [fault])
    changed = [f"{query} is answered wrong"]
    if query == "Q22":  # Q2 shows balances of suppliers only; Q10 those of customers
        changed.append("Q10 is answered wrong")
    with pytest.raises(DynoError) as caught:
        play_command(loaded, "run", tmp_path)
    assert any(text in str(caught.value) for text in changed), caught.value


def test_tables_of_others_are_not_dropped(sqlite: Session, tmp_path: Path) -> None:
    driver.ask(sqlite, ["CREATE TABLE orders (mine TEXT)", "INSERT INTO orders VALUES ('kept')"])
    with pytest.raises(DynoError, match="orders"):
        play_command(sqlite, "prepare", tmp_path)
    play_command(sqlite, "cleanup", tmp_path)
    tables, rows = driver.ask(
        sqlite, ["SELECT name FROM sqlite_master WHERE type = 'table'", "SELECT mine FROM orders"]
    )
    assert (tables, rows) == ([["orders"]], [["kept"]])


def test_cleanup_leaves_nothing(loaded: Session, tmp_path: Path) -> None:
    play_command(loaded, "cleanup", tmp_path)
    (((count,),),) = driver.ask(loaded, ["SELECT COUNT(*) FROM sqlite_master"])
    assert count == "0"


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_engine_without_a_limit_refuses_it(sqlite: Session, tmp_path: Path, engine: str) -> None:
    with pytest.raises(DynoError, match=f"query_limit: {engine} .*gives no query up"):
        play(sqlite, "dbt3", tmp_path, **BRIEF, query_limit=1)


@pytest.mark.parametrize(
    "options", [{"scale": 0.001}, {"scale": 0}, {"runs": 0}, {"check": "perhaps"}, {"streams": -1}]
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        described("dbt3", **options)


def test_plans_are_asked_of_all_queries() -> None:
    plans = described("dbt3").plans
    assert [entry.name for entry in plans] == [f"Q{number:02}" for number in range(1, 23)]
    assert not any("$" in entry.sql for entry in plans)


def test_what_is_not_known_is_not_checked() -> None:
    phases = [phase.name for phase in described("dbt3", scale=0.02).phases]
    assert "answers" not in phases and "q01" in phases
    assert NULL["kind"] == "null"
