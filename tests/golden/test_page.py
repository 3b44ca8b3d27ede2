"""The HTML page as text: whole, escaped, and asking nobody for anything."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from dyno.report import Book, every_section, export
from dyno.report.html import page
from golden.book import make_book

EVIL = "<script>alert('x')</script>&\"%{y}"


class Reader(HTMLParser):
    """Collects what a browser would fetch, the anchors, and the data of the charts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.anchors: list[str] = []
        self.figures: list[list[dict[str, Any]]] = []
        self.scripts = 0
        self._data = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._data = tag == "script" and found.get("type") == "application/json"
        self.scripts += tag == "script"
        self.fetched += [v or "" for k, v in attrs if k in ("src", "href", "action", "data")]
        if tag == "section":
            self.anchors.append(found["id"] or "")

    def handle_data(self, data: str) -> None:
        if self._data:
            self.figures.append(json.loads(data))
            self._data = False


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return make_book(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def reader(book: Book) -> Reader:
    return Reader(page.run_page(book))


def test_every_section_is_on_the_page_in_its_place(book: Book, reader: Reader) -> None:
    own = [type(section).__module__.rpartition(".")[2] for section in every_section()]
    assert reader.anchors == [name for name in own if name not in ("sweep", "effects")]
    assert reader.anchors[0] == "verdict"
    assert {"forest", "restarts", "throughput", "latency", "phases", "audits"} < set(own)


def test_nothing_is_fetched(reader: Reader) -> None:
    assert reader.fetched
    assert all(link.startswith(("#", "data:,")) for link in reader.fetched)


def test_the_page_forbids_the_browser_to_fetch(book: Book) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page.run_page(book))
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "http" not in policy[1]


def test_every_chart_is_one_that_plotly_knows(reader: Reader) -> None:
    assert len(reader.figures) == 5
    for chart in (chart for figure in reader.figures for chart in figure):
        go.Figure(data=chart["data"], layout=chart["layout"])
        assert chart["data"]
        assert chart["described"]


def test_the_median_line_of_the_throughput_chart_is_the_median_of_the_trials(
    reader: Reader,
) -> None:
    throughput = reader.figures[3][0]
    thin, thick = throughput["data"][:2]
    parts: list[list[float]] = [[]]
    for value in thin["y"]:
        parts.append([]) if value is None else parts[-1].append(value)
    first_second = sorted(part[0] for part in parts if part)
    assert len(first_second) == 6
    assert thick["y"][0] == pytest.approx(sum(first_second[2:4]) / 2, rel=1e-5)


def test_a_dropped_block_is_hollow_and_shaded(reader: Reader) -> None:
    chart = reader.figures[2][0]
    dots = [trace for trace in chart["data"] if trace["mode"] == "markers"]
    assert [trace["marker"]["symbol"].count("circle-open") for trace in dots] == [1, 1, 1]
    assert len(chart["layout"]["shapes"]) == 1


def test_names_from_users_are_escaped(tmp_path: Path) -> None:
    plain, evil = (
        page.run_page(make_book(tmp_path, ("old", name), blocks=3, phases=1))
        for name in ("new", EVIL)
    )
    assert EVIL not in evil
    assert "<script>alert" not in evil
    assert Reader(evil).scripts == Reader(plain).scripts
    names = [t.get("name", "") for f in Reader(evil).figures for c in f for t in c["data"]]
    assert "&lt;script&gt;alert('x')&lt;/script&gt;&amp;\"% {y}" in names


def test_a_writer_that_missed_its_target_is_grey_and_says_why(book: Book) -> None:
    assert 'missed"\n title="insert kept 91 % of its target"' in page.run_page(book)


def test_a_page_is_written_whole_beside_its_run(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("old", "new"), blocks=3, phases=1)
    assert page.write_page(book) == tmp_path / "report.html"
    assert page.write_page(book).read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_run_without_trials_still_has_a_page(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("old", "new"), blocks=2, phases=1)
    verdict = type(book.verdict)("invalid", "no trial ended well", False, (), (), ())
    empty = Reader(page.run_page(Book(tmp_path, book.run, [], verdict)))
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
