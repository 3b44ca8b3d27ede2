"""Formats of other programs: each is read by a reader of its own, and holds the verdict."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from msgspec import structs
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pyarrow import parquet

from dyno.errors import UsageError
from dyno.record import Doubt
from dyno.report import Book
from dyno.report import document as doc
from dyno.report.export import build_result
from dyno.report.formats import load_formats, write_format
from dyno.report.formats._rows import list_rows
from dyno.report.render.markdown import draw_interval
from dyno.report.result import Result
from report.book import make_book

DOUBT = Doubt("round_trip", "the way there and back is most of it")


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return make_book(tmp_path)


def change_primaries(book: Book, changes: Mapping[int, Mapping[str, Any]]) -> Book:
    """The book with these fields changed in its first, second … primary."""
    primaries = build_result(book).primaries
    found = {id(row): changes.get(at, {}) for at, row in enumerate(primaries)}
    rows = tuple(structs.replace(row, **found.get(id(row), {})) for row in book.verdict.comparisons)
    return dataclasses.replace(book, verdict=structs.replace(book.verdict, comparisons=rows))


def write_text(name: str, book: Book, strict: bool = False) -> str:
    return write_format(name, build_result(book), strict, None)


@pytest.mark.parametrize("name", sorted(load_formats()))
def test_every_format_names_every_primary_and_its_verdict(name: str, book: Book) -> None:
    made = load_formats()[name].render(build_result(book), False)
    text = made if isinstance(made, str) else str(parquet.read_metadata(io.BytesIO(made)).metadata)
    assert len(build_result(book).primaries) >= 6
    for row in list_rows(build_result(book)):
        assert row.comparison.metric.phase in text, row.name
    words = {row.verdict for row in build_result(book).primaries}
    known = {"github": "slowdown", "bencher": "verdict-exit-code", "go-benchmark": "verdict: "}
    assert known.get(name, "") in text and (name in known or all(word in text for word in words))


def test_a_rate_becomes_the_time_of_an_operation_and_the_bounds_lie_around_it(book: Book) -> None:
    row = next(list_rows(build_result(book)))
    told = row.comparison
    assert row.base.unit == "ns"
    assert row.base.value == pytest.approx(1e9 / told.base_value)
    ratio = row.candidate.value / row.base.value
    assert ratio == pytest.approx(1 + told.slowdown_percent / 100, rel=0.02)
    assert row.candidate.low is not None and row.candidate.high is not None
    assert row.candidate.low <= row.candidate.value <= row.candidate.high
    assert len(row.base.restarts) == len(row.candidate.restarts) == told.blocks


def test_junit_fails_what_is_slower_and_skips_what_is_open(book: Book) -> None:
    changed = change_primaries(
        book,
        {
            0: {"verdict": "slower"},
            1: {"verdict": "inconclusive"},
            2: {"verdict": "invalid"},
            3: {"verdict": "not slower", "doubts": (DOUBT,)},
            4: {"verdict": "faster", "doubts": ()},
        },
    )

    def read(strict: bool) -> list[list[type]]:
        suites = JUnitXml.fromstring(write_text("junit", changed, strict).encode())
        return [[type(it) for it in case.result] for suite in suites for case in suite]

    assert read(False)[:5] == [[Failure], [Skipped], [Error], [], []]
    assert read(True)[3] == [Failure], "a doubtful one fails under --strict"
    text = write_text("junit", changed)
    assert DOUBT.sentence in text
    suites = JUnitXml.fromstring(text.encode())
    suites_told = (suites.tests, suites.failures, suites.errors, suites.skipped)
    cases = [case for suite in suites for case in suite]
    kinds = [type(it) for case in cases for it in case.result]
    counted = (len(cases), kinds.count(Failure), kinds.count(Error), kinds.count(Skipped))
    assert suites_told == counted


def test_github_escapes_what_would_end_an_annotation(book: Book) -> None:
    bad = Doubt("a", "100 %::error title=x::y\nsecond")
    changed = change_primaries(book, {0: {"verdict": "slower", "doubts": (bad,)}})
    lines = write_text("github", changed).splitlines()
    assert len(lines) == len(build_result(book).primaries) + 1
    form = re.compile(r"::(error|warning|notice) title=[^:,\n]+::[^\n]+")
    assert all(form.fullmatch(line) for line in lines)
    assert lines[0].startswith("::error ") and "100 %25::error" in lines[0] and "%0A" in lines[0]


def test_openmetrics_is_read_by_prometheus_own_parser(book: Book) -> None:
    read: Any = text_string_to_metric_families
    families = list(read(write_text("openmetrics", book)))
    verdicts = next(family for family in families if family.name == "dyno_verdict")
    said = [it.labels["dyno_verdict"] for it in verdicts.samples if it.value == 1]
    assert said == [row.comparison.verdict for row in list_rows(build_result(book))]


def test_parquet_holds_all_trials_and_the_verdict(book: Book, tmp_path: Path) -> None:
    file = tmp_path / "trials.parquet"
    assert write_format("parquet", build_result(book), False, file) == ""
    table = parquet.read_table(file)
    values = [it for it in table.column("value").to_pylist() if it is not None]
    numbers = sum(len(book.view.compute_numbers(trial)) for trial in book.trials)
    assert len(values) == numbers > 100
    told = {key.decode(): it.decode() for key, it in table.schema.metadata.items()}
    assert told["dyno.sentence"] == book.verdict.sentence
    assert len(json.loads(told["dyno.comparisons"])) == len(book.verdict.comparisons)
    with pytest.raises(UsageError, match="parquet is no text"):
        write_format("parquet", build_result(book), False, None)


def test_bencher_and_the_action_have_smaller_is_better_points(book: Book) -> None:
    found = json.loads(write_text("bencher", book))
    points = {
        each["name"]: each for each in json.loads(write_text("github-action-benchmark", book))
    }
    assert found.keys() == points.keys()
    for row in list_rows(build_result(book)):
        name = f"{row.name} ({row.candidate.candidate})"
        measures = found[name]
        assert all(
            measure.keys() <= {"value", "lower_value", "upper_value"}
            for measure in measures.values()
        )
        assert measures["latency"]["value"] == points[name]["value"] == row.candidate.value
        assert row.comparison.verdict in points[name]["extra"]


def test_go_benchmark_has_a_line_for_each_restart(book: Book) -> None:
    form = re.compile(r"Benchmark(\S+)/candidate=(\S+) 1 (\S+) ns/op")
    found = [form.fullmatch(line) for line in write_text("go-benchmark", book).splitlines()]
    lines = [(it[1].capitalize(), it[2]) for it in found if it]
    sides = {
        (row.name.capitalize(), side.candidate.replace(" ", "_")): len(side.restarts)
        for row in list_rows(build_result(book))
        for side in (row.base, row.candidate)
    }
    assert Counter(lines) == sides


def test_hyperfine_has_seconds_and_statistics_of_its_times(book: Book) -> None:
    results = json.loads(write_text("hyperfine", book))["results"]
    for each in results:
        assert each["min"] <= each["median"] <= each["max"] and each["mean"] < 1
        assert len(each["times"]) == len(each["exit_codes"])


def test_an_interval_is_drawn_with_zero_and_the_margin(book: Book) -> None:
    row = structs.replace(
        build_result(book).primaries[0],
        slowdown_percent=5.0,
        low_percent=4.0,
        high_percent=6.0,
        margin_percent=2.0,
    )
    drawn = draw_interval(row, 10.0)
    assert len(drawn) == 25
    assert (drawn.index("│"), drawn.index("┊"), drawn.index("●")) == (12, 14, 18)
    assert drawn.count("─") == 2, "from 4 to 6 %"


def test_markdown_lets_nobody_make_a_cell_a_tag_or_a_mention(book: Book) -> None:
    bad = "<b>@all|x"
    finding = structs.replace(book.verdict.findings[0], soundness="doubtful", sentence=bad)
    verdict = structs.replace(book.verdict, findings=(finding,))
    text = write_text("markdown", dataclasses.replace(book, verdict=verdict))
    assert bad not in text and "&lt;b>@\u200ball\\|x" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {8}


def test_a_page_says_its_headline_once_and_has_no_title_without_words() -> None:
    title = doc.Heading("Verdict", "verdict")
    said: list[doc.Block] = [title, doc.Prose("All is kept.", boxed=True)]
    kills, each = doc.Heading("Kills", "kills"), doc.Heading("each", within=True)
    part: list[doc.Block] = [kills, each, doc.Prose("one")]
    assert Result("crashes", "c", "All is kept.", document=[*said, *part]).body == part
    other = [*said, doc.Prose("Why."), *part]
    assert Result("crashes", "c", "All is kept.", document=other).body == [said[0], *other[2:]]
