"""Logs of each kind, as read: statements, sessions, times, values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from small_logs import CSV, GENERAL, JSON, OLD_GENERAL, SLOW, STDERR, write

from dyno.errors import UsageError
from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.logs import LIMIT, LogEntry, Reasons

ZERO_S = 1767261600.0  # 2026-01-01 10:00:00 UTC


@dataclass(frozen=True)
class Read:
    """A log, read whole: statements by when they began."""

    kind: str
    entries: list[LogEntry]
    unread: Reasons


def read(folder: Path, text: str, limit: int = LIMIT) -> Read:
    log = read_log(LogFile(write(folder, "it.log", text)), limit)
    return Read(log.kind, sorted(log.entries, key=lambda entry: entry.at_s), log.unread)


def told(log: Read) -> list[tuple[float, str, str]]:
    return [(round(e.at_s - ZERO_S, 3), e.session, " ".join(e.sql.split())) for e in log.entries]


def test_mysqls_general_log_has_each_statement_as_it_arrived(tmp_path: Path) -> None:
    log = read(tmp_path, GENERAL)
    assert (log.kind, log.unread) == ("MySQL's general log", {})
    first = told(log)[:3]
    assert first == [
        (0.001, "8", "SET NAMES utf8mb4"),
        (0.01, "8", "SELECT name FROM item WHERE id = 1"),
        (0.021, "9", "SELECT name FROM item WHERE id = 2"),
    ]
    assert (0.041, "9", "SELECT id FROM item WHERE name = 'it''s'") in told(log)
    assert len(log.entries) == 12 and {e.database for e in log.entries} == {"shop"}


def test_old_general_logs_say_the_time_once_a_second(tmp_path: Path) -> None:
    assert told(read(tmp_path, OLD_GENERAL)) == [
        (0.0, "8", "SELECT name FROM item WHERE id = 1"),
        (2.0, "8", "USE `shop`"),
        (2.0, "8", "DELETE FROM item"),
        (2.0, "8", "SELECT name FROM item WHERE id = 2"),
    ]


def test_an_old_log_that_was_cut_begins_with_the_first_time_that_it_says(tmp_path: Path) -> None:
    cut = OLD_GENERAL.partition("\n")[2]
    assert [at for at, _, _ in told(read(tmp_path, cut))] == [2.0] * 4


def test_a_slow_log_says_when_a_statement_ended(tmp_path: Path) -> None:
    log = read(tmp_path, SLOW)
    assert log.kind == "MySQL's slow log"
    assert told(log) == [
        (0.1, "9", "SELECT name FROM item WHERE id = 2;"),
        (0.25, "8", "SELECT name FROM item WHERE id = 1;"),
        (0.7, "9", "UPDATE item SET stock = 0;"),
    ]
    assert log.entries[1].database == "shop" and log.entries[0].duration_s == 0.5


def test_postgres_log_has_values_and_durations(tmp_path: Path) -> None:
    log = read(tmp_path, STDERR)
    assert log.kind == "PostgreSQL's log (stderr)"
    assert told(log) == [
        (0.01, "71", "SELECT name FROM item WHERE id = 1"),
        (0.02, "72", "SELECT name FROM item WHERE id = 2"),
        (0.03, "71", "BEGIN"),
        (0.031, "71", "UPDATE item SET stock = $2 WHERE id = $1"),
        (0.033, "71", "COMMIT"),
        (0.04, "72", "SELECT $2 || name FROM item WHERE name = $1"),
    ]
    assert [e.values for e in log.entries if e.values] == [("3", None), ("it's", "x")]


@pytest.mark.parametrize(
    "prefix,session",
    [
        ("2026-01-01 10:00:00 CET 6955a0f1.4f2 ", "6955a0f1.4f2"),
        ("1767261600.123 pid=512,db=shop ", "512"),
        ("2026-01-01 10:00:00.5 UTC:127.0.0.1(4711):app@shop:[812]:", "812"),
    ],
)
def test_a_prefix_of_ones_own_is_read_for_its_time_and_session(
    prefix: str, session: str, tmp_path: Path
) -> None:
    log = read(tmp_path, f"{prefix}LOG:  statement: SELECT 1\n")
    at_s = int(ZERO_S) - (3600 if " CET" in prefix else 0)
    assert [(int(e.at_s), e.session) for e in log.entries] == [(at_s, session)]


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_csvlogs_first_row_may_span_lines_and_quote_its_time(quote: str, tmp_path: Path) -> None:
    rows = re.split(r"(?m)^(?=2026)", CSV)
    (first,) = (at for at, row in enumerate(rows) if "WHERE id = 2" in row)
    text = re.sub(r"(?m)^(2026[^,]+)", rf"{quote}\1{quote}", "".join(rows[first:]))
    found = read(tmp_path, text)
    assert found.kind == "PostgreSQL's csvlog"
    assert told(found) == told(read(tmp_path, CSV))[1:]


def test_a_csvlogs_head_of_columns_is_no_row(tmp_path: Path) -> None:
    head = f"log_time,user_name,database_name,process_id{',x' * 22}\n"
    assert told(read(tmp_path, head + CSV)) == told(read(tmp_path, CSV))


def test_csv_and_json_say_the_same(tmp_path: Path) -> None:
    csv, json = read(tmp_path, CSV), read(tmp_path, JSON)
    assert told(csv)[2] == (0.025, "695500.72", "SELECT id FROM item WHERE name = $1")
    assert (len(csv.entries), csv.kind) == (4, "PostgreSQL's csvlog")
    assert (len(json.entries), json.kind) == (2, "PostgreSQL's jsonlog")
    assert csv.entries[2].values == json.entries[1].values == ("a",)
    assert {e.database for e in (*csv.entries, *json.entries)} == {"shop"}


@pytest.mark.parametrize(
    "text,sentence,hint",
    [
        ("", "is empty", "general_log=ON"),
        (
            "hello\nworld\n",
            "is not a log that Dyno knows: line 1 is 'hello'",
            "csvlog: log_statement=all",
        ),
        (
            "10:00 LOG:  statement: SELECT 1\n",
            "the prefix '10:00' has no time",
            "%m and %p",
        ),
        ("2026-01-01 10:00:00 UTC LOG:  statement: SELECT 1\n", "has no session", "%m and %p"),
        (STDERR.splitlines()[0] + "\n", "no statements in", "log_statement=all"),
    ],
)
def test_what_is_no_log_to_replay_is_refused(
    text: str, sentence: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, text)
    assert sentence in refused.value.sentence and hint in refused.value.hint
