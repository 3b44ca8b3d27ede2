"""The HTML page as text: whole, escaped, and asking nobody for anything."""

from __future__ import annotations

import csv
import gzip
import json
import re
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec import structs

from dyno.report import Book, export, load_sections
from dyno.report.charts import Dots, Line
from dyno.report.html import page
from dyno.report.sections import restarts, throughput
from report.book import make_book

EVIL = "<script>alert('x')</script>&\"%{y}"


EMPTY = '<div class="plot" hidden></div>'
PACKED = re.compile(r'<script type="application/gzip">(.*?)</script>')


def unpacked(page: str) -> str:
    """The page with every chart in its place, as its script puts them there."""

    def filled(figure: re.Match[str]) -> str:
        text, packed = figure[0], PACKED.search(figure[0])
        for chart in json.loads(gzip.decompress(b64decode(packed[1]))) if packed else ():
            text = text.replace(EMPTY, EMPTY.replace("></", f">{chart}</"), 1)
        return text

    return re.sub(r"<figure.*?</figure>", filled, page, flags=re.DOTALL)


class Reader(HTMLParser):
    """Collects what a browser would fetch, the anchors, and the marks of each figure's charts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.anchors: list[str] = []
        #: Figure by figure, chart by chart: the attributes of every mark.
        self.figures: list[list[list[dict[str, str]]]] = []
        self.described: list[str] = []
        self.scripts = 0
        self.feed(unpacked(text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.scripts += tag == "script"
        self.fetched += [v or "" for k, v in attrs if k in ("src", "href", "action", "data")]
        if tag == "section":
            self.anchors.append(found["id"])
        if tag == "figure":
            self.figures.append([])
        if found.get("class") == "plot":
            self.figures[-1].append([])
        if tag == "svg" and "aria-label" in found and self.figures:
            self.described.append(found["aria-label"])
        if tag in ("circle", "path", "line", "rect") and self.figures:
            self.figures[-1][-1].append(found | {"tag": tag})

    handle_startendtag = handle_starttag


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return make_book(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def reader(book: Book) -> Reader:
    return Reader(page.build_run_page(book))


def test_every_section_is_on_the_page_in_its_place(book: Book, reader: Reader) -> None:
    own = list(load_sections())
    absent = {"sweep", "effects", "cause", "instructions", "sizes", "suite", "hosts"}
    absent |= {"client_hosts"}
    assert reader.anchors == [name for name in own if name not in absent]
    assert reader.anchors[0] == "verdict"
    assert {"metrics", "restarts", "throughput", "latency", "phases", "audits"} < set(own)


def test_nothing_is_fetched(reader: Reader) -> None:
    assert reader.fetched
    assert all(link.startswith(("#", "data:,")) for link in reader.fetched)


def test_the_page_forbids_the_browser_to_fetch(book: Book) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page.build_run_page(book))
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "http" not in policy[1]


def test_a_page_is_no_larger_than_what_it_shows(book: Book) -> None:
    assert len(page.build_run_page(book).encode()) < 600_000, (
        "21 trials, a chart for each of 60 metrics"
    )


def test_every_chart_is_drawn_and_described_with_its_dots_inside_the_frame(reader: Reader) -> None:
    assert len(reader.figures) == 3
    charts = [chart for figure in reader.figures for chart in figure]
    assert len(reader.described) == len(charts) and all(reader.described)
    for marks in charts:
        assert any(mark["tag"] in ("circle", "path") for mark in marks)
        for mark in marks:
            places = [float(mark[k].strip("%")) for k in ("cx", "cy") if k in mark]
            assert all(0 <= place <= 100 for place in places)
            assert not re.search("nan|inf", " ".join(mark.values()))


def test_the_median_line_of_the_throughput_chart_is_the_median_of_the_trials(book: Book) -> None:
    thin, thick = throughput.draw_charts(book)[0].panels[0].marks[:2]
    assert isinstance(thin, Line) and isinstance(thick, Line)
    first_second = sorted(run[0][1] for run in thin.runs)
    assert len(first_second) == 6
    assert thick.runs[0][0][1] == pytest.approx(sum(first_second[2:4]) / 2, rel=1e-5)


def test_a_pointer_on_the_throughput_chart_sees_all_candidates_at_that_second(book: Book) -> None:
    at, words = throughput.draw_charts(book)[0].panels[0].columns[3]
    assert at == 3
    lines = words.splitlines()
    assert lines[0] == "second 3"
    assert [line.partition(":")[0] for line in lines[1:]] == ["3.24.0", "3.54.1", "3.54.1 -O3"]
    assert all(re.search(r": [\d.]+ k/s$", line) for line in lines[1:])


def test_a_dropped_block_is_hollow_and_shaded(book: Book, reader: Reader) -> None:
    marks = restarts.draw_charts(book)[0].panels[0].marks
    shapes = [[dot.shape for dot in dots.dots] for dots in marks if isinstance(dots, Dots)]
    assert [each.count("hollow") for each in shapes] == [1, 1, 1]
    drawn = reader.figures[0][0]
    assert [mark["tag"] for mark in drawn if mark.get("class") == "hollow"] == ["circle"] * 3
    assert [mark["tag"] for mark in drawn if mark.get("class") == "band"] == ["rect"]


def test_names_from_users_are_escaped(tmp_path: Path) -> None:
    plain, evil = (
        page.build_run_page(make_book(tmp_path, ("old", name), blocks=3, phases=1))
        for name in ("new", EVIL)
    )
    assert EVIL not in evil
    assert "<script>alert" not in evil
    assert Reader(evil).scripts == Reader(plain).scripts
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&#34;%{y} is " in evil


def test_a_writer_that_missed_its_target_is_grey_and_says_why(book: Book) -> None:
    assert '<span title="insert kept 91\u00a0% of its target">' in page.build_run_page(book)


def test_a_pages_head_names_the_commits_that_were_compared(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("old", "new"))
    sides = [
        structs.replace(side, build={**side.build, "commit": sha * 40, "subject": f"Change {sha}"})
        for side, sha in zip(book.run.candidates, "ab", strict=True)
    ]
    told = page.build_run_page(
        replace(book, run=structs.replace(book.run, candidates=tuple(sides), question=""))
    )
    compared = f"old ({'a' * 12}, Change a) vs new ({'b' * 12}, Change b)"
    assert f"<title>{compared}: slower</title>" in told
    assert f"Dyno report: {compared}</p>" in told
    assert f"of commit {'b' * 12}, Change b" in told, "the legend has it, too"


def test_a_page_is_written_whole_beside_its_run(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("old", "new"), blocks=3, phases=1)
    assert page.write_page(book) == tmp_path / "report.html"
    assert page.write_page(book).read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_run_without_trials_still_has_a_page(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("old", "new"), blocks=2, phases=1)
    verdict = type(book.verdict)("invalid", "no trial ended well", False, (), (), ())
    empty = Reader(page.build_run_page(Book(tmp_path, book.run, [], verdict)))
    assert empty.anchors[0] == "verdict"
    assert empty.figures == []


def test_trials_csv_has_a_row_for_each_number_of_each_trial(book: Book) -> None:
    with export.write_csv(book).open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert list(found[0])[:6] == ["workload", "block", "attempt", "order", "trial", "candidate"]
    rates = [r for r in found if (r["phase"], r["metric"]) == ("l.i0", "rate_per_s")]
    assert len(rates) == 3 * 7
    assert {row["status"] for row in found} == {"ok", "failed"}
    assert all(float(row["value"]) > 0 for row in rates)


def test_no_name_in_trials_csv_is_a_formula_to_a_spreadsheet(book: Book, tmp_path: Path) -> None:
    formulas = ("=HYPERLINK(1)", "+1+cmd|' /C calc'!A1", "-2+3", "@SUM(1)", "\t=1")
    trials = [
        structs.replace(book.trials[0], candidate=name) for name in (*formulas, "plain-1", "-1.5")
    ]
    made = Book(tmp_path, book.run, trials, book.verdict)
    with export.write_csv(made).open(newline="", encoding="utf-8") as file:
        found = {row["candidate"] for row in csv.DictReader(file)}
    assert found == {*(f"'{name}" for name in formulas), "plain-1", "-1.5"}


def test_control_characters_in_a_name_are_codes_on_the_page(book: Book) -> None:
    hostile = "a\x1b[31m\u202e</script><script>alert(1)</script>"
    run = structs.replace(book.run, name=hostile, question=hostile)
    text = page.build_run_page(replace(book, run=run))
    assert r"a\x1b[31m\u202e&lt;/script&gt;" in text
    assert not set(text) & {"\x1b", "\u202e"}
    assert Reader(text).scripts == Reader(page.build_run_page(book)).scripts
