"""Laid out logs, played by the real driver on SQLite and on null."""

from __future__ import annotations

from pathlib import Path

import pytest
from pgbench_files import NULL, play_plan, sqlite_with_table
from small_logs import GENERAL, SHOP, STDERR, write

from dyno import driver
from dyno.driver.plan import Plan, Script, Session
from dyno.errors import DynoError
from dyno.record import Tally
from dyno.workloads.replay.layout import lay_out


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def shop(tmp_path: Path) -> Session:
    session = sqlite_with_table(tmp_path)
    driver.ask(session, [each for each in SHOP.split(";\n") if each])
    return session


def replay(
    session: Session, text: str, home: Path, *, writes: bool = False, **options: str
) -> Tally:
    script = lay_out(write(home, "it.log", text), writes, lambda _: None).script
    plan = Plan(session, Script(str(script), options), 7, ("run",), progress_s=0)
    (tally,) = play_plan(plan, home)["replay"].streams
    return tally


def general(*said: tuple[int, int, str]) -> str:
    """A general log of statements: when (ms), of which session, what."""
    line = "2026-01-01T10:00:{:02d}.{:03d}000Z\t    {} Query\t{}\n"
    return "".join(line.format(ms // 1000, ms % 1000, who, sql) for ms, who, sql in said)


def test_each_statement_is_an_event_of_its_digest(shop: Session, tmp_path: Path) -> None:
    tally = replay(shop, GENERAL.replace("SET NAMES utf8mb4", "SELECT 1"), tmp_path)
    assert (tally.intended, tally.done, tally.failed, tally.skipped) == (6, 5, 1, 0)
    assert {name: it.count for name, it in tally.transactions.items()} == {
        "SELECT ?": 1,
        "SELECT name FROM item WHERE id = ?": 3,
        "SELECT id FROM item WHERE name = ?": 1,
    }
    assert tally.rows_read == 5 and sum(tally.errors.values()) == 1
    assert driver.ask(shop, ["select stock from item where id = 3"]) == [[["5"]]]


def test_writes_are_played_in_order_with_their_values(shop: Session, tmp_path: Path) -> None:
    replay(shop, STDERR, tmp_path, writes=True)
    assert driver.ask(shop, ["select stock from item where id = 3"]) == [[[None]]]


def test_a_transaction_that_the_log_leaves_open_is_rolled_back(
    shop: Session, tmp_path: Path
) -> None:
    text = general(
        (0, 1, "BEGIN"), (1, 1, "UPDATE item SET stock = 99"),
        (9, 2, "UPDATE item SET name = 'x' WHERE id = 1"),
    )  # fmt: skip
    tally = replay(shop, text, tmp_path, writes=True)
    assert (tally.done, tally.connections) == (4, 1)
    assert driver.ask(shop, ["select name, stock from item where id = 1"]) == [[["x", "3"]]]


def test_a_connection_that_shall_only_read_cannot_write(shop: Session, tmp_path: Path) -> None:
    """A write that no word of the text betrays; here one is smuggled in afterwards."""
    laid = lay_out(write(tmp_path, "it.log", GENERAL), False, lambda _: None)
    for file in laid.script.parent.glob("*.lane"):
        read, changed = b"SELECT name FROM item WHERE id = 1", b"DELETE FROM item WHERE stock > 0.0"
        file.write_bytes(file.read_bytes().replace(read, changed))
    plan = Plan(shop, Script(str(laid.script), {}), 7, ("run",), progress_s=0)
    (tally,) = play_plan(plan, tmp_path)["replay"].streams
    assert tally.failed == 3
    assert driver.ask(shop, ["select count(*) from item"]) == [[["4"]]]


def test_statements_are_sent_when_they_were(tmp_path: Path) -> None:
    text = general((0, 1, "SELECT 1"), (400, 1, "SELECT 2"), (200, 2, "SELECT 3"))
    slow: Session = {"kind": "null", "delay_ns": 30_000_000}
    tally = replay(slow, text, tmp_path, speed="4")
    assert (tally.done, tally.connections, round(tally.target_per_s or 0, 6)) == (3, 2, 30.0)
    assert tally.latency.max_ns >= 30_000_000
    late = general(*((0, 1, "SELECT 1") for _ in range(4)))
    tally = replay(slow, late, tmp_path, speed="1")
    # four at once on one connection: the last waits for three others, and its latency says so
    assert tally.latency.max_ns >= 120_000_000 and tally.lateness.max_ns >= 90_000_000


def test_sessions_play_side_by_side_and_each_in_its_order(tmp_path: Path) -> None:
    said = [(at, who, f"SELECT {who}") for at in range(50) for who in (1, 2, 3)]
    tally = replay(NULL, general(*said), tmp_path)
    assert (tally.done, tally.connections) == (150, 3)


@pytest.mark.parametrize("speed", ["fast", "0", "-1"])
def test_a_speed_that_is_none_is_refused(speed: str, tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=f"speed of a replay cannot be '{speed}'"):
        replay(NULL, GENERAL, tmp_path, speed=speed)
