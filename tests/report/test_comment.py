"""The comment in a pull request, as GitHub renders it; losses that a repository accepts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from counts import make_count
from markdown_it import MarkdownIt
from mixed_runs import write_capacity, write_count
from msgspec import structs

from dyno.cli import run_words
from dyno.judge.analysis.counts import compare_counts
from dyno.record import Comparison, Finding
from dyno.report.accepted import AcceptedLoss, judge_accepted
from dyno.report.counts import build_count_result
from dyno.report.export import build_result
from dyno.report.formats import write_format
from dyno.report.html.page import render_result
from dyno.report.result import Result
from dyno.runs.run_folder import load_instruments
from report.book import make_book
from report.page_text import words

LATER, OVER = date(2099, 1, 1), date(2001, 1, 1)
#: A row that is *slower*, one that is *not slower*, of the book that `make_result` tells.
SLOWER = "insert / l.i0 / insert rate"


@pytest.fixture
def result(tmp_path: Path) -> Result:
    """3.54.1 against 3.24.0: slower in one of three measurements, not slower in one."""
    return build_result(make_book(tmp_path, ("3.24.0", "3.54.1")))


def write_comment(result: Result) -> str:
    return write_format("markdown", result, False, None)


def render(result: Result) -> str:
    """The comment in HTML, by another program that reads GitHub's tables."""
    return str(MarkdownIt("commonmark").enable("table").render(write_comment(result)))


def with_verdict(result: Result, **changes: Any) -> Result:
    return dataclasses.replace(result, verdict=structs.replace(result.verdict, **changes))


def change_rows(result: Result, change: Callable[[Comparison], Comparison]) -> Result:
    rows = [dataclasses.replace(it, row=change(it.row)) for it in result.rows]
    own = dataclasses.replace(result, rows=rows)
    return with_verdict(own, comparisons=tuple(it.row for it in rows))


def with_commit(result: Result, at: int, **facts: str) -> Result:
    sides = list(result.sides)
    sides[at] = structs.replace(sides[at], build={**sides[at].build, **facts})
    return dataclasses.replace(result, sides=sides)


@pytest.mark.parametrize(
    ("word", "step"),
    [
        ("slower", "Next: see what changed, mend it, or accept it in .dyno/accepted.toml."),
        ("inconclusive", "Next: more blocks or a quieter host can tell."),
        ("invalid", "Next: mend what is named below and run it again."),
        ("not slower", "Next: nothing."),
    ],
)
def test_the_first_line_is_the_verdict_and_the_next_step(
    result: Result, word: str, step: str
) -> None:
    marker, first, *_ = write_comment(with_verdict(result, overall=word)).splitlines()
    assert marker == "<!-- dyno: a comparison of null, insert -->"
    assert first.startswith("#### ") and result.headline in first and first.endswith(step)


def test_what_makes_it_worth_less_stands_above_the_table(result: Result) -> None:
    sha = {name: name * 40 for name in "abc"}
    result = with_commit(result, 0, commit=sha["a"])
    result = with_commit(result, 1, commit=sha["b"], parents=sha["c"])
    unlike = Finding("unlike_conditions", "doubtful", "the kernels differ")
    told = write_comment(with_verdict(result, findings=(unlike,)))
    above = told[: told.index("| candidate |")]
    assert "**doubtful** by <code>unlike\\_conditions</code>: the kernels differ" in above
    assert "1 trial failed, the first on 3.54.1: the driver was killed" in above
    assert f"3.24.0 ({'a' * 12}) is not the parent commit of 3.54.1 ({'c' * 12} is)" in above
    parent = with_commit(result, 1, parents=f"{sha['c']} {sha['a']}")
    assert "is not the parent" not in write_comment(parent)


def test_what_changed_is_a_table_and_what_did_not_is_a_count(result: Result) -> None:
    told = write_comment(result)
    table, folded, basis = told.split("<details>")
    rows = [line for line in table.splitlines() if line.startswith("| 3.54.1 |")]
    changed = [it.row for it in result.rows if it.row.verdict in ("slower", "faster")]
    assert len(rows) == len(changed) == 2
    assert SLOWER in rows[0], "the worst is first"
    assert "1 other measurement: 1 not slower (at most" in table
    assert "All 3 measurements" in folded and "12 restarts in 6 blocks" in basis


def test_the_worst_are_named_where_many_changed(result: Result) -> None:
    row = result.rows[0]
    made = [
        dataclasses.replace(
            row,
            row=structs.replace(
                row.row,
                metric=structs.replace(row.row.metric, phase=f"p{at}"),
                **dict.fromkeys(("slowdown_percent", "low_percent", "high_percent"), 5.0 + at),
            ),
        )
        for at in range(2_000)
    ]
    told = write_comment(dataclasses.replace(result, rows=made))
    assert "**Worst** of 2000: insert / p1999 / insert rate " in told and "p1997" in told
    assert len(told) < 65_000, "GitHub refuses more"
    assert "1988 more that changed stand below" in told and "… and 1900 more" in told


def test_commits_are_named_with_their_subjects_and_make_no_cell_tag_or_mention(
    result: Result,
) -> None:
    subject = "Cache <b>plans</b> | for @all `of` *them*"
    html = render(with_commit(result, 1, commit="c" * 40, subject=subject))
    assert f"<strong>3.54.1</strong>: {'c' * 12}, " in html
    text = words(html)
    assert subject.replace("@", "@\u200b") in text and "<b>" not in html


