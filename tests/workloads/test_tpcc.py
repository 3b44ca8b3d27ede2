"""The workload `tpcc` on SQLite: its ledger and conditions, and that each is caught broken."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from played_workloads import (
    NULL,
    SMALL_TPCC,
    Played,
    changed_tpcc,
    described,
    failures,
    make_plan,
    play,
    wrong_entries,
)

from dyno import driver, engines
from dyno.driver.plan import Session
from dyno.errors import DynoError

SMALL = SMALL_TPCC | {"events": 1000}


def a_session(folder: Path) -> Session:
    engine = engines.find_engine("sqlite", driver.ask)
    return engine.start(engine.program("system", {}, lambda _: None), folder, {}).session


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A run as it should be, on a database that no test changes."""
    home = tmp_path_factory.mktemp("played")
    return play(a_session(home), "tpcc", home, **SMALL)


def test_a_run_breaks_no_condition_and_nothing_fails(played: Played) -> None:
    assert not failures(played)
    assert not wrong_entries(played.plan, played.counters)
    counters = played.counters
    tally = played.phases["run"].streams[0]
    assert tally.transactions["new_order"].count == counters["new_orders"]
    assert tally.transactions["new_order_rolled_back"].count == counters["rolled_back"]
    assert counters["rolled_back"] > 0 and counters["delivered"] > 0 < counters["remote_lines"]


def test_the_five_transactions_come_in_the_standard_mix(played: Played) -> None:
    (tally,) = played.phases["run"].streams
    shares = {name: latency.count / tally.done for name, latency in tally.transactions.items()}
    expected = {"new_order": 0.45, "payment": 0.43, "order_status": 0.04, "delivery": 0.04}
    expected |= {"stock_level": 0.04, "new_order_rolled_back": 0.0045}
    assert shares.keys() == expected.keys()
    assert all(abs(shares[name] - share) < 0.06 for name, share in expected.items())


#: What is done to the tables of a good run, and which condition that breaks.
BREAKS = {
    "1:": "UPDATE district SET d_ytd = d_ytd + 0.01 WHERE d_w_id = 1 AND d_id = 1",
    "2:": "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 2 AND d_id = 3",
    "3:": "DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = (SELECT"
    " MIN(no_o_id) + 1 FROM new_orders WHERE no_w_id = 1 AND no_d_id = 1)",
    "4:": "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1",
    "5: O_CARRIER_ID": "UPDATE orders SET o_carrier_id = 1 WHERE o_carrier_id IS NULL",
    "5: NEW-ORDER": "INSERT INTO new_orders VALUES (9999, 1, 1)",
    "6:": "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1",
    "7:": "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_o_id = 1 AND ol_number = 1",
    "8:": "UPDATE warehouse SET w_ytd = NULL WHERE w_id = 2",
    "9:": "DELETE FROM history WHERE h_w_id = 1 AND h_d_id = 1",
    "10:": "UPDATE customer SET c_balance = c_balance + 0.01 WHERE c_id = 5",
    "12:": "UPDATE customer SET c_ytd_payment = c_ytd_payment - 0.01 WHERE c_id = 5",
}
#: The same of columns that no condition covers.
COLUMNS = {
    "O_CARRIER_ID is": "UPDATE orders SET o_carrier_id = 11 WHERE o_id = 1",
    "OL_NUMBER": "UPDATE order_line SET ol_number = 99 WHERE ol_o_id = 1 AND ol_number = 1",
    "S_YTD": "UPDATE order_line SET ol_i_id = 201 - ol_i_id WHERE ol_o_id > 60",
    "OL_AMOUNT": "UPDATE order_line SET ol_quantity = ol_quantity + 1 WHERE ol_o_id > 60",
    "OL_DIST_INFO": "UPDATE order_line SET ol_dist_info = 'none' WHERE ol_o_id > 60",
    "C_DATA": "UPDATE customer SET c_data = 'none' WHERE c_credit = 'BC'",
    "O_ENTRY_D": "UPDATE orders SET o_entry_d = NULL WHERE o_id = 61",
    "H_DATE": "UPDATE history SET h_data = NULL WHERE h_c_id = 1",
    "pieces in stock": "UPDATE stock SET s_quantity = s_quantity + 1 WHERE s_i_id = 5",
}
#: Conditions of which a table without rows says nothing at all to a check that joins.
EMPTIED = {
    "1:": "district",
    "2:": "orders",
    "4:": "order_line",
    "5: O_CARRIER_ID": "new_orders",
    "6:": "orders",
    "7:": "order_line",
    "8:": "history",
    "9:": "district",
    "10:": "customer",
    "12:": "customer",
}


