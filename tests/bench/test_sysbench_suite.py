"""The player of sysbench's own suite: cram's format, read and compared."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

BENCH = ROOT / "bench"


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("sysbench_suite")


FILE = """A title

  $ cat >x <<EOF
  > one
  > EOF
  $ cat x
  one
  $ echo two; (exit 3)
  t* (glob)
  [3]
"""


def test_a_files_steps_are_played_in_one_shell(suite: Any, tmp_path: Path) -> None:
    steps = suite.steps_of(FILE)
    assert [it.line for it in steps] == [3, 6, 8]
    said = suite.play(steps, dict(os.environ), tmp_path)
    assert said == [[], ["one"], ["two", "[3]"]]
    assert not any(
        list(suite.differences(step, it, 9)) for step, it in zip(steps, said, strict=True)
    )


def test_a_step_that_differs_is_shown_from_both_sides(suite: Any, tmp_path: Path) -> None:
    (step,) = suite.steps_of("  $ echo a; echo c\n  a\n  b\n")
    (said,) = suite.play([step], dict(os.environ), tmp_path)
    assert list(suite.differences(step, said, 9)) == ["-b", "+c"]


def test_a_file_may_say_that_it_is_to_be_skipped(suite: Any, tmp_path: Path) -> None:
    assert (
        suite.play(suite.steps_of("  $ exit 80\n  $ echo no\n"), dict(os.environ), tmp_path) == []
    )


@pytest.mark.parametrize(
    ("expected", "said", "is_so"),
    [
        ("a.b (glob)", "a.b", True),
        ("a.b (glob)", "axb", False),
        ("[ 1s ] * (glob)", "[ 1s ] x", True),
        (r"\*\* ? (glob)", "** 1", True),
        (r"\*\* ? (glob)", "xx 1", False),
        (r"[0-9]+\.[0-9] (re)", "12.3", True),
        (r"[0-9]+ (re)", "12.3", False),
        ("plain (text)", "plain (text)", True),
    ],
)
def test_patterns_are_crams(suite: Any, expected: str, said: str, is_so: bool) -> None:
    assert suite.agrees(expected, said) is is_so
