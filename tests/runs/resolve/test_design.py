"""A run's design: its analyses follow from the number of blocks."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from repository import ROOT

from dyno.runs import experiment
from dyno.runs.experiment import Measuring
from dyno.runs.resolve.design import make_design


@pytest.mark.parametrize(
    ("measuring", "analyses"),
    [
        ({}, (6, 10, 14, 18, 24)),
        ({"blocks": 12}, (6, 10, 12)),
        ({"blocks": 14}, (6, 10, 14)),
        ({"blocks": 30}, (6, 10, 14, 18, 24, 30)),
        ({"blocks": 7}, (7,)),
        ({"blocks": 25}, (6, 10, 14, 18, 25)),
        ({"blocks": 4}, (4,)),
        ({"blocks": 12, "fixed": True}, (12,)),
        ({"quick": True}, (5,)),
    ],
)
def test_the_analyses_follow_from_the_blocks(
    measuring: dict[str, Any], analyses: tuple[int, ...]
) -> None:
    made = experiment.compare_candidates(
        ["null@1us", "null@2us"], "mine.lua", {}, Measuring(**measuring)
    )
    found = make_design(made, "null@1us", {})
    assert (found.analyses, found.quick) == (analyses, measuring.get("quick", False))


def test_when_data_are_looked_at_stands_in_one_place() -> None:
    """Disks and simulated runs look when comparisons do."""
    places = [
        str(file.relative_to(ROOT))
        for file in (ROOT / "src").rglob("*.py")
        if "(6, 10" in file.read_text()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Tuple)
        and [getattr(it, "value", 0) for it in node.elts[:2]] == [6, 10]
    ]
    assert places == ["src/dyno/judge/stats/interim_analyses.py"]
