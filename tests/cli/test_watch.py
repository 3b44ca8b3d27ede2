"""`dyno watch`: what it refuses, and how times are read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from dyno.cli import run_words
from dyno.cli.watch import CELL, MOMENT, format_cell, parse_moment
from dyno.report.watched import TimePlot, build_watched_page


def test_a_time_is_read_in_utc() -> None:
    assert parse_moment("2026-11-22T03:10") == datetime(2026, 11, 22, 3, 10, tzinfo=UTC)
    assert parse_moment("2026-11-22 03:10:05") == datetime(2026, 11, 22, 3, 10, 5, tzinfo=UTC)
    assert parse_moment("2026-11-22T03:10+02:00") == datetime(2026, 11, 22, 1, 10, tzinfo=UTC)
    now = datetime.now(UTC)
    assert abs(parse_moment("now") - now) < timedelta(minutes=1)
    assert abs(parse_moment("1h30m") - now + timedelta(minutes=90)) < timedelta(minutes=1)


@pytest.mark.parametrize("text", ["0:00", "3:10", "23:59:59"])
def test_a_time_of_day_is_the_last_one(text: str) -> None:
    found, now = parse_moment(text), datetime.now(UTC)
    assert now - timedelta(days=1, minutes=1) < found <= now + timedelta(minutes=1)
    assert found.hour == int(text.split(":")[0])


@pytest.mark.parametrize("text", ["soon", "25:00", "10", "2026-13-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no time"):
        MOMENT.convert(text, None, None)


def test_what_cannot_be_read_or_recorded_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, said in (
        (["watch"], "no server is named"),
        (["watch", "as-of", "soon"], "is no time"),
        (["watch", "--dsn", "sqlite@3.54.1"], "takes the URL of a server"),
    ):
        assert run_words([*words]) == 64
        assert said in capsys.readouterr().err


def test_a_field_is_shown_on_one_line_and_cut() -> None:
    assert format_cell("a\n  b") == "a b" and format_cell(None) == ""
    assert len(format_cell("x" * 100)) == CELL


def test_the_page_breaks_a_line_where_no_sample_was_taken() -> None:
    points = [(float(at), 1.0) for at in (*range(10), *range(50, 60))]
    page = build_watched_page("a server", "a while", [TimePlot("Load", [("all", points)])])
    (line,) = [part for part in page.split("<path ") if 'data-name="all"' in part]
    assert line.split(' d="')[1].split('"')[0].count("M") == 2
    assert "https:" not in page
    assert "Empty" not in build_watched_page("a server", "a while", [TimePlot("Empty", [])])
