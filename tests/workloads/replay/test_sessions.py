"""What of a log is played: transactions that write are left out, sessions share connections."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_logs import GENERAL, OLD_GENERAL, STDERR, write

from dyno.engines.mysql.logs import DIALECT
from dyno.errors import UsageError
from dyno.workloads import compute_checksum
from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.logs import Log, LogEntry
from dyno.workloads.replay.sessions import Bounds, Selection, assign_lanes, select_statements
from dyno.workloads.replay.spool import Spool


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool(tmp_path) as spool:
        yield spool


def chosen(spool: Spool, folder: Path, text: str, writes: bool = False) -> Selection:
    return select_statements(read_log(LogFile(write(folder, "it.log", text))), writes, spool)


def texts(selection: Selection) -> list[list[str]]:
    return [
        [" ".join(it.sql.split()) for it in selection.find_played(session)]
        for session in selection.sessions
    ]


def log_of(*said: tuple[float, str, str]) -> Log:
    return Log(
        "a log", DIALECT, tuple(LogEntry(at, who, sql, n) for n, (at, who, sql) in enumerate(said))
    )


def test_reads_are_played_and_what_is_left_out_is_told(spool: Spool, tmp_path: Path) -> None:
    found = chosen(spool, tmp_path, GENERAL)
    assert texts(found) == [
        ["SET NAMES utf8mb4", "SELECT name FROM item WHERE id = 1"],
        [
            "SELECT name FROM item WHERE id = 2",
            "SELECT id FROM item WHERE name = 'it''s'",
            "SELECT nosuch FROM item",
        ],
        ["SELECT name FROM item WHERE id = 5"],
    ]
    left = {reason: (it.count, it.lines) for reason, it in found.left_out.items()}
    assert left == {
        "that write": (1, [13]),
        "in transactions that write": (3, [11, 12, 14]),
        "not understood: it ends within a quoted text": (1, [17]),
        "for the server as a whole, never played": (1, [23]),
    }
    assert found.count_tables() == {"item": 5} and found.databases == ("shop",)


def test_writes_are_played_when_that_is_asked_for(spool: Spool, tmp_path: Path) -> None:
    (first, *_), (second,) = texts(chosen(spool, tmp_path, STDERR, True))[0], [1]
    assert first == "SELECT name FROM item WHERE id = 1" and second == 1
    assert [len(each) for each in texts(chosen(spool, tmp_path, STDERR, True))] == [4, 2]
    assert [len(each) for each in texts(chosen(spool, tmp_path, STDERR))] == [1, 2]


def test_where_autocommit_is_off_a_transaction_lasts_until_its_end(spool: Spool) -> None:
    said = ["SET autocommit=0", "SELECT 1", "DELETE FROM t", "COMMIT", "SELECT 2", "COMMIT"]
    log = log_of(*((float(at), "1", sql) for at, sql in enumerate(said)))
    assert texts(select_statements(log, False, spool)) == [
        ["SET autocommit=0", "SELECT 2", "COMMIT"]
    ]


def test_reads_of_tables_that_the_log_makes_are_left_out(spool: Spool) -> None:
    said = ["CREATE TEMPORARY TABLE tmp (x INT)", "SELECT * FROM tmp", "SELECT * FROM item"]
    found = select_statements(
        log_of(*((float(at), "1", sql) for at, sql in enumerate(said))), False, spool
    )
    assert texts(found) == [["SELECT * FROM item"]] and found.count_tables() == {"item": 1}


def test_tables_that_the_log_itself_makes_are_there_where_it_writes(spool: Spool) -> None:
    said = [
        *("CREATE TEMPORARY TABLE tmp (x INT)", "INSERT INTO tmp VALUES (1)", "SELECT x FROM tmp"),
        *("ALTER TABLE tmp RENAME TO other", "SELECT x INTO third FROM other", "TABLE third"),
        *("SELECT x FROM gone", "INSERT INTO item VALUES (1) ON DUPLICATE KEY UPDATE x = 2"),
    ]
    log = log_of(*((float(at), "1", sql) for at, sql in enumerate(said)))
    bounds = Bounds(find_tables=lambda _: {"item"})
    found = select_statements(log, True, spool, bounds)
    assert texts(found) == [[*said[:6], said[7]]]
    left = found.left_out["of tables that the copy does not have"]
    assert (left.count, left.remarks) == (1, ["SELECT x FROM gone"])


def test_use_is_played_where_there_are_several_databases(spool: Spool, tmp_path: Path) -> None:
    assert texts(chosen(spool, tmp_path, OLD_GENERAL)) == [
        ["SELECT name FROM item WHERE id = 1", "SELECT name FROM item WHERE id = 2"]
    ]
    two = OLD_GENERAL + "\t\t    8 Query\tUSE other\n"
    first = ["USE `shop`", "SELECT name FROM item WHERE id = 1", "USE `shop`"]
    assert texts(chosen(spool, tmp_path, two))[0][:3] == first
    connected = GENERAL.replace("on shop using Socket", "on other using Socket", 1)
    played = texts(chosen(spool, tmp_path, connected))
    assert [session[0] for session in played] == ["USE `other`", "USE `shop`", "USE `shop`"]


def test_only_one_database_is_played_where_sessions_cannot_change_theirs(
    spool: Spool, tmp_path: Path
) -> None:
    text = STDERR.replace("[72] app@shop", "[72] app@other")
    found = chosen(spool, tmp_path, text)
    assert texts(found) == [["SELECT name FROM item WHERE id = 1"]]
    assert found.left_out["in other databases than shop"].count == 2


def test_a_session_keeps_its_order_though_its_times_are_rounded(
    spool: Spool, tmp_path: Path
) -> None:
    line = "2026-01-01 10:00:00.{} UTC [7] LOG:  duration: {} ms  statement: SELECT {}\n"
    text = line.format("500", "0.1", 1) + line.format("501", "1.4", 2)
    assert texts(chosen(spool, tmp_path, text)) == [["SELECT 1", "SELECT 2"]]


def test_sessions_share_a_connection_if_they_do_not_overlap_and_set_the_same(spool: Spool) -> None:
    said = [
        (0.0, "1", "SELECT 1"), (1.0, "1", "SELECT 1"), (0.5, "2", "SELECT 2"),
        (2.0, "3", "SELECT 3"), (3.0, "4", "SET NAMES utf8"), (3.1, "4", "SELECT 4"),
        (4.0, "5", "SET NAMES latin1"), (4.1, "5", "SELECT 5"),
    ]  # fmt: skip
    own = assign_lanes(select_statements(log_of(*sorted(said)), False, spool))
    assert [[session.name for session in lane] for lane in own] == [
        ["1"], ["2", "3"], ["4"], ["5"],
    ]  # fmt: skip


def test_a_log_is_laid_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    path = write(tmp_path, "shop.log", GENERAL)
    first, again = (lay_out(path, False, lambda _: None) for _ in range(2))
    assert first.script == again.script and first.script.name == "shop.lua"
    assert first.connections == 2
    assert first.script != lay_out(path, True, lambda _: None).script
    words = "\n".join(first.describe())
    assert "6 of 12 statements are played, of 3 sessions on 2 connections" in words
    assert "left out: 3 in transactions that write (lines 11: BEGIN, 12: SELECT stock FROM" in words


def test_what_brings_a_session_into_its_database_is_no_statement_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    line = "2026-01-01T10:00:0{0}.000000Z\t    {0} {1}\n"
    said = [
        line.format(number, words)
        for number in (1, 2, 3)
        for words in (f"Connect\troot@localhost on db{number} using Socket", "Query\tSELECT 1")
    ]
    laid = lay_out(write(tmp_path, "it.log", "".join(said)), False, lambda _: None)
    assert "3 of 3 statements are played, of 3 sessions" in laid.describe()[0]
    assert "statements = 6," in laid.script.read_text(), "each is preceded by its USE"


def test_a_log_that_only_writes_is_refused(tmp_path: Path) -> None:
    text = "2026-01-01 10:00:00 UTC [7] LOG:  statement: DELETE FROM item\n"
    with pytest.raises(UsageError) as refused:
        lay_out(write(tmp_path, "it.log", text), False, lambda _: None)
    assert "1 that write" in str(refused.value) and "--writes" in refused.value.hint


def test_a_run_is_another_one_with_other_data(tmp_path: Path) -> None:
    script, data = write(tmp_path, "it.lua", "function event() end"), tmp_path / "data.sql"
    sums = set()
    for text in ("CREATE TABLE a (x INTEGER)", "CREATE TABLE a (y INTEGER)"):
        data.write_text(text)
        sums |= {
            compute_checksum(script, {"setup": str(data)}),
            compute_checksum(script, {"setup": data.name}),
        }
    assert len(sums) == 2


HEAD = "2026-01-01 10:00:00.000 UTC [7] app@shop "


@pytest.mark.parametrize(
    "entries,cause,hint",
    [
        ("LOG:  statement: DELETE FROM item\n", "1 that write (line 1", "--writes plays"),
        (
            "LOG:  statement: SELECT 'cut\n",
            "within a quoted text (line 1: SELECT",
            "one statement, whole",
        ),
        (
            "LOG:  execute a: SELECT id FROM item WHERE name = $1\n"
            f"{HEAD}DETAIL:  Parameters: $1 = 'customer n...'\n",
            "log_parameter_max_length may have cut it (line 1",
            "log statements and their values whole",
        ),
        (
            "LOG:  execute a: SELECT id FROM item WHERE name = $1\n",
            "without the values of their parameters",
            "log statements and their values whole",
        ),
        ("LOG:  statement: CHECKPOINT\n", "for the server as a whole", "read tables"),
        (
            f"LOG:  statement: SELECT '{'x' * 900}'\n",
            "1 too long (line 1: 920 characters",
            "--set statement_limit=SIZE",
        ),
    ],
)
def test_where_nothing_can_be_played_the_hint_is_of_the_cause(
    entries: str, cause: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    log = write(tmp_path, "it.log", f"{HEAD}{entries}")
    with pytest.raises(UsageError) as refused:
        lay_out(log, False, lambda _: None, Bounds(limit=800))
    assert cause in refused.value.sentence and hint in refused.value.hint


def test_a_log_without_a_statement_that_works_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    log = write(tmp_path, "it.log", f"{HEAD}LOG:  statement: BEGIN\n")
    with pytest.raises(UsageError, match=r"no statement of .* can be played") as refused:
        lay_out(log, True, lambda _: None)
    assert "--writes" not in refused.value.hint


@pytest.mark.parametrize(
    "speed,told",
    [
        ("", "plays 200 statements once, each as soon as its session's last is answered: 0.02 s"),
        (
            "max",
            "3,000 blocks. A longer log, --repeat auto, or --speed 1 (39.8 s a block) compares",
        ),
        ("10x", "note: a block plays the log once in 4.0 s; a minute of play takes 16 blocks"),
        ("1", ""),
    ],
)
def test_that_a_block_compares_little_of_a_log_is_told(
    speed: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    lines = (
        f"2026-01-01 10:00:{at / 5:06.3f} UTC [7] app@shop LOG:  statement: SELECT {at}\n"
        for at in range(200)
    )
    said = lay_out(write(tmp_path, "it.log", "".join(lines)), False, lambda _: None)
    found = said.describe_length(speed)
    assert told in found and bool(told) == bool(found)


def test_a_log_that_says_how_long_its_statements_took_is_not_called_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    line = f"{HEAD}LOG:  duration: 6000.000 ms  statement: SELECT 1\n"
    log = write(tmp_path, "it.log", line * 2)
    assert lay_out(log, False, lambda _: None).describe_length("") == ""
    log.write_text(line)
    assert "answered: 6 s as logged" in lay_out(log, False, lambda _: None).describe_length("")
