"""What is asked seldom: plots and rates of it are of the time that it is of, and never nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dyno import driver
from dyno.cli import run_words
from dyno.driver.plan import Session
from dyno.servers.watch import mysql, store
from dyno.servers.watch.reading import Curve, WatchRecord, list_reports
from dyno.servers.watch.source import CHANGE, WHOLE, WatchSource
from dyno.servers.watch.store import SAMPLES, Recorded, WatchStore, open_folder

SOURCES = {source.name: source for source in mysql.SOURCES}
WAITS = SOURCES["events_waits_summary_global_by_event_name"]
STATUS = SOURCES["global_status"]
BEGIN = datetime(2026, 11, 22, 21, 0, 0, tzinfo=UTC)
#: A whole second of one session, in the counters' ps.
SECOND_PS = 10**12


@pytest.fixture(scope="module")
def duckdb() -> Session:
    return store.open_library(driver.ask, lambda _: None)


def written(
    folder: Path,
    duckdb: Session,
    samples: list[float],
    rows: dict[WatchSource, list[tuple[float, int]]],
) -> WatchRecord:
    """A record of samples (s after BEGIN) and of what each source's only row changed by, at which
    time; its first is a whole value.
    """
    with open_folder(folder, "mysql", "here:0"):
        writer = WatchStore(folder, driver.ask, duckdb)
        told: dict[WatchSource, list[Recorded]] = {
            source: [
                _row(source, at, CHANGE if number else WHOLE, change)
                for number, (at, change) in enumerate(changes)
            ]
            for source, changes in rows.items()
        }
        told[SAMPLES] = [
            [_text(at), WHOLE, int(not number), 0, 100, 5, "8.0"]
            for number, at in enumerate(samples)
        ]
        writer.write(told, BEGIN)
    return WatchRecord(folder, driver.ask, duckdb)


def _text(at_s: float) -> str:
    return (BEGIN + timedelta(seconds=at_s)).strftime(store.TIME)


def _row(source: WatchSource, at_s: float, kind: int, change: int) -> Recorded:
    counters = [change if "WAIT" in name or "VALUE" in name else 1 for name in source.counters]
    keys = ["wait/io/file/sql/binlog" if source is WAITS else "Questions"]
    rest = [None] * (len(source.values) + len(source.words))
    return [_text(at_s), kind, *keys, *counters, *rest]


def curve(record: WatchRecord, plot: str, until_s: float, since_s: float = 0.0) -> list[float]:
    """The values of a plot's only curve, second by second."""
    span = record.find_span(BEGIN + timedelta(seconds=until_s), BEGIN + timedelta(seconds=since_s))
    (found,) = record.read_curves(list_reports("mysql", "plot")[plot], span)
    assert isinstance(found, Curve)
    return [round(value, 3) for _, value in found.points]


def test_a_change_of_ten_samples_is_plotted_over_ten_and_not_as_one(
    tmp_path: Path, duckdb: Session
) -> None:
    """Three sessions wait all the time: 30 s of waits in each tenth sample, a second apart."""
    ten = [(10.0 * n, 30 * SECOND_PS) for n in range(4)]
    record = written(tmp_path, duckdb, [float(s) for s in range(31)], {WAITS: ten})
    assert curve(record, "3-waits", 30) == [3.0] * 30


def test_what_was_not_asked_yet_is_no_zero(tmp_path: Path, duckdb: Session) -> None:
    record = written(
        tmp_path,
        duckdb,
        [float(s) for s in range(27)],
        {WAITS: [(10.0 * n, 20 * SECOND_PS) for n in range(3)]},
    )
    assert curve(record, "3-waits", 26) == [2.0] * 20
    assert curve(record, "3-waits", 15) == [2.0] * 15, "it is told five samples later"


def test_where_nothing_changed_it_is_zero_for_the_ten_samples_that_it_was_asked_for(
    tmp_path: Path, duckdb: Session
) -> None:
    waits = {WAITS: [(0.0, 1), (10.0, 10 * SECOND_PS), (40.0, 10 * SECOND_PS)]}
    record = written(tmp_path, duckdb, [float(s) for s in range(41)], waits)
    assert curve(record, "3-waits", 40) == [1.0] * 10 + [0.0] * 20 + [1.0] * 10


@pytest.mark.parametrize(
    ("samples", "changes", "rates"),
    [
        ([0.0, 5.0, 10.0], [(0.0, 1), (5.0, 500), (10.0, 500)], [100.0, 100.0]),
        # the watcher was away for a minute
        ([0.0, 1.0, 61.0, 62.0], [(0.0, 1), (1.0, 100), (61.0, 6000), (62.0, 100)], [100.0] * 3),
    ],
)
def test_a_sample_of_more_than_a_second_is_a_rate_all_the_same(
    samples: list[float],
    changes: list[tuple[float, int]],
    rates: list[float],
    tmp_path: Path,
    duckdb: Session,
) -> None:
    record = written(tmp_path, duckdb, samples, {STATUS: changes})
    assert curve(record, "1-load", samples[-1]) == rates


def test_top_divides_by_the_time_that_the_counters_are_of(
    tmp_path: Path, duckdb: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 26 s the waits are known as of 20 s: 20 s of waits in 20 s, not in 26."""
    waits = {WAITS: [(10.0 * n, 10 * SECOND_PS) for n in range(3)]}
    record = written(tmp_path, duckdb, [float(s) for s in range(27)], waits)
    span = record.find_span_before(BEGIN + timedelta(seconds=26), 60.0)
    (row,) = record.ask(list_reports("mysql", "top")["3-waits"], span).rows
    assert float(row[3] or 0) == 1.0
    words = ["--from", str(tmp_path), f"{BEGIN + timedelta(seconds=26):%Y-%m-%dT%H:%M:%S}"]
    assert run_words(["watch", "top", *words]) == 0
    assert "wait/io/file/sql/binlog" in capsys.readouterr().out


def test_top_says_what_it_does_not_know_yet_and_not_nothing(
    tmp_path: Path, duckdb: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, duckdb, [float(s) for s in range(9)], {WAITS: [(0.0, SECOND_PS)]})
    words = ["--from", str(tmp_path), f"{BEGIN + timedelta(seconds=9):%Y-%m-%dT%H:%M:%S}"]
    assert run_words(["watch", "top", *words]) == 0
    said = capsys.readouterr().out
    assert "not known yet: asked in every 10th sample" in said.partition("Waits")[2]


def test_a_difference_says_of_which_times_it_is(
    tmp_path: Path, duckdb: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    waits = {WAITS: [(10.0 * n, SECOND_PS) for n in range(4)]}
    written(tmp_path, duckdb, [float(s) for s in range(36)], waits)
    times = [f"2026-11-22T21:00:{s:02}" for s in (12, 35)]
    words = ["watch", "diff", *times, "waits_global_by_latency", "--from", str(tmp_path)]
    assert run_words(words) == 0
    said = capsys.readouterr().out
    assert "asked in every 10th sample: 2026-11-22 21:00:10 UTC to 2026-11-22 21:00:30 UTC" in said
