"""The page of a server's profile in a real browser: one side drawn, two sides beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_profiles import make_profile

from dyno.report.html.page import render_result, replace_file
from dyno.report.server_profile import build_profile_result
from report.chromium import browser, needed
from report.tab import Tab

pytestmark = pytest.mark.slow

FLAME = "document.querySelector('figure.flame').flame"
LABELS = "[...document.querySelectorAll('.flame-rows > div')].map((box) => box.ariaLabel)"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(needed(), tmp_path_factory.mktemp("profile")) as found:
        yield found


def open_page(tab: Tab, file: Path, text: str) -> None:
    tab.size(1200, 900)
    tab.open(replace_file(file, text).as_uri())
    tab.wait(f"{FLAME} !== undefined")


def test_one_profile_has_one_view_in_cpu_time_of_a_second(opened: Tab, tmp_path: Path) -> None:
    open_page(opened, tmp_path / "one.html", render_result(build_profile_result(make_profile(1))))
    labels = opened.evaluate(LABELS)
    (scan,) = [label for label in labels if label.startswith("scan ")]
    assert re.fullmatch(r"scan \(storage engine\): CPU time [78]\d\.\d ms a second", scan)
    assert labels[0].startswith("all CPU time: CPU time 24")
    assert opened.evaluate("document.querySelectorAll('.flame [type=radio]').length") == 0
    assert opened.evaluate("document.querySelector('.flame-rows > .gone')") is None
    opened.evaluate("document.querySelector('.flame [type=search]').value = 'parse'")
    find = "document.querySelector('.flame [type=search]').dispatchEvent(new Event('input'))"
    opened.evaluate(find)
    told = opened.evaluate("document.querySelector('.flame output').textContent")
    assert re.match(r"2 frames found: CPU time [78]\d\.\d ms a second", told)
    assert opened.complaints() == [] and opened.requests() == []


def test_of_two_profiles_a_layer_that_differs_is_coloured(opened: Tab, tmp_path: Path) -> None:
    page = render_result(build_profile_result(make_profile(2, scan=60), make_profile(1)))
    open_page(opened, tmp_path / "two.html", page)
    marked = "[...document.querySelectorAll('.flame-rows > .more')].map((box) => box.ariaLabel)"
    assert {label.split(":")[0] for label in opened.evaluate(marked)} == {
        "all CPU time",
        "storage engine",
        "scan (storage engine)",
    }
    assert opened.evaluate("document.querySelectorAll('.flame [type=radio]').length") == 3
    assert opened.complaints() == []
