"""`dyno history` by its index: the same answer as from the records, whatever becomes of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from nightly_runs import write_nightly_runs, write_run

from dyno.cli import run_words
from dyno.compare.history import index, store
from dyno.compare.history.homes import INDEX_NAME, LocalHome
from dyno.record import LeftOutRun

Ask = Callable[..., str]
LEVELS = [0.0] * 8 + [0.1] * 8


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs with a step, of an age at which an index keeps them."""
    runs = tmp_path_factory.mktemp("made") / "runs"
    write_nightly_runs(runs, LEVELS)
    return runs


@pytest.fixture
def runs(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them that is large enough for an index."""
    monkeypatch.setattr(store, "INDEX_LEAST", 2)
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    shutil.copytree(made, tmp_path / "runs")
    time.sleep(2 * store.SETTLED_S)
    return tmp_path / "runs"


@pytest.fixture
def ask(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """What `dyno history` says and writes, and then what it notes."""

    def ask_history(*words: str, place: str = "") -> str:
        told = tmp_path / "told.json"
        assert run_words(["history", *words, "--json", str(told), place or str(runs)]) == 0
        out, err = capsys.readouterr()
        ask_history.notes = err  # type: ignore[attr-defined]
        return out + told.read_text()

    return ask_history


def spoil(*runs: Path) -> None:
    """A trial of each becomes unreadable in place, which no folder's time tells: whoever reads the
    records says so.
    """
    for run in runs:
        (run / "trials" / "0001.json").write_text("{")


def list_runs(runs: Path) -> list[Path]:
    return sorted(runs.glob("2*"))


def test_a_fresh_index_tells_the_same_and_no_record_is_read(ask: Ask, runs: Path) -> None:
    first = ask()
    assert '"flagged_changes": [\n    {' in first
    assert stat.S_IMODE((runs / INDEX_NAME).stat().st_mode) == 0o600
    before = (runs / INDEX_NAME).read_bytes()
    spoil(*list_runs(runs))
    assert ask() == first
    assert (runs / INDEX_NAME).read_bytes() == before
    assert '"left_out": []' in first
    assert run_words(["history", str(runs), "--reindex"]) == 64, "each is damaged"


def test_only_runs_that_are_new_or_changed_are_read(ask: Ask, runs: Path) -> None:
    ask()
    changed, gone, *others = list_runs(runs)
    added = write_run(runs, 17, {"1.17": 0.1})
    (changed / "trials" / "0003.json").unlink()
    shutil.rmtree(gone)
    told = ask()
    assert added.name in told and gone.name not in told
    assert told == ask("--reindex")
    spoil(*others)
    assert ask() == told


def test_a_fresh_comparison_is_remembered_and_asked_again_where_its_run_changed(
    ask: Ask, runs: Path
) -> None:
    tried = write_run(runs, 20, {"1.2": 0.0, "1.12": 0.1}, restarts=8)
    time.sleep(2 * store.SETTLED_S)
    first = ask()
    assert f'"path": "{tried}"' in first and '"verdict": "slower"' in first
    assert ask() == first
    for trial in (tried / "trials").iterdir():
        trial.unlink()
    assert '"verdict": "slower"' not in ask()


def test_a_run_that_changed_a_moment_ago_is_read_again(ask: Ask, runs: Path) -> None:
    run, *_ = list_runs(runs)
    os.utime(run / "trials", (time.time() + 3600,) * 2)
    assert '"left_out": []' in ask()
    spoil(run)
    assert "is damaged" in ask()


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 100, 0.3, 0.6, 0.9, -2000, -300, -4, -1])
def test_no_flipped_bit_of_an_index_is_taken_for_a_number(ask: Ask, runs: Path, at: float) -> None:
    first, file = ask(), runs / INDEX_NAME
    content = bytearray(file.read_bytes())
    place = int(at * len(content)) if isinstance(at, float) else at
    content[place] ^= 4
    file.write_bytes(content)
    assert ask() == first
    notes: str = ask.notes  # type: ignore[attr-defined]
    assert "is damaged and made anew" in notes
    assert ask() == first
    assert ask.notes == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [0, 4, 1000])
def test_a_cut_index_is_made_anew(ask: Ask, runs: Path, size: int) -> None:
    first, file = ask(), runs / INDEX_NAME
    os.truncate(file, size)
    assert ask() == first
    assert file.stat().st_size > 1000


def test_an_index_of_another_dyno_is_made_anew(ask: Ask, runs: Path) -> None:
    ask()
    file = runs / INDEX_NAME
    content = file.read_bytes().replace(index.compute_sources_sha256().encode(), index.BLANK)
    content = re.sub(index.SUM + rb"[0-9a-f]{64}", index.SUM + index.BLANK, content)
    file.write_bytes(content.replace(index.SUM + index.BLANK, index.SUM + compute_sum(content)))
    spoil(list_runs(runs)[0])
    assert "is damaged" in ask() and ask.notes == ""  # type: ignore[attr-defined]


def compute_sum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def make_folder(file: Path) -> None:
    file.mkdir()
    (file / "mine").write_text("mine")


FOREIGN: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (make_folder, "is not a plain file"),
    "pipe": (os.mkfifo, "is not a plain file"),
    "link": (lambda file: file.symlink_to("/etc/passwd"), "cannot be read"),
    "text": (lambda file: file.write_text("mine"), "is no index of Dyno"),
    "table": (
        lambda file: duckdb.sql(f"COPY (SELECT 1 AS mine) TO '{file}' (FORMAT parquet)"),
        "is no index of Dyno",
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_index_in_its_place_is_left_alone(ask: Ask, runs: Path, kind: str) -> None:
    put, why = FOREIGN[kind]
    put(runs / INDEX_NAME)
    before = os.lstat(runs / INDEX_NAME)
    assert '"flagged_changes": [\n    {' in ask()
    assert why in ask.notes  # type: ignore[attr-defined]
    assert os.lstat(runs / INDEX_NAME).st_mtime_ns == before.st_mtime_ns


def test_without_duckdb_the_records_are_read_and_one_line_says_what_would_help(
    ask: Ask, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask()
    (runs / INDEX_NAME).unlink()
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert ask() == first
    (line,) = ask.notes.splitlines()  # type: ignore[attr-defined]
    assert "pip install 'dyno-bench[history]'" in line
    assert not (runs / INDEX_NAME).exists()


def test_few_runs_need_no_index(ask: Ask, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "INDEX_LEAST", 100)
    ask()
    assert not (runs / INDEX_NAME).exists()


def test_an_index_of_a_folder_that_cannot_be_written_lies_in_the_cache(
    ask: Ask, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.access

    def access(path: object, mode: int) -> bool:
        return path != runs and own(path, mode)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "access", access)
    first = ask()
    assert not (runs / INDEX_NAME).exists()
    assert len(list((tmp_path / "cache" / "history").iterdir())) == 1
    spoil(*list_runs(runs))
    assert ask() == first


def test_two_at_once_leave_a_whole_index(ask: Ask, runs: Path) -> None:
    def write(home: store.HomeRuns) -> None:
        for _ in range(5):
            store.keep_index(home, print)

    homes = [store.read_home(LocalHome(runs), print, anew=True) for _ in range(2)]
    threads = [threading.Thread(target=write, args=(each,)) for each in homes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spoil(*list_runs(runs))
    assert '"left_out": []' in ask() and ask.notes == ""  # type: ignore[attr-defined]
    assert [file.name for file in runs.glob(".*")] == [INDEX_NAME]


def test_a_run_that_cannot_be_read_is_told_each_time_and_mends_itself(ask: Ask, runs: Path) -> None:
    trial = next(iter(sorted(runs.glob("2*"))[2].glob("trials/*.json")))
    whole = trial.read_text()
    trial.write_text("{")
    os.utime(trial.parent)
    time.sleep(2 * store.SETTLED_S)
    for _ in range(2):
        left = json.loads(ask().partition("\n{\n")[2].join(["{", ""]))["left_out"]
        (one,) = [LeftOutRun(**each) for each in left]
        assert "is damaged" in one.why
    trial.write_text(whole)  # in place: neither its folder nor its name changes
    assert '"left_out": []' in ask()


def test_anybody_reads_the_index_with_duckdb(ask: Ask, runs: Path) -> None:
    ask()
    query = f"SELECT count(*), count(DISTINCT path) FROM '{runs / INDEX_NAME}' WHERE value > -99"
    assert duckdb.execute(query).fetchall() == [(len(LEVELS), len(LEVELS))]
