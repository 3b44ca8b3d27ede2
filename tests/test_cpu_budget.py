"""What tests may cost: sums by folder, and each costly test named with its reason."""

from __future__ import annotations

import tomllib

from cpu_budget import BUDGET, COSTLY_S, LEEWAY, add_up, judge
from repository import ROOT


def test_a_folder_above_its_budget_and_a_costly_test_without_a_reason_are_named() -> None:
    spent = {
        ("tests/host/test_a.py::test_x", False): COSTLY_S * LEEWAY + 1,
        ("tests/on_servers/kit/test_b.py::test_y[mysql@9.7]", True): 1e4,
        ("tests/on_servers/compare/test_count.py::test_z", False): COSTLY_S * LEEWAY + 1,
    }
    assert add_up(spent)["on_servers/kit (further)"] == 1e4
    folder, *costly = judge(spent, 1.0)
    assert folder.startswith("on_servers/kit (further) took 10000 CPU s, its budget is ")
    assert [it.split()[0] for it in costly] == [name for name, _ in spent][:2]
    assert not judge({("tests/host/test_a.py::test_x", False): COSTLY_S * LEEWAY + 1}, 2.0)


def test_every_file_whose_cost_has_a_reason_is_there() -> None:
    entries = tomllib.loads(BUDGET.read_text())["costly"]
    files = [file for entry in entries for file in entry["files"]]
    assert len(files) == len(set(files))
    assert not [file for file in files if not (ROOT / "tests" / file).exists()]
