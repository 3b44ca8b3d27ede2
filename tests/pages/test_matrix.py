"""The matrix of workloads and builds: the newest verdict of each, in the order of commits."""

from __future__ import annotations

import re
from pathlib import Path

from mixed_runs import STEADY, write_comparison, write_home
from msgspec.structs import replace

from dyno.pages.library import Library, ListedRun
from dyno.pages.matrix import build_matrix_page
from dyno.record import Metric, RunSummary
from dyno.record.run_summary import BuildOutcome
from dyno.runs.run_summary import RunPlace


def make_run(at: int, build: str, word: str, **changes: object) -> ListedRun:
    metric = Metric("w", "run", "", "rate_per_s", "/s", "higher")
    told = BuildOutcome("w", "null", build, "base", metric, word)  # type: ignore[arg-type]
    told = replace(told, **changes)
    summary = RunSummary(f"run{at}", "", "comparison", outcomes=(told,))
    return ListedRun(f"run{at}", RunPlace("comparison", Path(f"run{at}")), summary)


def list_cells(page: str) -> list[tuple[str, str]]:
    """The run that each cell leads to, and its word."""
    return re.findall(r'href="runs/([^"]+)\.html">\s*<b>.</b> ([^<]*)</a>', page)


def test_a_cell_is_the_newest_run_of_a_build_and_says_how_many_there_are() -> None:
    runs = [make_run(3, "b", "slower"), make_run(2, "b", "faster"), make_run(1, "a", "slower")]
    page = build_matrix_page(runs).body
    assert list_cells(page) == [("run3", "slower"), ("run1", "slower")]
    assert "2 runs" in page


def test_builds_stand_in_the_order_of_versions_and_of_commits_the_newest_first() -> None:
    runs = [
        make_run(5, "late", "slower", version="2", committed="2026-01-03T00:00:00Z"),
        make_run(4, "1.10", "slower", version="1.10"),
        make_run(3, "1.9", "slower", version="1.9"),
        make_run(2, "early", "slower", version="2", committed="2026-01-01T00:00:00Z"),
    ]
    heads = re.findall(r'<th scope="col" title="[^"]*">(\S+)', build_matrix_page(runs).body)
    assert heads == ["late", "early", "1.10", "1.9"]


def test_runs_of_every_kind_that_compare_builds_have_a_cell(tmp_path: Path) -> None:
    write_home(tmp_path)
    write_comparison(tmp_path, {"null@90us": [each - 0.1 for each in STEADY]}, day=20)
    page = build_matrix_page(Library([tmp_path]).list_runs()).body
    words = [word for _, word in list_cells(page)]
    expected = {"slower", "not slower", "faster", "heavier", "doubtful: less capacity"}
    assert expected <= set(words), words
    assert "instructions" in page and ", capacity" in page
    assert all(f">{engine}</h2>" in page for engine in ("disk", "program"))
