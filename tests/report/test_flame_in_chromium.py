"""The flame graph in a real browser: three views, zoom, keys, search, narrow and dark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dyno.report.html import page
from report.chromium import browser, needed
from report.sampled_book import make_sampled_book
from report.tab import Tab

pytestmark = pytest.mark.slow

FLAME = "document.querySelector('figure.flame').flame"
ROWS = "[...document.querySelectorAll('.flame-rows > div')]"
#: The label of the box that a frame of this name has, empty where it is not shown.
LABEL = f"((name) => {ROWS}.find((box) => box.ariaLabel.startsWith(name))?.ariaLabel ?? '')"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page.write_page(make_sampled_book(tmp_path_factory.mktemp("run"))).as_uri()


@pytest.fixture(scope="module")
def opened(written: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(needed(), tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def tab(opened: Tab, written: str) -> Tab:
    opened.size(1200, 900)
    opened.open(written)
    opened.wait(f"{FLAME} !== undefined")
    return opened


def show(tab: Tab, view: str) -> None:
    tab.evaluate(f"document.querySelector('.flame [value={view}]').click()")


def press(tab: Tab, key: str) -> None:
    event = f"new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}})"
    tab.evaluate(f"document.querySelector('.flame-rows [tabindex=\"0\"]').dispatchEvent({event})")


def test_a_function_that_vanished_is_in_the_difference_and_not_in_the_candidate(tab: Tab) -> None:
    assert tab.evaluate(f"{LABEL}('machinePut2 ')").endswith(", gone")
    assert tab.evaluate(f"{LABEL}('machineRewritten ')").endswith(", new")
    show(tab, "candidate")
    assert tab.evaluate(f"{LABEL}('machinePut2 ')") == ""
    show(tab, "base")
    assert tab.evaluate(f"{LABEL}('machineRewritten ')") == ""
    assert tab.complaints() == [] and tab.requests() == []


def test_only_frames_that_surely_differ_are_coloured(tab: Tab) -> None:
    coloured = f"{ROWS}.filter((box) => box.matches('.more, .less')).map((box) => box.ariaLabel)"
    found = tab.evaluate(coloured)
    assert any(label.startswith("parserFind0") for label in found)
    assert not [label for label in found if "not sure" in label]
    assert len(found) < tab.evaluate(f"{ROWS}.length") / 4


def test_a_click_zooms_into_a_layer_and_escape_and_the_button_zoom_out(tab: Tab) -> None:
    box = f"{ROWS}.find((box) => box.ariaLabel.startsWith('b-tree:'))"
    narrow = tab.evaluate(f"{box}.offsetWidth")
    tab.evaluate(f"{box}.click()")
    assert tab.evaluate(f"{box}.offsetWidth") > 4 * narrow
    press(tab, "Escape")
    assert tab.evaluate(f"{box}.offsetWidth") == narrow
    tab.evaluate(f"{box}.click()")
    tab.evaluate("document.querySelector('.flame button').click()")
    assert tab.evaluate(f"{box}.offsetWidth") == narrow


def test_arrow_keys_reach_every_level_and_tell_what_they_reach(tab: Tab) -> None:
    told = "document.querySelector('.flame output').textContent"
    press(tab, "ArrowDown")
    first = tab.evaluate(told)
    press(tab, "ArrowRight")
    assert tab.evaluate(told) not in ("", first)
    press(tab, "ArrowDown")
    assert "µs an operation; " in tab.evaluate(told)
    press(tab, "Home")
    assert tab.evaluate(told).startswith("all CPU time")
    assert tab.evaluate(f"{ROWS}.filter((box) => box.tabIndex === 0).length") == 1


def test_a_search_marks_what_it_finds_and_sums_it_up(tab: Tab) -> None:
    search = "document.querySelector('.flame [type=search]')"
    tab.evaluate(f"{search}.value = 'PARSERfind0'; {search}.dispatchEvent(new Event('input'))")
    assert tab.evaluate(f"{ROWS}.filter((box) => box.matches('.hit')).length") == 1
    assert tab.evaluate("document.querySelector('.flame output').textContent").startswith(
        "1 frame found: old "
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_narrow_page_in_both_schemes(tab: Tab, scheme: str) -> None:
    tab.size(420, 900, prefers_color_scheme=scheme)
    tab.evaluate("new Promise((go) => setTimeout(go, 300))")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 420
    assert tab.evaluate(f"{ROWS}.every((box) => box.offsetHeight >= 20)")
