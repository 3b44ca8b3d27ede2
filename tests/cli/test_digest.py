"""`dyno digest`: classes of a log's statements, without playing anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_logs import CSV, GENERAL, SLOW, STDERR, write

from dyno.cli import run_words


def digest(folder: Path, text: str, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    log = str(write(folder, "it.log", text))
    assert run_words(["digest", log, *words]) == 0
    said = capsys.readouterr()
    return said.out + said.err


def test_classes_have_calls_times_rows_users_and_hours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = json.loads(digest(tmp_path, SLOW, capsys, "--json"))
    first, second = told["classes"]
    assert (told["kind"], told["statements"]) == ("MySQL's slow log", 3)
    assert first["digest"] == "SELECT name FROM item WHERE id = ?"
    assert (first["calls"], first["timed"], first["total_s"]) == (2, 2, 0.75)
    assert first["mean_s"] == 0.375 and first["longest_s"] == 0.5
    assert first["p95_s"] == pytest.approx(0.5, rel=0.025)
    assert (first["rows_sent"], first["rows_examined"], first["users"]) == (2, 2, {"app": 2})
    assert first["hours"] == {"2026-01-01T10:00:00+00:00": 2}
    assert second["digest"] == "UPDATE item SET stock = ?" and second["total_s"] is None


def test_the_most_expensive_class_stands_first_and_the_rest_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = digest(tmp_path, SLOW, capsys, "--limit", "1")
    assert "3 statements in 2 classes" in told and "0.8 s in all" in told
    assert "SELECT name FROM item" in told and "UPDATE" not in told
    assert "not shown: 1 of the classes, calls: 1 (--limit 2)" in told


@pytest.mark.parametrize(("text", "user"), [(GENERAL, "app"), (CSV, "app"), (STDERR, "")])
def test_users_are_told_where_the_log_says_them(
    text: str, user: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = json.loads(digest(tmp_path, text, capsys, "--json"))
    assert all(it["users"] == ({user: it["calls"]} if user else {}) for it in told["classes"])


def test_a_prefix_that_is_named_says_the_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--log-prefix", "%m [%p] %q%u@%d ", "--json")
    told = json.loads(digest(tmp_path, STDERR, capsys, *words))
    assert {name for it in told["classes"] for name in it["users"]} == {"app"}


def test_a_log_without_durations_is_ranked_by_calls_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = digest(tmp_path, GENERAL, capsys)
    assert "whose log has no durations" in told and "mean ms" not in told
    assert told.index("SELECT name FROM item") < told.index("COMMIT")
    assert "left out: 1 not understood: it ends within a quoted text (line 17" in told


def test_an_hour_is_told_of_a_log_of_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    later = GENERAL.replace("T10:00:00.101", "T14:00:00.101")
    assert "busiest hour" in digest(tmp_path, later, capsys)
    assert "busiest hour" not in digest(tmp_path, GENERAL, capsys)


def test_what_is_no_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["digest", str(tmp_path / "no.log")]) == 64
    assert "cannot read the log" in capsys.readouterr().err
