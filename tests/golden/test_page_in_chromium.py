"""Both pages in a real browser without a network: no complaint, no request, every chart drawn.

Without a Chromium this is skipped on a laptop and fails where `CI=true`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dyno.report.html import history, page
from golden.book import make_book
from golden.chromium import browser, needed
from golden.past import make_history
from golden.tab import Tab

CHARTS = "[...document.querySelectorAll('figure.chart')]"
#: Chart by chart and choice by choice: the names of those in which no mark was drawn.
UNDRAWN = f"""(async () => {{
  const missing = [];
  const pause = () => new Promise((go) => setTimeout(go, 0));
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const figure of {CHARTS}) {{
    const choice = figure.querySelector("select");
    for (const option of choice ? choice.options : [null]) {{
      if (option) {{ choice.value = option.value; choice.dispatchEvent(new Event("change")); }}
      const name = option ? option.textContent : figure.dataset.drawn;
      for (let n = 0; n < 500 && (!name || figure.dataset.drawn !== name); n += 1) await pause();
      const marks = figure.querySelectorAll("svg .scatterlayer .trace path").length;
      if (figure.dataset.drawn !== name || marks === 0) missing.push(name);
    }}
  }}
  return missing;
}})()"""


@pytest.fixture(scope="module", params=["report", "history"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def written(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    if kind == "report":
        return page.write_page(make_book(folder, blocks=5, phases=2))
    file = folder / "history.html"
    file.write_text(history.history_page(make_history()), encoding="utf-8")
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
    assert tab.evaluate(f"{CHARTS}.length") == {"report": 5, "history": 2}[kind]
    assert tab.evaluate(UNDRAWN) == []
    assert tab.complaints() == []


@pytest.mark.parametrize("width", [1200, 375])
def test_the_page_is_never_wider_than_its_window(tab: Tab, width: int) -> None:
    tab.size(width, 900)
    tab.evaluate("new Promise((go) => setTimeout(go, 300))")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_charts_follow_a_change_to_the_dark_scheme(tab: Tab) -> None:
    axis = "getComputedStyle(document.querySelector('.xtick text')).fill"
    light = tab.evaluate(axis)
    tab.size(1200, 900, prefers_color_scheme="dark")
    tab.wait(f"{axis} !== {light!r}")
