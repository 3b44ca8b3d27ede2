"""The runs of several folders under keys of their own, and what is kept of thousands of them."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path

import pytest
from mixed_runs import STEADY, write_capacity, write_comparison, write_disks, write_home

from dyno.errors import UsageError
from dyno.pages.frame import SiteFrame
from dyno.pages.history import HistoryShelf
from dyno.pages.library import Library, ListedRun
from dyno.pages.live import build_live_page
from dyno.pages.reports import read_report
from dyno.pages.run_list import PER_PAGE, build_list_page, choose_runs, parse_query, shorten_labels
from dyno.pages.summaries import find_kept_file, read_kept
from dyno.pages.waiting import (
    ReadProgress,
    StillReading,
    build_waiting_page,
    start_aside,
    wait_for_promise,
)
from dyno.record import RunSummary
from dyno.runs.run_folder import RunFolder
from dyno.runs.run_summary import NOT_JUDGED, RunPlace

MANY = 120


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))


def write_many(home: Path) -> list[Path]:
    """A comparison, and so many copies of it under other names, without their trials."""
    first = write_comparison(home, {"null@120us": STEADY})
    copies = [home / f"20260201T{at:06}Z-copy" for at in range(MANY)]
    for copy in copies:
        (copy / "trials").mkdir(parents=True)
        for name in ("run.json", "verdict.json"):
            shutil.copy(first / name, copy)
    return copies


def test_runs_of_one_name_in_two_folders_have_keys_of_their_own(tmp_path: Path) -> None:
    paths = [write_comparison(tmp_path / name, {"null@120us": STEADY}) for name in "ab"]
    library = Library([tmp_path / "a", tmp_path / "b", tmp_path / "a"])
    keys = {run.place.path: run.key for run in library.list_runs()}
    assert keys == {paths[0]: paths[0].name, paths[1]: f"{paths[0].name}~2"}
    assert library.find(f"{paths[0].name}~2").place.path == paths[1]
    with pytest.raises(UsageError, match="unknown run"):
        library.find("../a")


def test_of_many_runs_summaries_are_kept_and_a_changed_run_is_read_anew(tmp_path: Path) -> None:
    home = tmp_path / "runs"
    copies = write_many(home)
    assert len(Library([home]).list_runs()) == len(read_kept([home])) == MANY + 1
    kept = json.loads(find_kept_file([home]).read_text())
    for _, _, told in kept["runs"]:
        told["sentence"] = "as it was kept"
    find_kept_file([home]).write_text(json.dumps(kept))
    (copies[7] / "run.json").write_text("{")
    (copies[8] / "verdict.json").unlink()
    runs = {run.key: run.summary for run in Library([home]).list_runs()}
    assert runs.pop(copies[7].name).damage and runs.pop(copies[8].name).overall == ""
    assert {it.sentence for it in runs.values()} == {"as it was kept"}


def test_a_run_of_disks_has_its_word_in_the_list(tmp_path: Path) -> None:
    write_disks(tmp_path / "runs")
    (run,) = Library([tmp_path / "runs"]).list_runs()
    assert run.summary.overall == "not slower" and run.summary.sentence


@pytest.mark.parametrize("text", ["", "{", "[]", "[[[", '{"sources": "x", "runs": []}', "null"])
def test_what_was_kept_and_is_damaged_or_of_another_dyno_is_passed_over(
    tmp_path: Path, text: str
) -> None:
    home = tmp_path / "runs"
    write_many(home)
    first = Library([home]).list_runs()
    find_kept_file([home]).write_text(text)
    assert Library([home]).list_runs() == first
    assert json.loads(find_kept_file([home]).read_text())["runs"]


def make_listed(at: int, **changes: object) -> ListedRun:
    told = {"created_utc": f"2026-01-01T00:{at // 60:02}:{at % 60:02}Z", "candidates": ("a", "b")}
    summary = RunSummary(f"run{at}", "", "comparison", **(told | changes))  # type: ignore[arg-type]
    return ListedRun(f"run{at}", RunPlace("comparison", Path(f"run{at}")), summary)


def test_a_hundred_rows_are_a_page_and_the_others_follow() -> None:
    runs = [make_listed(at, overall="slower") for at in range(250)]
    pages = [build_list_page(runs, parse_query({"page": str(at)})).body for at in (1, 2, 3, 9)]
    assert [page.count('<th scope="row"') for page in pages] == [PER_PAGE, PER_PAGE, 50, 50]
    assert 'href="index.html?page=2"' in pages[0] and "earlier rows" not in pages[0]
    assert "page 3 of 3" in pages[3] and "later rows" not in pages[3]


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ({"q": "slow RUN1"}, ["run1"]),
        ({"q": "nothing of this"}, []),
        ({"word": "faster"}, ["run2"]),
        ({"word": "doubtful"}, ["run1"]),
        ({"word": "not judged"}, ["run3"]),
        ({"word": "damaged"}, ["run4"]),
        ({"engine": "e2", "workload": "w"}, ["run2"]),
        ({"sort": "word"}, ["run4", "run2", "run3", "run1"]),
        ({"sort": "oldest"}, ["run4", "run3", "run2", "run1"]),
        ({"sort": "engine-down"}, ["run2", "run1", "run3", "run4"]),
        ({"sort": "no such", "page": "-1", "kind": "comparison"}, ["run1", "run2", "run3", "run4"]),
    ],
)
def test_a_list_is_searched_filtered_and_sorted(words: dict[str, str], keys: list[str]) -> None:
    runs = [
        make_listed(1, overall="slower", sentence="b is slower", is_doubtful=True),
        make_listed(2, overall="faster", workloads=("w", "x"), engines=("e1", "e2")),
        make_listed(3, sentence=NOT_JUDGED),
        make_listed(4, damage="run.json is damaged"),
    ]
    assert [run.key for run in choose_runs(runs, parse_query(words))] == keys


@pytest.mark.parametrize(
    ("labels", "short"),
    [
        (["new (1a2b3c4d5e6f, Mend (a) thing)"], ["new 1a2b3c4d"]),
        (["sqlite@source:/src/w@main?cflags=-O1 (1a2b3c4d5e6f)"], ["sqlite 1a2b3c4d"]),
        (["a (1a2b3c4d5e6f, One)", "b (2a2b3c4d5e6f, Two)"], ["1a2b3c4d", "2a2b3c4d"]),
        (["a (1a2b3c4d5e6f, One)", "b (1a2b3c4d5e6f, One)"], ["a 1a2b3c4d", "b 1a2b3c4d"]),
        (["old (postgres 17.2)", "new (postgres 18.1)"], ["postgres 17.2", "18.1"]),
        (["a (sqlite 3.5)", "b (duckdb 1.5)"], ["sqlite 3.5", "duckdb 1.5"]),
        (["a (sqlite 3.54.1)", "b (sqlite 3.54.1)"], ["a (sqlite 3.54.1)", "b (sqlite 3.54.1)"]),
        (["a (sqlite 3.5)", "b (1a2b3c4d5e6f, Mend)"], ["a (sqlite 3.5)", "b 1a2b3c4d"]),
    ],
)
def test_a_line_of_the_list_has_room_for_both_sides(labels: list[str], short: list[str]) -> None:
    assert shorten_labels(labels) == short


def test_what_a_record_says_is_text_on_the_page_and_nothing_else() -> None:
    evil = "<script>alert(1)</script>\x1b[31m"
    runs = [make_listed(1, question=evil, candidates=(evil,), workloads=(evil,), group=evil)]
    body = build_list_page(runs, parse_query({"q": '"><script>'})).body
    shown = build_list_page(runs, parse_query({})).body
    assert "<script>" not in body + shown and "\x1b" not in body + shown
    assert shown.count("&lt;script&gt;alert") >= 4


def test_a_run_of_any_kind_that_is_played_shows_how_far_it_is(tmp_path: Path) -> None:
    home = tmp_path / "runs"
    disks, capacity = write_disks(home), write_capacity(home)
    record = json.loads((disks / "disk.json").read_text())
    record["analyses"] = [6, 10]
    (disks / "disk.json").write_text(json.dumps(record))
    sorted((capacity / "blocks").iterdir())[-1].unlink()
    count = home / "20260112T000000Z-count-a-vs-b"
    (count / "callgrind").mkdir(parents=True)
    library = Library([home])
    listed = library.list_runs()
    assert {run.place.path for run in listed} == {disks, capacity}, "a killed count is no run"
    assert "Nothing is playing" in build_live_page(listed).body
    with ExitStack() as held:
        for path in (disks, capacity, count):
            held.enter_context(RunFolder(path).hold_alone())
        for each in (library, Library([home])):
            each._due_s = 0.0
            body = build_live_page(each.list_runs()).body
            assert "6 of 10 blocks" in body and "which are no verdict" in body
            assert "3 of 4 blocks" in body and "loss so far" in body
            assert "<b>Counting</b>" in body
        with pytest.raises(UsageError, match="is still counted"):
            read_report(library.find(count.name).place)


def test_the_history_of_a_library_has_series_of_every_instrument_but_a_server_s_profiles(
    tmp_path: Path,
) -> None:
    library = Library([write_home(tmp_path / "runs")])
    found = HistoryShelf().read(library.list_runs())
    told = {series.metric.name for series in found.series}
    assert told == {"rate_per_s", "instructions_per_op", "capacity", "latency_ns_p99", "recovery"}
    assert not found.left_out


def test_of_many_runs_the_first_list_is_read_aside_and_says_how_far_it_is(tmp_path: Path) -> None:
    home = tmp_path / "runs"
    write_many(home)
    library = Library([home])
    asked: Future[None] = Future()
    told = ReadProgress("`dyno history` <keeps>", 1234, 10_000)
    with pytest.raises(StillReading, match="1234 of 10000"):
        wait_for_promise(asked, told)
    page = SiteFrame().build(build_waiting_page(told, 1))
    assert "1,234 of 10,000 runs are read" in page and "&lt;keeps&gt;" in page
    assert '<meta http-equiv="refresh" content="2">' in page and "<noscript><meta" not in page
    assert 'href="../index.html"' in page
    library.begin()
    assert library._first is not None and len(library._first.result(60)) == MANY + 1
    library.wait_for_list()
    shelf = HistoryShelf()
    failed = start_aside(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        wait_for_promise(failed, ReadProgress(""))
    assert shelf.wait_for_history([]).series == ()
