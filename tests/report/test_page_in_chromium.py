"""Both pages in a real browser without a network: no complaint, no request, every chart drawn.

Without a Chromium this is skipped on a laptop and fails where `CI=true`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dyno.report import history
from dyno.report.charts import Axis, Chart, ChartPanel, Dot, Dots
from dyno.report.document import Figure, Heading
from dyno.report.html import page
from report.book import make_book
from report.chromium import browser, needed
from report.made_history import make_history
from report.tab import Tab

pytestmark = pytest.mark.slow

CHARTS = "[...document.querySelectorAll('figure.chart')]"
#: Chart by chart and choice by choice: the names of those in which no mark can be seen.
UNDRAWN = f"""(() => {{
  const missing = [];
  const seen = (mark) => mark.getClientRects().length > 0 && mark.getBoundingClientRect().width > 0;
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const figure of {CHARTS}) {{
    const choice = figure.querySelector("select");
    for (const option of choice ? choice.options : [null]) {{
      if (option) {{ choice.value = option.value; choice.dispatchEvent(new Event("change")); }}
      const shown = [...figure.querySelectorAll(".plot")].filter(seen);
      const marks = [...figure.querySelectorAll("svg circle, svg path")].filter(seen);
      if (shown.length !== 1 || marks.length === 0) missing.push(option?.textContent ?? "only");
    }}
  }}
  return missing;
}})()"""
#: Where the first dot that is shown is, in the window.
DOT = """(() => {
  const dots = [...document.querySelectorAll("figure.chart circle")];
  const dot = dots.find((it) => it.getClientRects().length);
  dot.scrollIntoView({block: "center", behavior: "instant"});
  const box = dot.getBoundingClientRect();
  return [box.left + 8, box.top + 8];
})()"""


@pytest.fixture(scope="module", params=["report", "history"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def written(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    if kind == "report":
        return page.write_page(make_book(folder, blocks=5, phases=2))
    file = folder / "history.html"
    file.write_text(history.build_history_page(make_history()), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def tab(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(needed(), tmp_path_factory.mktemp("profile")) as opened:
        opened.size(1200, 900)
        opened.open(written.as_uri())
        yield opened


def test_the_browser_has_nothing_to_complain_of(tab: Tab) -> None:
    assert tab.complaints() == []


def test_the_page_asks_nobody_for_anything(tab: Tab) -> None:
    assert tab.requests() == []


def test_every_chart_is_drawn_in_every_choice(tab: Tab, kind: str) -> None:
    assert tab.evaluate(f"{CHARTS}.length") == {"report": 3, "history": 3}[kind]
    assert tab.evaluate(UNDRAWN) == []
    assert tab.complaints() == []


@pytest.mark.parametrize("width", [1200, 375])
def test_the_page_is_never_wider_than_its_window(tab: Tab, width: int) -> None:
    tab.size(width, 900)
    tab.evaluate("new Promise((go) => setTimeout(go, 300))")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_the_main_table_shows_all_its_columns(tab: Tab, kind: str) -> None:
    if kind == "history":
        return
    tab.size(1200, 900)
    tab.evaluate("new Promise((go) => setTimeout(go, 300))")
    hidden = "[...document.querySelectorAll('#numbers .scroll')]"
    tab.evaluate("document.getElementById('numbers').open = true")
    assert tab.evaluate(f"{hidden}.length") == 2
    assert tab.evaluate(f"{hidden}.map((it) => it.scrollWidth - it.clientWidth)") == [0, 0]


def test_charts_follow_a_change_to_the_dark_scheme(tab: Tab) -> None:
    dot = "getComputedStyle(document.querySelector('figure.chart circle')).fill"
    light = tab.evaluate(dot)
    tab.size(1200, 900, prefers_color_scheme="dark")
    tab.wait(f"{dot} !== {light!r}")


def test_a_pointer_beside_a_dot_sees_its_words_at_once(tab: Tab, kind: str) -> None:
    x, y = tab.evaluate(DOT)
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    tab.wait("!document.querySelector('.tip').hidden")
    words = tab.evaluate("document.querySelector('.tip').textContent")
    assert words.startswith({"report": "3.24.0: ", "history": "null@1.1 (1.1)\n"}[kind])
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    tab.wait("document.querySelector('.tip').hidden")


def test_a_candidate_s_button_hides_its_marks_and_shows_them_again(tab: Tab, kind: str) -> None:
    seen = "(it) => it.getClientRects().length"
    button = f"([...document.querySelectorAll('.series button')].find({seen}) ?? null)"
    if kind == "history":
        assert tab.evaluate(button) is None
        return
    drawn = "[...document.querySelectorAll('figure.chart')][0].querySelectorAll('circle')"
    shown = f"[...{drawn}].filter((dot) => dot.getClientRects().length).length"
    assert tab.evaluate(shown) == 15
    tab.evaluate(f"{button}.click()")
    assert tab.evaluate(shown) == 10
    tab.evaluate(f"{button}.click()")
    assert tab.evaluate(shown) == 15


def test_charts_stand_without_a_script(tab: Tab, written: Path, kind: str) -> None:
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    tab.send("Page.navigate", url=written.as_uri())
    try:
        tab.wait("document.readyState === 'complete'")
        assert tab.evaluate("document.documentElement.dataset.ready") is None
        outside = f"{CHARTS}.filter((figure) => !figure.closest('details:not([open])'))"
        seen = "(mark) => mark.getBoundingClientRect().width > 0"
        dots = f"[...figure.querySelectorAll('circle, path')].filter({seen}).length > 0"
        drawn = tab.evaluate(f"{outside}.map((figure) => {dots})")
        assert drawn == [True] * {"report": 3, "history": 2}[kind]
    finally:
        tab.send("Emulation.setScriptExecutionDisabled", value=False)


def test_a_chart_that_is_packed_is_drawn_when_it_is_chosen(tmp_path: Path) -> None:
    axis = Axis("", 0, 10, [(0, "0"), (5, "five")])
    charts = [
        Chart(
            f"metric {n}",
            "described",
            axis,
            [ChartPanel(axis, [Dots([Dot(1, 1, f"tip {n}")], "red")])],
        )
        for n in range(40)
    ]
    file = tmp_path / "page.html"
    head = page.PageHead("many", "", "many", "", "")
    file.write_text(
        page.build_page(head, [Heading("Charts", "charts"), Figure(charts, "caption")]),
        encoding="utf-8",
    )
    chosen = """document.querySelectorAll('.plot')[39].querySelector('circle')"""
    with browser(needed(), tmp_path / "profile") as opened:
        opened.open(file.as_uri())
        assert opened.evaluate(f"{chosen} === null")
        opened.evaluate(
            "(() => { const s = document.querySelector('select'); s.selectedIndex = 39;"
            " s.dispatchEvent(new Event('change')); })()"
        )
        opened.wait(f"{chosen} && {chosen}.getClientRects().length > 0")
        assert opened.complaints() == []


def test_a_search_leaves_the_rows_that_hold_every_word_and_says_how_many(
    tab: Tab, written: Path, kind: str
) -> None:
    if kind == "history":
        return
    tab.open(written.as_uri())
    table = "document.querySelector('#metrics table.searched')"
    field = "document.querySelector('#metrics .search input')"
    shown = f"[...{table}.tBodies[0].rows].filter((row) => !row.hidden)"
    total = tab.evaluate(f"{shown}.length")
    tab.evaluate(
        f"(() => {{ {field}.value = 'l.i1 LATENCY';"
        f" {field}.dispatchEvent(new Event('input')); }})()"
    )
    found = tab.evaluate(f"{shown}.map((row) => row.textContent.toLowerCase())")
    assert 0 < len(found) < total
    assert all("l.i1" in text and "latency" in text for text in found)
    told = tab.evaluate("document.querySelector('#metrics .search output').textContent")
    assert told == f"{len(found)} found"


@pytest.mark.parametrize("width", [1200, 420])
def test_the_first_screen_draws_each_interval_between_its_ends(
    tab: Tab, kind: str, width: int
) -> None:
    if kind == "history":
        return
    tab.size(width, 900)
    tab.evaluate("new Promise((go) => setTimeout(go, 300))")
    boxes = tab.evaluate(
        """[...document.querySelectorAll('.forest td.interval > svg')].map((svg) => {
        const [whole, reach, dot] = [svg, svg.querySelector('.reach'), svg.querySelector('.dot')]
          .map((it) => it.getBoundingClientRect());
        return [whole.width > 100, reach.left <= dot.right, dot.left <= reach.right,
          reach.left >= whole.left - 1, reach.right <= whole.right + 1]; })"""
    )
    assert boxes and all(all(each) for each in boxes)


def test_at_420_pixels_the_word_and_the_interval_stand_before_the_name(tab: Tab, kind: str) -> None:
    if kind == "history":
        return
    tab.size(420, 900)
    tab.evaluate("new Promise((go) => setTimeout(go, 300))")
    tops = tab.evaluate(
        """['.word', '.size', 'th', 'td.interval'].map((part) =>
        document.querySelector(`.forest tbody tr:not(.group) ${part}`)
          .getBoundingClientRect().top)"""
    )
    word, size, name, drawn = tops
    assert word == size < name < drawn


def test_the_first_screen_is_one_sheet_of_paper(tab: Tab, written: Path, kind: str) -> None:
    if kind == "history":
        return
    tab.size(717, 1046)  # A4 within Chromium's margins, in CSS pixels
    tab.open(written.as_uri())
    tab.send("Emulation.setEmulatedMedia", media="print")
    try:
        end = "document.querySelector('.first').getBoundingClientRect().bottom + scrollY"
        assert tab.evaluate(end) < 1046
        after = "getComputedStyle(document.querySelector('.first')).breakAfter"
        assert tab.evaluate(after) == "page"
    finally:
        tab.send("Emulation.setEmulatedMedia", media="")