def test_each_row_of_a_table_has_the_cells_of_its_heading(result: Result) -> None:
    def rename(row: Comparison) -> Comparison:
        metric = structs.replace(row.metric, phase="SELECT a|b FROM t WHERE " + "x" * 300)
        return structs.replace(row, metric=metric)

    html = render(change_rows(result, rename))
    rows = html.split("<tr>")[1:]
    assert len(rows) == 2 + 1 + 3 + 1
    assert {row.count("</td>") + row.count("</th>") for row in rows} == {6}
    assert "x" * 60 not in html, "a long name is cut"


def test_the_first_cause_leads_to_the_report(result: Result) -> None:
    made = make_count({"1.0": (1000.0,) * 2, "1.1": (1100.0,) * 2})
    count = build_count_result(made, compare_counts(made))
    html = render(dataclasses.replace(count, report_url="https://ci.example/r.html"))
    assert "<strong>What changed</strong>: by function: find (b-tree) +100.0" in html
    assert '<a href="https://ci.example/r.html#cause">' in html
    assert "#cause" not in render(count)
    assert 'id="cause"' in render_result(count), "the report has that place"


def test_a_later_run_of_the_same_workloads_has_the_same_marker_and_others_another(
    result: Result,
) -> None:
    def read_marker(made: Result) -> str:
        return write_comment(made).splitlines()[0]

    later = dataclasses.replace(with_verdict(result, overall="invalid"), name="other")
    assert read_marker(later) == read_marker(result)
    bad = dataclasses.replace(result, workloads=["a --> <b>"])
    assert read_marker(bad) != read_marker(result) and read_marker(bad).count("-->") == 1


def accept(result: Result, size: float = 50.0, until: date = LATER, metric: str = "*") -> Result:
    return dataclasses.replace(result, losses=(AcceptedLoss(metric, size, "worth it", until),))


def test_an_accepted_loss_is_told_so_and_fails_nothing(result: Result) -> None:
    made = accept(result, metric="insert/l.i0/*")
    first, told = write_comment(made).splitlines()[1], write_comment(made)
    assert "Accepted: " in first and first.endswith("Next: nothing.")
    assert "☑️ slower, accepted until 2099-01-01: worth it |" in told
    assert judge_accepted(made.losses, made.verdict) == "not slower"
    assert "::error" not in write_format("github", made, False, None)
    assert "<failure" not in write_format("junit", made, False, None)


@pytest.mark.parametrize(
    "changes", [{"size": 1.0}, {"until": OVER}, {"metric": "insert/qr100/query"}]
)
def test_a_loss_that_is_larger_or_older_or_another_fails(
    result: Result, changes: dict[str, Any]
) -> None:
    made = accept(result, **changes)
    assert made.overall == "slower"
    assert ("no longer accepted since 2001-01-01: worth it" in write_comment(made)) is (
        "until" in changes
    )
    assert "::error" in write_format("github", made, False, None)


def test_a_capacitys_loss_is_accepted_by_the_size_that_is_told(tmp_path: Path) -> None:
    path = write_capacity(tmp_path)
    made = load_instruments()["capacity"].read_result(path)
    assert accept(made, size=49.0).overall == "slower"
    assert accept(made, size=51.0).overall == "not slower", "it holds 50 % less"


def test_a_run_that_is_not_over_is_not_passed_by_what_is_accepted(result: Result) -> None:
    assert accept(with_verdict(result, complete=False)).overall == "inconclusive"
    assert accept(with_verdict(result, overall="invalid")).overall == "invalid"


ENTRY = {"metric": '"select/run/*"', "size": '"12%"', "reason": '"worth it"', "until": "2099-01-01"}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in whose folder `below` one stands, and where runs lie."""
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    for name in (".git", ".dyno", "below"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path


def write_accepted(repository: Path, entry: Mapping[str, str]) -> None:
    lines = [f"{name} = {value}" for name, value in entry.items()]
    (repository / ".dyno" / "accepted.toml").write_text("\n".join(["[[accepted]]", *lines, ""]))


def test_the_repositorys_file_decides_what_is_accepted(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(write_count(repository / "runs"))
    assert run_words(["report", run, "--strict"]) == 1
    write_accepted(repository, ENTRY)
    capsys.readouterr()
    assert run_words(["report", run, "--strict"]) == 0
    told = "1.1, select/run/instructions/op: accepted until 2099-01-01: worth it"
    assert told in capsys.readouterr().out
    write_accepted(repository, ENTRY | {"until": '"2001-01-01"'})
    assert run_words(["report", run, "--strict"]) == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"reason": '" "'}, "AcceptedFile.accepted[0]: reason must be a reason"),
        ({"size": '"much"'}, "AcceptedFile.accepted[0]: could not convert string to float: 'much'"),
        ({"size": "-1"}, "AcceptedFile.accepted[0]: size must be above 0 %"),
        ({"size": "nan"}, "AcceptedFile.accepted[0]: size must be above 0 %"),
        ({"until": '"soon"'}, "AcceptedFile.accepted[0].until: invalid"),
        ({"until": "7"}, "AcceptedFile.accepted[0].until: expected `date`, got `int`"),
        ({"because": '"x"'}, "AcceptedFile.accepted[0]: object contains unknown field `because`"),
        ({"metric": "x y"}, "accepted.toml: Invalid value"),
    ],
)
def test_a_malformed_acceptance_is_refused_by_name(
    repository: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, str], sentence: str
) -> None:
    write_accepted(repository, ENTRY | changes)
    run = str(write_count(repository / "runs"))
    assert run_words(["report", run]) == 64
    assert sentence in capsys.readouterr().err