def wrong_after(played: Played, folder: Path, statement: str) -> list[str]:
    """The ledger's wrong entries once the statement has changed a copy of the run's tables."""
    copy = folder / "copy"
    shutil.copyfile(str(played.session["database"]), copy)
    with sqlite3.connect(copy) as connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()
    plan = make_plan(played.session | {"database": str(copy)}, "tpcc", **SMALL)
    return wrong_entries(plan, played.counters)


@pytest.mark.parametrize("condition", BREAKS)
def test_a_condition_that_is_broken_is_named(
    played: Played, tmp_path: Path, condition: str
) -> None:
    wrong = wrong_after(played, tmp_path, BREAKS[condition])
    assert any(name.startswith(f"condition {condition}") for name in wrong), wrong


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_that_was_not_written_is_named(
    played: Played, tmp_path: Path, column: str
) -> None:
    wrong = wrong_after(played, tmp_path, COLUMNS[column])
    assert any(name.startswith(column) for name in wrong), wrong


@pytest.mark.parametrize("condition", EMPTIED)
def test_a_condition_does_not_hold_of_nothing(
    played: Played, tmp_path: Path, condition: str
) -> None:
    wrong = wrong_after(played, tmp_path, f"DELETE FROM {EMPTIED[condition]}")
    assert any(name.startswith(f"condition {condition}") for name in wrong), wrong


TRANSACTIONS, INPUT, POPULATION = "_tpcc_transactions", "_tpcc_input", "_tpcc_population"
RESULTS = "_tpcc_results"
#: Known defects of others: what is put where in our files, and the ledger's entry that finds it.
DEFECTS: dict[str, tuple[list[tuple[str, str, str]], str]] = {
    "the rollback of an invalid item is lost": (
        [(TRANSACTIONS, "  send.rollback()\n", "  send.commit()\n")],
        "orders = loaded + New-Orders committed",
    ),
    "the invalid item is swallowed": (
        [(TRANSACTIONS, "return take_back(drawn, inserted)", "break")],
        "unused items = New-Orders rolled back",
    ),
    "missing stock is skipped": (
        [
            (
                POPULATION,
                '  con:query("COMMIT")\n',
                '  con:query("DELETE FROM stock WHERE s_i_id <= 10")\n  con:query("COMMIT")\n',
            ),
            (TRANSACTIONS, "    local dist = take_stock(drawn, line)\n", ""),
        ],
        "condition 6: O_OL_CNT = count(ORDER-LINE) of each order",
    ),
    "the middle surname is the wrong one": (
        [(RESULTS, "math.ceil(count / 2)", "math.floor(count / 2) + 1")],
        "customers by name that were not the middle one",
    ),
    "Order-Status reads another customer than it chose": (
        [(TRANSACTIONS, "send.last_order(w, d, c)", "send.last_order(w, d, c % 60 + 1)")],
        "Order-Status of another customer's order",
    ),
    "COMMIT stands inside the loop of Delivery": (
        [
            (
                TRANSACTIONS,
                "    delivered = delivered + deliver(drawn, d)\n",
                "    delivered = delivered + deliver(drawn, d)\n    commit()\n    send.begin()\n",
            )
        ],
        "commits = transactions",
    ),
    "o_all_local is inserted before it is known": (
        [(TRANSACTIONS, "#lines, drawn.all_local)", "#lines, 1)")],
        "O_ALL_LOCAL is 1 where no line is remote",
    ),
    "the rollback comes before the work": (
        [
            (
                TRANSACTIONS,
                "  send.begin()\n  required(send.buyer",
                "  send.begin()\n  if drawn.is_invalid then return take_back(drawn, 0) end\n"
                "  required(send.buyer",
            )
        ],
        "order lines = loaded + drawn - rolled back",
    ),
    "every order has ten lines": (
        [(INPUT, "uniform(5, 15)", "uniform(10, 10)")],
        "all numbers of lines from 5 to 15 occur",
    ),
}
#: A longer one, in the place of the empty text above.
SKIPPING = {
    TRANSACTIONS: "    local known = row(send.stock[d](line.item, line.supply))\n"
    "    local dist = known and take_stock(drawn, line)\n    if known then\n",
}


