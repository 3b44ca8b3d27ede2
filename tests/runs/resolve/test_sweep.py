"""A sweep in an experiment: one option over a list, each value a workload with its own name."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.errors import UsageError
from dyno.runs import experiment
from dyno.runs.experiment import Experiment
from dyno.runs.resolve.workloads import resolve_workloads

TEXT = """
candidates = ["null@1us", "null@2us"]
[[workload]]
name = "oltp_point_select"
options = {{ table_size = 10, time = 1 }}
sweep = {}
"""


def read(folder: Path, sweep: str) -> Experiment:
    path = folder / "mine.toml"
    path.write_text(TEXT.format(sweep))
    return experiment.read_experiment(path)


def test_each_value_becomes_a_workload_with_that_option(tmp_path: Path) -> None:
    found = read(tmp_path, "{ threads = [1, 4, 64] }").workloads
    assert [each.options["threads"] for each in found] == ["1", "4", "64"]
    assert [each.sweep for each in found] == [{"threads": "1"}, {"threads": "4"}, {"threads": "64"}]
    assert {each.options["table_size"] for each in found} == {"10"}


def test_each_value_is_played_under_a_name_of_its_own(tmp_path: Path) -> None:
    plans = [plan for plan, _ in resolve_workloads(read(tmp_path, "{ threads = [1, 4] }"))]
    names = [plan.name for plan in plans]
    assert names == ["oltp_point_select threads=1", "oltp_point_select threads=4"]
    assert [plan.sweep for plan in plans] == [{"threads": "1"}, {"threads": "4"}]
    assert [plan.phases[0].streams[0].connections for plan in plans] == [1, 4]


def test_an_option_may_be_written_with_a_hyphen(tmp_path: Path) -> None:
    found = read(tmp_path, "{ range-size = [10, 100] }").workloads
    assert [each.sweep for each in found] == [{"range_size": "10"}, {"range_size": "100"}]


@pytest.mark.parametrize(
    "sweep",
    [
        "{ threads = [1] }",
        "{ threads = 4 }",
        "{ threads = [1, 1] }",
        "{ threads = [1, 4], tables = [1, 4] }",
        "{ time = [1, 2] }",
    ],
)
def test_what_is_no_sweep_is_refused_with_its_line(tmp_path: Path, sweep: str) -> None:
    with pytest.raises(UsageError, match=r"mine\.toml:6: a sweep needs one option") as raised:
        read(tmp_path, sweep)
    assert "threads = [1, 4, 16]" in raised.value.hint
