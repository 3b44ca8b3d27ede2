"""Every example of docs/guides/lua is a script that the driver takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from played_scripts import NULL
from repository import ROOT

from dyno import driver
from dyno.driver.plan import Plan, Script

EXAMPLES = {
    f"{page.stem}-{number}": text
    for page in sorted((ROOT / "docs/guides/lua").glob("*.md"))
    for number, text in enumerate(re.findall(r"^```lua\n(.*?)^```$", page.read_text(), re.M | re.S))
}
#: What the examples leave to their reader.
AROUND = """
sysbench.cmdline.options = sysbench.cmdline.options or {table_size = {"Rows", 100}}
function event() end
function query_range() end
function write_rows() end
"""


def test_there_are_examples() -> None:
    assert {name.partition("-")[0] for name in EXAMPLES} >= {"README", "checks", "events", "phases"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_a_guide_is_taken_by_the_driver(name: str, tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.write_text(AROUND + EXAMPLES[name])
    assert driver.describe(Plan(NULL, Script(str(script), {}), 7)).options


def test_a_phase_that_names_no_function_is_not_taken(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.write_text(EXAMPLES["phases-0"])
    with pytest.raises(Exception, match="query_range"):
        driver.describe(Plan(NULL, Script(str(script), {}), 7))
