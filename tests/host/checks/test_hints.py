"""The controls that a survey's hints name: each exists, and takes the value it is named with."""

from __future__ import annotations

import re
from pathlib import Path

from dyno.host import checks as host
from dyno.host.controls import load_controls


def test_a_hint_names_controls_with_values_that_they_take() -> None:
    sources = Path(host.__file__).parent.glob("*.py")
    named = {
        pair
        for file in sources
        for pair in re.findall(r"--control (\w+)=([\w-]+)", file.read_text(encoding="utf-8"))
    }
    assert {name for name, _ in named} >= {"governor", "turbo", "thp", "numa", "swap", "aslr"}
    for name, value in named:
        load_controls()[name].check(value)
