"""The page of other people's scripts: what the list names is what the page has a result for."""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter

import pytest
from repository import ROOT

PAGE = (ROOT / "docs/evidence/third-party.md").read_text()
ROW = re.compile(
    r"\| \[(\S+)\]\(https://github.com/\S+/tree/(\S+)\) \| `(\S+)` \| (\S+) \| (.+?) \| "
)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the modules of `bench/` be imported, as `bench/run` does."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])


@pytest.mark.usefixtures("bench")
def test_every_script_of_the_list_has_its_line_on_the_page() -> None:
    bench = importlib.import_module("third_party")
    cases = bench.cases(bench.LIST.read_text())
    listed = {(c.repository, c.commit, c.path, c.server) for c in cases}
    shown = [match[:4] for match in ROW.findall(PAGE)]
    assert set(shown) == listed
    assert len(shown) == len(listed)
    assert len({repository for repository, *_ in listed}) >= 20


def test_the_page_sums_up_its_own_lines() -> None:
    words = Counter(match[4] for match in ROW.findall(PAGE))
    explained = set(re.findall(r"^\| ([a-z ,]+) \| [a-zA-Z]", PAGE, re.MULTILINE)) - {"result"}
    assert set(words) <= {word for line in explained for word in line.split(", ")}
    for word, number in words.items():
        assert re.search(rf"(: |, ){number} {word}[,.]", PAGE), word


@pytest.mark.usefixtures("bench")
def test_kinds_that_differ_are_told_and_those_of_connections_are_not() -> None:
    compared = importlib.import_module("scripts_beside").compared
    theirs = [("run", Counter({"Com_select": n, "Com_stmt_close": 2})) for n in (4, 6, 5, 5)]
    ours = [("run", Counter({"Com_select": n, "Com_insert": 1})) for n in (6, 5, 4, 5)]
    assert compared(theirs, ours) == (True, ["run Com_insert: 0 by its tool, 1 by Dyno"])
    assert compared(theirs, theirs) == (False, [])
    loaded = [[("prepare", Counter({"rows_inserted": n}))] for n in (1000, 1009, 1011)]
    assert compared(loaded[0], loaded[1]) == (True, [])
    assert compared(loaded[0], loaded[2])[1]
