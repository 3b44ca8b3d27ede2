"""The served pages in a real browser: found, filtered, followed, by keyboard, narrow, dark, and
without scripts; a run that is played meanwhile moves on the page; a site opens from its files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mixed_runs import write_home
from nightly_runs import write_nightly_runs
from report.chromium import browser, needed
from report.tab import Tab
from served import Served, need_server, serving

from dyno.cli import run_words

pytestmark = pytest.mark.slow

FIRST = "20260101T000000Z-null@100us-vs-null@120us"
SECOND = "20260102T000000Z-null@100us-vs-null@101us"
SUITE = "20260103T000000Z-null@100us-vs-null@120us-vs-null@101us"
PAGES = {
    "list": "/",
    "report": f"/runs/{FIRST}.html",
    "count": "/runs/20260110T000000Z-count.html",
    "capacity": "/runs/20260102T000000Z-capacity-made.html",
    "disk": "/runs/20260111T000000Z-disk.html",
    "profile": "/runs/20260112-000000.html",
    "heat map": f"/heat/{SUITE}.html",
    "matrix": "/matrix.html",
    "choice": "/beside.html",
    "two": f"/beside/{FIRST}/{SUITE}.html",
    "history": "/history.html",
    "live": "/live.html",
    "nowhere": "/runs/nowhere.html",
}
ROWS = "[...document.querySelectorAll('table.runs tbody tr')]"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = write_home(tmp_path_factory.mktemp("served") / "runs")
    write_nightly_runs(home / "nights", [0.0] * 12 + [0.08] * 12)
    return home


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Served]:
    with serving(home) as it:
        yield it


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    need_server()
    with browser(needed(), tmp_path_factory.mktemp("profile")) as opened:
        opened.connect(True)
        opened.size(1200, 900)
        yield opened


def follow(tab: Tab, selector: str, until: str) -> None:
    """Clicks what is selected, and waits for the page that it leads to."""
    tab.evaluate(f"document.querySelector({selector!r}).click()")
    ready = "document.documentElement?.dataset.ready === 'yes'"
    tab.wait(f"location.pathname.includes({until!r}) && {ready}")


def press(tab: Tab, key: str) -> None:
    codes = {"Tab": 9, "Enter": 13, "Space": 32}
    text = {"Enter": "\r", "Space": " "}.get(key, "")
    names: dict[str, Any] = {"key": " " if key == "Space" else key, "code": key}
    names |= {"windowsVirtualKeyCode": codes[key]} | ({"text": text} if text else {})
    for kind in ("keyDown", "keyUp"):
        tab.send("Input.dispatchKeyEvent", type=kind, **names)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_complained_of_or_asks_another_host_or_is_wider_than_a_telephone(
    tab: Tab, served: Served, name: str
) -> None:
    tab.events.clear()
    for width, scheme in ((1200, "light"), (420, "dark")):
        tab.size(width, 900, prefers_color_scheme=scheme)
        tab.open(served.address + PAGES[name])
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} wide"
    complaints = [it for it in tab.complaints() if name != "nowhere" or "404" not in it]
    assert complaints == []
    assert [url for url in tab.requests() if not url.startswith(served.address)] == []
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(20, 23, 26)"
    tab.size(1200, 900)


def test_a_list_is_searched_and_filtered_and_leads_to_a_run_and_back(
    tab: Tab, served: Served
) -> None:
    tab.open(served.address)
    total = tab.evaluate(f"{ROWS}.length")
    tab.evaluate("document.querySelector('[name=q]').value = 'null@120us slower'")
    tab.evaluate("document.querySelector('[name=word]').value = 'slower'")
    tab.evaluate("document.querySelector('form.filters').requestSubmit()")
    tab.wait("location.search.includes('word=slower') && document.documentElement?.dataset.ready")
    assert 0 < tab.evaluate(f"{ROWS}.length") == 2 < total
    assert tab.evaluate("document.querySelector('[name=q]').value") == "null@120us slower"
    tab.evaluate("document.querySelector('[name=sort]').value = 'oldest'")
    tab.evaluate("document.querySelector('form.filters').requestSubmit()")
    tab.wait("location.search.includes('sort=oldest') && document.documentElement?.dataset.ready")
    assert tab.evaluate(f"{ROWS}[0].id") == FIRST
    follow(tab, "table.runs tbody th a", "/runs/")
    assert "is slower than" in tab.evaluate("document.querySelector('h1').textContent")
    follow(tab, ".bar a", "index.html")
    assert tab.evaluate(f"{ROWS}.length") == total


def test_two_that_are_ticked_stand_side_by_side_and_are_no_verdict(
    tab: Tab, served: Served
) -> None:
    tab.open(served.address)
    for key in (FIRST, SECOND):
        tab.evaluate(f"document.querySelector('input[value=\"{key}\"]').click()")
    follow(tab, "form[action='beside.html'] button", "/beside/")
    text = tab.evaluate("document.body.innerText")
    assert "is no verdict" in text
    command = tab.evaluate("document.querySelector('.caution pre').textContent")
    assert command == "dyno compare null@101us null@120us -w select.lua"
    assert tab.evaluate("document.querySelectorAll('.apart').length") == 1
    heads = "[...document.querySelectorAll('tr.differs th')]"
    differing = tab.evaluate(f"{heads}.map((it) => it.innerText)")
    assert "began (UTC)" in differing and "candidate 1" in differing and "margin" not in differing


def test_a_heat_map_says_each_cell_in_a_number_a_shape_and_a_word(tab: Tab, served: Served) -> None:
    tab.open(f"{served.address}/heat/{SUITE}.html")
    cells = tab.evaluate(
        "[...document.querySelectorAll('table.heat')[0].querySelectorAll('td')]"
        ".map((it) => [it.className.split(' ')[0], it.innerText])"
    )
    assert len(cells) == 4
    for tone, text in cells:
        mark, word = {"worse": ("▲", "slower"), "alike": ("●", "not slower")}[tone]
        assert mark in text and word in text and "%" in text
    tones = tab.evaluate(
        "[...document.querySelectorAll('table.heat td')].map((it) => getComputedStyle(it).color)"
    )
    assert len(set(tones)) > 1


def test_a_history_zooms_to_a_change_and_leads_to_both_of_its_runs(
    tab: Tab, served: Served
) -> None:
    tab.open(f"{served.address}/history.html")
    figure = "document.querySelector('figure.chart')"
    shown = f"{figure}.querySelectorAll('.plot:not([hidden]) circle')"
    every = tab.evaluate(f"{shown}.length")
    choice = f"{figure}.querySelector('select')"
    names = tab.evaluate(f"[...{choice}.options].map((it) => it.textContent)")
    assert names[0] == f"all {every} points" and any(it.startswith("around ") for it in names)
    at = next(n for n, it in enumerate(names) if it.startswith("around "))
    tab.evaluate(f"{choice}.selectedIndex = {at}")
    tab.evaluate(f"{choice}.dispatchEvent(new Event('change'))")
    assert 0 < tab.evaluate(f"{shown}.length") < every
    follow(tab, "table.effects a[href^='beside/']", "/beside/")
    assert "is no verdict" in tab.evaluate("document.body.innerText")


def test_the_keyboard_reaches_the_content_then_the_places_then_the_filters(
    tab: Tab, served: Served
) -> None:
    tab.open(served.address)
    names = []
    for _ in range(14):
        press(tab, "Tab")
        focused = "document.activeElement"
        names.append(tab.evaluate(f"{focused}.name || {focused}.textContent.trim()"))
        outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", names[-1]
    assert names[:6] == [
        *("Skip to the content", "Runs", "Matrix", "Side by side", "History", "Now playing"),
    ]
    assert names[6:12] == ["q", "workload", "engine", "word", "kind", "sort"]
    assert names[12] == "Show"
    tab.open(served.address)
    press(tab, "Tab")
    press(tab, "Enter")
    tab.wait("location.hash === '#content'")


@pytest.mark.parametrize("name", PAGES)
def test_every_page_reads_without_a_script(tab: Tab, served: Served, name: str) -> None:
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.send("Page.navigate", url=served.address + PAGES[name])
        tab.wait("document.readyState === 'complete' && document.querySelector('h1') !== null")
        assert tab.evaluate("document.documentElement.dataset.ready") is None
        assert tab.evaluate("document.querySelector('nav.bar a').getClientRects().length") == 1
        text = tab.evaluate("document.body.innerText")
        assert len(text) > 150 and "undefined" not in text
    finally:
        tab.send("Emulation.setScriptExecutionDisabled", value=False)


def test_a_run_that_is_played_moves_on_the_page_and_leaves_it_at_its_end(
    tab: Tab, tmp_path: Path
) -> None:
    home = tmp_path / "runs"
    write_home(home)
    words = ["compare", "null@200us", "null@210us", "-w", "oltp_point_select", "--time", "0.4"]
    words += ["--set", "warmup_time=0", "--set", "table_size=100", "--blocks", "6"]
    words += ["--limit", "foreign=100", "--limit", "steal=100", "--sequential", "--profile", "off"]
    line = [sys.executable, "-P", "-m", "dyno.cli", *words]
    with serving(home) as it:
        tab.open(f"{it.address}/live.html")
        assert "Nothing is playing" in tab.evaluate("document.body.innerText")
        environment = {**os.environ, "DYNO_RUNS": str(home)}
        process = subprocess.Popen(
            line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            tab.wait("document.querySelector('#live progress') !== null")
            name = tab.evaluate("document.querySelector('#live li').id")
            assert "null@210us" in name
            first = tab.evaluate("document.querySelector('#live li').innerText")
            assert " of " in first and "blocks" in first
            tab.wait("document.querySelector('#live table td.n') !== null")
            told = tab.evaluate("document.querySelector('#live').innerText")
            assert "which are no verdict" in told and told != first
            assert name in it.read("/") and "playing now" in it.read("/")
            process.wait(60)
            tab.wait("document.querySelector('#live li') === null")
            assert tab.evaluate("Number(document.documentElement.dataset.updates)") > 3
            end = time.monotonic() + 20
            while "playing now" in (text := it.read("/")) and time.monotonic() < end:
                time.sleep(0.2)
            assert f'href="runs/{name}.html"' in text
        finally:
            process.terminate()
            process.wait(30)


def test_a_site_opens_from_its_files_and_is_searched_sorted_and_followed(
    tab: Tab, home: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    assert run_words(["publish", str(home), str(site)]) == 0
    tab.connect(False)
    try:
        tab.events.clear()
        tab.open((site / "index.html").as_uri())
        total = tab.evaluate(f"{ROWS}.length")
        tab.evaluate(
            "(() => { const it = document.querySelector('.search input'); it.value = 'heavier';"
            " it.dispatchEvent(new Event('input')); })()"
        )
        assert tab.evaluate(f"{ROWS}.filter((row) => !row.hidden).length") == 1 < total
        choose = (
            "const it = document.querySelector('p.filters select:has([value=heavier])');"
            " it.value = '{}'; it.dispatchEvent(new Event('change'));"
        )
        tab.evaluate(f"(() => {{ {choose.format('heavier')} }})()")
        assert tab.evaluate(f"{ROWS}.filter((row) => row.getClientRects().length).length") == 1
        tab.evaluate(f"(() => {{ {choose.format('')} }})()")
        tab.evaluate("document.querySelectorAll('button.sorting')[5].click()")
        begun = tab.evaluate(f"{ROWS}.map((row) => row.querySelector('.when').dataset.value)")
        assert begun == sorted(begun)
        follow(tab, "a[href^='heat/']", "/heat/")
        follow(tab, ".bar a[href$='history.html']", "history.html")
        follow(tab, ".bar a[href$='index.html']", "index.html")
        follow(tab, f"[id='{FIRST}'] th a", "/runs/")
        assert "is slower than" in tab.evaluate("document.querySelector('h1').textContent")
        assert tab.complaints() == [] and tab.requests() == []
    finally:
        tab.connect(True)
