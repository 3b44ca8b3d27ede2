"""A log laid out as its server met it: all sessions in one order, each statement with its class."""

from __future__ import annotations

from pathlib import Path

from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.order import END, OrderedLog, list_executions, read_order
from dyno.workloads.replay.sessions import Bounds

LINE = "2026-01-01 10:00:0{} UTC [{}] app@shop LOG:  {}"
TWO = [
    (1, 8, "statement: BEGIN"),
    (1, 9, "statement: SELECT name FROM item WHERE id = 1"),
    (1, 8, "statement: UPDATE item SET stock = 2 WHERE id = 1"),
    (2, 9, "statement: SELECT name FROM item WHERE id = 7"),
    (3, 8, "statement: COMMIT"),
]


def lay(folder: Path, *said: tuple[int, int, str], writes: bool = True) -> OrderedLog | None:
    file = folder / "it.log"
    file.write_text("".join(LINE.format(*each) + "\n" for each in said))
    bounds = Bounds(asks=False) if writes else Bounds()
    return read_order(lay_out(file, writes, lambda _: None, bounds).script)


def test_statements_of_one_second_come_in_the_order_of_the_log_s_lines(tmp_path: Path) -> None:
    log = lay(tmp_path, *TWO)
    assert log is not None
    found = list(log.list_statements())
    assert [it.sql for it in found] == [sql.removeprefix("statement: ") for _, _, sql in TWO]
    assert [it.session for it in found] == [0, 1, 0, 1, 0]
    assert [it.line for it in found] == [1, 2, 3, 4, 5]


def test_statements_that_are_alike_but_for_literals_are_of_one_class(tmp_path: Path) -> None:
    log = lay(tmp_path, *TWO)
    assert log is not None
    first, second = (it.number for it in log.list_statements() if it.sql.startswith("SELECT"))
    assert first == second
    assert log.classes[first].digest == "SELECT name FROM item WHERE id = ?"
    assert log.classes[first].tables == ("item",) and log.classes[first].name


def test_the_end_of_a_session_follows_its_last_statement(tmp_path: Path) -> None:
    log = lay(tmp_path, *TWO)
    assert log is not None
    events = log.events.read_bytes()
    assert events.count(END) == 2 and events.endswith(END)
    assert events.index(END) < events.index(b"COMMIT")


def test_values_stand_beside_their_statement(tmp_path: Path) -> None:
    values = (1, 8, "execute <unnamed>: SELECT name FROM item WHERE id = $1 OR name = $2")
    detail = (1, 8, "SELECT 1")
    file = tmp_path / "it.log"
    text = LINE.format(*values) + "\n" + LINE.format(*detail).replace("LOG:", "DETAIL:")
    text = text.replace("DETAIL:  SELECT 1", "DETAIL:  parameters: $1 = '4', $2 = NULL")
    file.write_text(text + "\n")
    log = read_order(lay_out(file, True, lambda _: None, Bounds(asks=False)).script)
    assert log is not None
    (found,) = log.list_statements()
    assert found.values == ("4", None)


def test_five_different_executions_of_a_class_are_spread_over_its_log(tmp_path: Path) -> None:
    sent = [
        (at % 10, 8, f"statement: SELECT name FROM item WHERE id = {at // 2}") for at in range(40)
    ]
    log = lay(tmp_path, *sent)
    assert log is not None
    ((name, texts),) = list_executions(log).items()
    assert name == "SELECT name FROM item WHERE id = ?"
    assert [it.rpartition(" ")[2] for it in texts] == ["0", "4", "9", "14", "19"]
