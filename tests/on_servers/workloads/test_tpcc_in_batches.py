"""The workload `tpcc` in batches: known defects of others, put into ours, are caught there too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from played_workloads import SMALL_TPCC, changed_tpcc, play, wrong_entries
from private_servers import serving

from dyno.engines import Server

pytestmark = [pytest.mark.timeout(300)]

BATCHED, RESULTS, INPUT, POPULATION = (
    f"_tpcc_{name}" for name in ("batched", "results", "input", "population")
)
CHARGE = "    send.charge(amount, w, one.d, c)\n"
WRITE = "  local inserted = write_lines(drawn, order, rows)\n"
COMMIT = '  con:query("COMMIT")\n'
#: What is put where in our files, and the ledger's entry that finds it.
DEFECTS: dict[str, tuple[list[tuple[str, str, str]], str]] = {
    "the rollback of an invalid item is lost": (
        [(BATCHED, "    send.rollback()\n", "    send.commit()\n")],
        "orders = loaded + New-Orders committed",
    ),
    "the invalid item is swallowed": (
        [(BATCHED, "if not rows[2 * #drawn.lines - 1] then", "if false then")],
        "condition 6: O_OL_CNT = count(ORDER-LINE) of each order",
    ),
    "missing stock is skipped": (
        [
            (POPULATION, COMMIT, '  con:query("DELETE FROM stock WHERE s_i_id <= 10")\n' + COMMIT),
            (BATCHED, "    if item then\n", "    if item and stock then\n"),
        ],
        "condition 6: O_OL_CNT = count(ORDER-LINE) of each order",
    ),
    "the middle surname is the wrong one": (
        [(RESULTS, "math.ceil(count / 2)", "math.floor(count / 2) + 1")],
        "customers by name that were not the middle one",
    ),
    "Order-Status reads another customer than it chose": (
        [(BATCHED, "send.last_order(w, d, c)", "send.last_order(w, d, c % 60 + 1)")],
        "Order-Status of another customer's order",
    ),
    "COMMIT stands inside the loop of Delivery": (
        [(BATCHED, CHARGE, CHARGE + "    commit()\n    send.begin()\n")],
        "commits = transactions",
    ),
    "o_all_local is inserted before it is known": (
        [(BATCHED, "#lines, drawn.all_local)", "#lines, 1)")],
        "O_ALL_LOCAL is 1 where no line is remote",
    ),
    "the rollback comes before the work": (
        [(BATCHED, WRITE, WRITE.replace("= write", "= drawn.is_invalid and 0 or write"))],
        "order lines = loaded + drawn - rolled back",
    ),
    "every order has ten lines": (
        [(INPUT, "uniform(5, 15)", "uniform(10, 10)")],
        "all numbers of lines from 5 to 15 occur",
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("postgres-18") as server:
        yield server


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_known_defect_of_others_is_caught(server: Server, defect: str, tmp_path: Path) -> None:
    changes, entry = DEFECTS[defect]
    script = str(changed_tpcc(tmp_path / "injected", changes))
    options = SMALL_TPCC | {"events": 1000, "threads": 1, "batched": True}
    try:
        found = play(server.session, script, tmp_path, **options)
        wrong = wrong_entries(found.plan, found.counters)
    finally:
        play(server.session, script, tmp_path, ("cleanup",), **options)
    assert entry in wrong
