"""What the phases of the workloads that come along are called in a report."""

from __future__ import annotations

import pytest

from dyno import driver, workloads
from dyno.driver.plan import Plan, Script

#: The widest that a first screen shows whole.
TITLE_MAX = 40


@pytest.mark.parametrize("name", list(workloads.list_workloads()))
def test_every_phase_has_a_title_of_its_own_that_a_first_screen_can_show(name: str) -> None:
    script = workloads.list_workloads()[name]
    phases = driver.describe(Plan({"kind": "null", "delay_ns": 0}, Script(str(script)), 1)).phases
    titles = [phase.title for phase in phases]
    assert all(0 < len(title) <= TITLE_MAX for title in titles), titles
    assert len(set(titles)) == len(titles), "two rows of one title are told apart by their names"
