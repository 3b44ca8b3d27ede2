"""What a list tells of each run below a folder, whatever left it, whole or damaged."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from mixed_runs import STEADY, open_run, write_comparison, write_home

from dyno import scratch
from dyno.record import RunSummary
from dyno.runs.run_summary import list_run_places, summarize_run


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_home(tmp_path_factory.mktemp("runs"))


def summarize(home: Path) -> list[RunSummary]:
    return [summarize_run(place) for place in list_run_places(home)]


def test_runs_of_every_kind_are_told_in_a_line_each(home: Path) -> None:
    told = summarize(home)
    assert [(it.kind, it.overall, it.complete) for it in told] == [
        ("comparison", "slower", True),
        ("capacity", "less capacity", True),
        ("comparison", "not slower", True),
        ("comparison", "slower", True),
        ("comparison", "", False),
        ("count", "heavier", True),
        ("disk", "not slower", True),
        ("profile", "", True),
        ("program", "slower", True),
        ("crash", "loses", True),
    ]
    assert not [it.damage for it in told if it.damage]
    first = told[0]
    assert first.candidates == ("null@100us", "null@120us") and first.workloads == ("select",)
    assert first.engines == ("null",) and first.question and first.sentence
    assert first.created_utc == "2026-01-01T00:00:00Z" and first.path.endswith(first.name)


def test_a_verdict_older_than_the_trials_is_not_told_as_the_run_s(tmp_path: Path) -> None:
    run = write_comparison(tmp_path, {"null@120us": STEADY})
    judged = (run / "verdict.json").stat().st_mtime
    os.utime(run / "trials", (judged + 5, judged + 5))
    (told,) = summarize(tmp_path)
    assert told.overall == "" and "not judged since its last trial" in told.sentence


def test_a_run_that_is_played_just_now_is_told_so(tmp_path: Path) -> None:
    write_comparison(tmp_path, {"null@120us": [0.1, 0.1]}, judged=False)
    assert [it.is_playing for it in summarize(tmp_path)] == [False]
    with open_run(tmp_path, 1).hold_alone():
        assert [it.is_playing for it in summarize(tmp_path)] == [True]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99}', "[" * 99_999])
def test_a_damaged_record_is_told_in_a_sentence_beside_the_others(
    tmp_path: Path, text: str
) -> None:
    run = write_comparison(tmp_path, {"null@120us": STEADY})
    write_comparison(tmp_path, {"null@120us": STEADY}, day=2)
    (run / "run.json").write_text(text)
    damaged, whole = summarize(tmp_path)
    assert damaged.damage and "\n" not in damaged.damage and not whole.damage


def test_who_asks_whether_a_run_is_played_keeps_nobody_from_asking_or_playing(
    tmp_path: Path,
) -> None:
    write_comparison(tmp_path, {"null@120us": [0.1, 0.1]}, judged=False)
    folder, over = open_run(tmp_path, 1), threading.Event()

    def ask() -> None:
        while not over.is_set():
            played.append(folder.is_played())

    played: list[bool] = []
    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    try:
        for _ in range(10):
            time.sleep(0.002)
        alone = list(played)
        for _ in range(20):
            with folder.hold_alone():
                pass
    finally:
        over.set()
        for asker in askers:
            asker.join()
    assert alone and not any(alone)


@pytest.mark.parametrize("record", ["count.json", "capacity.json", "disk.json"])
def test_a_record_whose_numbers_make_no_sense_is_told_beside_the_others(
    home: Path, tmp_path: Path, record: str
) -> None:
    (source,) = home.glob(f"*/{record}")
    shutil.copytree(source.parent, tmp_path / "odd")
    text = (tmp_path / "odd" / record).read_text()
    for old, new in (
        ("1000.0", "0.0"),
        ('"phases"', '"phases_"'),
        ('"plays": [{', '"plays": [7, {'),
    ):
        text = text.replace(old, new)
    (tmp_path / "odd" / record).write_text(text)
    (told,) = summarize(tmp_path)
    assert told.damage and "Traceback" not in told.damage


def test_identity_and_group_of_a_host_are_the_record_s(tmp_path: Path) -> None:
    run = write_comparison(tmp_path, {"null@120us": STEADY})
    text = (run / "run.json").read_text()
    (run / "run.json").write_text(text.replace('"host":{', '"host":{"id":"a1","group":"ci",'))
    (told,) = summarize(tmp_path)
    assert (told.host, told.group) == ("a1", "ci")


def test_links_are_not_followed_and_a_run_within_a_run_is_none(tmp_path: Path) -> None:
    outside, home = tmp_path / "outside", tmp_path / "home"
    run = write_comparison(outside, {"null@120us": STEADY})
    home.mkdir()
    (home / "link").symlink_to(run)
    assert list_run_places(home) == []
    inner = write_comparison(home, {"null@120us": STEADY})
    write_comparison(inner / "copies", {"null@120us": STEADY})
    assert [place.path for place in list_run_places(home)] == [inner]
    assert [place.path for place in list_run_places(inner)] == [inner]


def test_a_run_that_is_not_written_whole_yet_is_none(home: Path) -> None:
    known = list_run_places(home)
    with scratch.make_staging("gather", home) as staging:
        shutil.copytree(next(it.path for it in known if it.path.is_dir()), staging / "run")
        assert list_run_places(home) == known


def test_a_line_names_the_commits_that_were_compared(tmp_path: Path) -> None:
    run = write_comparison(tmp_path, {"new": STEADY})
    file = run / "run.json"
    record = json.loads(file.read_text())
    base, new = record["candidates"]
    base["name"] = record["design"]["base"] = "base"
    new["build"] |= {"commit": "c" * 40, "subject": "Cache plans of " + "x" * 90}
    base["build"] |= {"source": f"git /src v1 ({'a' * 12})"}
    file.write_text(json.dumps(record))
    (told,) = summarize(tmp_path)
    assert told.candidates[0] == f"base ({'a' * 12})"
    assert told.candidates[1].startswith(f"new ({'c' * 12}, Cache plans of xxx")
    assert told.candidates[1].endswith("x…)") and len(told.candidates[1]) < 80
