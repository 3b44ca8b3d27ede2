"""A record on disk: parts become hours, the oldest go, what a kill left counts once."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dyno import driver
from dyno.driver.plan import Session
from dyno.errors import UsageError
from dyno.servers.watch import mysql, store
from dyno.servers.watch.reading import WatchRecord
from dyno.servers.watch.servers import list_sources
from dyno.servers.watch.source import CHANGE, GONE, WHOLE
from dyno.servers.watch.store import (
    SAMPLES,
    Recorded,
    WatchStore,
    list_segments,
    open_folder,
    with_samples,
)

STATUS = next(it for it in mysql.SOURCES if it.name == "global_status")
SOURCES = with_samples(list_sources("mysql"))
BEGIN = datetime(2026, 11, 22, 21, 0, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def duckdb() -> Session:
    return store.open_library(driver.ask, lambda _: None)


@pytest.fixture
def writer(tmp_path: Path, duckdb: Session) -> WatchStore:
    with open_folder(tmp_path, "mysql", "here:0"):
        return WatchStore(tmp_path, driver.ask, duckdb)


def put(
    writer: WatchStore, minute: float, kind: int, value: int | None, restarted: int = 0
) -> None:
    """A part with one sample, and one status variable in it."""
    at = BEGIN + timedelta(minutes=minute)
    text = at.strftime(store.TIME)
    sample: Recorded = [text, WHOLE, int(kind == WHOLE), restarted, 100, 5, "8.0"]
    row: Recorded = [text, kind, "Questions, 'all'\n", value, None]
    writer.write({SAMPLES: [sample], STATUS: [row]}, at)


def value(
    writer: WatchStore, duckdb: Session, until: float, since: float | None = None
) -> str | None:
    record = WatchRecord(writer.folder, driver.ask, duckdb)
    begin = None if since is None else BEGIN + timedelta(minutes=since)
    span = record.find_span(BEGIN + timedelta(minutes=until), begin)
    rows = record.ask(record.find_report("metrics"), span).rows
    return rows[0][1] if rows else None


def test_what_was_written_is_read_before_and_after_hours_are_merged(
    writer: WatchStore, duckdb: Session
) -> None:
    for minute, kind, number in (
        (0, WHOLE, 100),
        (10, CHANGE, 7),
        (59, CHANGE, 3),
        (60, WHOLE, 112),
        (60.1, CHANGE, 1),
        (70, CHANGE, 5),
    ):
        put(writer, minute, kind, number)
    for _ in range(2):
        assert value(writer, duckdb, 5) == "100"
        assert value(writer, duckdb, 59) == "110"
        assert value(writer, duckdb, 80) == "118"
        assert value(writer, duckdb, 80, since=10) == "9"
        assert value(writer, duckdb, 80, since=0) == "16"
        writer.merge(BEGIN + timedelta(hours=1), SOURCES)
    assert [it.is_hour for it in list_segments(writer.folder)] == [True, False, False, False]


def test_a_row_that_is_gone_is_not_told_until_it_comes_again(
    writer: WatchStore, duckdb: Session
) -> None:
    put(writer, 0, WHOLE, 100)
    put(writer, 1, GONE, None)
    put(writer, 2, CHANGE, 4)
    assert value(writer, duckdb, 0.5) == "100"
    assert value(writer, duckdb, 1.5) is None
    assert value(writer, duckdb, 3) == "4"


def test_parts_that_stand_beside_their_hour_count_once(
    writer: WatchStore, duckdb: Session, tmp_path: Path
) -> None:
    put(writer, 0, WHOLE, 100)
    (part,) = list_segments(tmp_path)
    writer.merge(BEGIN + timedelta(hours=1), SOURCES)
    assert part.folder.exists()
    assert value(writer, duckdb, 5) == "100"
    writer.merge(BEGIN + timedelta(hours=1), SOURCES)
    assert not part.folder.exists()
    assert value(writer, duckdb, 5) == "100"


def test_the_oldest_go_first_and_the_newest_stays(writer: WatchStore, tmp_path: Path) -> None:
    for minute in (0, 60, 120, 121):
        put(writer, minute, WHOLE, 1)
    writer.merge(BEGIN + timedelta(hours=2), SOURCES)
    now = BEGIN + timedelta(minutes=130)
    size_bytes = list_segments(tmp_path)[0].size_bytes
    assert not writer.forget(10 * size_bytes, 86400, now)
    assert len(list_segments(tmp_path)) == 4
    assert not writer.forget(10 * size_bytes, 3600, now)
    assert [it.is_hour for it in list_segments(tmp_path)] == [True, False, False]
    assert writer.forget(size_bytes // 2, 86400, now)
    (left,) = list_segments(tmp_path)
    assert left.begins == BEGIN + timedelta(minutes=121)


def test_a_folder_is_one_servers_and_one_watchers(tmp_path: Path, writer: WatchStore) -> None:
    with (
        pytest.raises(UsageError, match="is the record of here:0"),
        open_folder(tmp_path, "mysql", "x"),
    ):
        pass
    with (
        open_folder(tmp_path, "mysql", "here:0"),
        pytest.raises(UsageError, match="another dyno records into"),
        open_folder(tmp_path, "mysql", "here:0"),
    ):
        pass
    with pytest.raises(UsageError, match="no record"):
        store.read_owner(tmp_path / "none")


def damage_file(file: Path, how: str) -> None:
    """What a disk, or a copy that was cut off, makes of a file."""
    content = bytearray(file.read_bytes())
    if how == "cut off":
        content = content[: len(content) // 2]
    elif how == "empty":
        content.clear()
    elif how == "zeros":
        content = bytearray(len(content))
    else:  # a page in the middle; both ends are as they should be
        content[4:40] = bytes(36)
    file.write_bytes(content)


@pytest.mark.parametrize("how", ["cut off", "empty", "zeros", "a page"])
@pytest.mark.parametrize("name", ["samples", "global_status"])
def test_a_damaged_part_is_set_aside_told_once_and_the_rest_is_read(
    how: str, name: str, writer: WatchStore, duckdb: Session, tmp_path: Path
) -> None:
    for minute, kind, number in ((0, WHOLE, 100), (1, CHANGE, 7), (2, CHANGE, 5), (60, WHOLE, 112)):
        put(writer, minute, kind, number)
    bad = list_segments(writer.folder)[1]
    damage_file(bad.folder / f"{name}.parquet", how)
    said: list[str] = []
    for _ in range(2):
        record = WatchRecord(writer.folder, driver.ask, duckdb, said.append)
        for _ in range(2):
            span = record.find_span(BEGIN + timedelta(minutes=5))
            rows = record.ask(record.find_report("metrics"), span).rows
            assert rows[0][1] == "105", "the rest, and a word that something is missing"
    assert len(said) == 2, "once by each reader"
    assert "begins at 2026-11-22 21:01:00 UTC is damaged" in said[0]
    assert not bad.folder.exists() and (tmp_path / "damaged" / bad.folder.name).exists()
    later = WatchRecord(writer.folder, driver.ask, duckdb, said.append)
    later.find_span(BEGIN + timedelta(minutes=61))
    assert len(said) == 2, "an hour later all was written anew"


@pytest.mark.parametrize("how", ["cut off", "a page"])
def test_hours_are_merged_without_a_damaged_part(how: str, tmp_path: Path, duckdb: Session) -> None:
    said: list[str] = []
    with open_folder(tmp_path, "mysql", "here:0"):
        writer = WatchStore(tmp_path, driver.ask, duckdb, said.append)
        for minute, kind, number in ((0, WHOLE, 100), (1, CHANGE, 7), (2, CHANGE, 5)):
            put(writer, minute, kind, number)
        damage_file(list_segments(tmp_path)[1].folder / "global_status.parquet", how)
        writer.merge(BEGIN + timedelta(hours=1), SOURCES)
        assert [it.is_hour for it in list_segments(tmp_path)] == [True]
        assert len(said) == 1 and "set aside" in said[0]
        assert value(writer, duckdb, 5) == "105"


def test_a_record_of_which_all_is_damaged_says_so(writer: WatchStore, duckdb: Session) -> None:
    put(writer, 0, WHOLE, 100)
    damage_file(list_segments(writer.folder)[0].folder / "samples.parquet", "cut off")
    with pytest.raises(UsageError, match="nothing of the record can be read"):
        value(writer, duckdb, 5)


def test_a_damaged_word_of_whose_record_it_is_says_what_to_write(tmp_path: Path) -> None:
    with open_folder(tmp_path, "mysql", "here:0"):
        pass
    (tmp_path / store.ABOUT).write_text("{")
    with (
        pytest.raises(UsageError, match="is damaged") as told,
        open_folder(tmp_path, "mysql", "here:0"),
    ):
        pass
    assert '"server"' in told.value.hint


def test_a_record_is_private_and_an_open_one_is_closed(tmp_path: Path, duckdb: Session) -> None:
    before = os.umask(0)
    try:
        place = tmp_path / "watched"
        with open_folder(place, "mysql", "here:0"):
            writer = WatchStore(place, driver.ask, duckdb)
            put(writer, 0, WHOLE, 100)
            put(writer, 1, CHANGE, 1)
            writer.merge(BEGIN + timedelta(hours=1), SOURCES)
            assert open_to_others(place) == []
        for path in (place, *place.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        with open_folder(place, "mysql", "here:0"):
            assert open_to_others(place) == []
    finally:
        os.umask(before)


def open_to_others(place: Path) -> list[Path]:
    return [path for path in (place, *place.rglob("*")) if path.stat().st_mode & 0o077]