def injected(folder: Path, changes: list[tuple[str, str, str]]) -> Path:
    """Our script in a folder of its own, changed; each change must find its place."""
    filled = [(name, old, new or SKIPPING[name]) for name, old, new in changes]
    if any(not new for _, _, new in changes):
        filled.append((TRANSACTIONS, "dist).nrows\n", "dist).nrows end\n"))
    return changed_tpcc(folder, filled)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_known_defect_of_others_is_caught(defect: str, tmp_path: Path) -> None:
    changes, entry = DEFECTS[defect]
    script = injected(tmp_path / "injected", changes)
    found = play(a_session(tmp_path), str(script), tmp_path, **SMALL)
    assert entry in wrong_entries(found.plan, found.counters)


def test_users_key_in_and_think_between_transactions_and_not_in_a_latency(tmp_path: Path) -> None:
    """A hundredth of the standard's: 21 s between two transactions are 0.21 s."""
    options = SMALL_TPCC | {"pauses": 0.01, "threads": 8, "time": 3}
    found = play(a_session(tmp_path), "tpcc", tmp_path, **options)
    record = found.phases["run"]
    (tally,) = record.streams
    assert not wrong_entries(found.plan, found.counters)
    time_s = 8 * record.duration_s
    assert tally.done == pytest.approx(time_s / (0.2099 + tally.latency.mean_ns / 1e9), rel=0.25)
    filled_s = (tally.rested_ns + tally.latency.mean_ns * tally.done) / 1e9
    assert filled_s == pytest.approx(time_s, rel=0.01)


@pytest.mark.slow
def test_users_who_rest_do_not_begin_at_once(tmp_path: Path) -> None:
    found = play(NULL, "tpcc", tmp_path, **SMALL_TPCC, pauses=1, threads=200, time=1)
    (tally,) = found.phases["run"].streams
    assert 0 < tally.done < 60 and tally.rested_ns > 195e9


def test_pauses_and_a_rate_are_refused_together() -> None:
    with pytest.raises(DynoError, match="set one of both"):
        described("tpcc", pauses=1, rate=10)


def test_batches_are_refused_where_there_is_no_round_trip(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="sqlite has none"):
        play(a_session(tmp_path), "tpcc", tmp_path, **SMALL, batched=True)


def test_a_schema_that_refuses_every_new_order_is_no_speed(tmp_path: Path) -> None:
    options = SMALL | {"dates": "not_null", "events": 200}
    found = play(a_session(tmp_path), "tpcc", tmp_path, **options)
    (tally,) = found.phases["run"].streams
    assert "new_order" not in tally.transactions and tally.failed > 0
    wrong = wrong_entries(found.plan, found.counters)
    assert wrong == ["users all of whose New-Orders failed"]


@pytest.mark.parametrize("options", [{"dates": "default"}, {"foreign_keys": "on"}])
def test_the_schemas_variants_hold_the_same_conditions(
    tmp_path: Path, options: dict[str, str]
) -> None:
    found = play(a_session(tmp_path), "tpcc", tmp_path, **(SMALL | {"events": 200} | options))
    assert not failures(found)
    assert not wrong_entries(found.plan, found.counters)


def test_a_population_that_is_wrong_is_not_played(tmp_path: Path) -> None:
    wrong = 'con:query("UPDATE district SET d_next_o_id = d_next_o_id + 1")\n  con:query("COMMIT")'
    changes = [(POPULATION, 'con:query("COMMIT")', wrong)]
    script = injected(tmp_path / "injected", changes)
    with pytest.raises(DynoError, match="the initial population breaks condition 2"):
        play(a_session(tmp_path), str(script), tmp_path, **SMALL)


def test_the_same_seed_loads_the_same_rows_and_another_seed_others(tmp_path: Path) -> None:
    def loaded(seed: int, name: str) -> str:
        at = a_session(tmp_path) | {"database": str(tmp_path / name)}
        played = play(at, "tpcc", tmp_path, seed=seed, **(SMALL | {"events": 1}))
        return played.text(
            "SELECT group_concat(s_data || s_dist_01) || (SELECT group_concat(ol_i_id) "
            "FROM order_line WHERE ol_o_id <= 60) FROM stock"
        )

    first = loaded(1, "a")
    assert loaded(1, "b") == first
    assert loaded(2, "c") != first
