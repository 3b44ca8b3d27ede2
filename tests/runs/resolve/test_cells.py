"""Cells resolved and played: whose word a factor is, and that its effect comes out on `null`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dyno.errors import UsageError
from dyno.instruments.time.blocks import choose_baseline_attempt
from dyno.record import Factor, Run
from dyno.runs import experiment
from dyno.runs.experiment import Measuring
from dyno.runs.experiment.candidates import CrossedFactors, Crossing
from dyno.runs.forecast.estimate import count_family
from dyno.runs.resolve.candidates import find_factor_kinds, list_requests
from dyno.runs.resolve.design import list_due_baselines
from dyno.runs.resolve.experiment import draft_run, outline_experiment

SCRIPT = """
-- As many queries per event as `queries` says, by as many users as `threads`.
sysbench.cmdline.options = {
  queries = {"Queries per event", 1},
  aslr = {"A word that is somebody else's too", 1},
}
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  for _ = 1, sysbench.opt.queries do con:query("SELECT 1") end
end
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "mine.lua"
    path.write_text(SCRIPT)
    return path


def crossed(
    script: Path,
    factors: dict[str, tuple[str, ...]],
    specs: tuple[str, ...] = ("null@1us",),
    crossing: Crossing = "factorial",
    **measuring: Any,
) -> experiment.Experiment:
    options = {"time": "0.15", "warmup_time": "0"}
    made = experiment.compare_candidates(specs, str(script), options, Measuring(**measuring))
    return replace(made, crossed=CrossedFactors(factors, crossing))


def resolve(*args: Any, **words: Any) -> Run:
    return draft_run(crossed(*args, **words), lambda _: None).run


def test_each_factor_is_known_by_whose_word_it_is(script: Path) -> None:
    specs = ("sqlite@3.54.1?cflags=-O2",)
    varied: dict[str, tuple[str, ...]] = {
        "journal_mode": ("wal", "delete"),
        "pinning": ("off", "apart"),
        "queries": ("1", "2"),
    }
    made = crossed(script, varied, specs)
    kinds = find_factor_kinds(made)
    assert [(f.name, f.kind) for f in kinds] == [
        ("journal_mode", "engine setting"),
        ("pinning", "control"),
        ("queries", "workload option"),
    ]
    found = list_requests(made, kinds)
    assert len(found) == 8
    last = found[-1]
    assert last.spec.name == "journal_mode=delete pinning=apart queries=2"
    assert last.spec.text == "sqlite@3.54.1?cflags=-O2&journal_mode=delete&pinning=apart"
    assert (last.levels["queries"], last.options) == ("2", {"queries": "2"})


def test_a_cell_is_a_candidate_with_its_levels(script: Path) -> None:
    run = resolve(script, {"pinning": ("off", "apart")})
    assert run.factors == (Factor("pinning", "control", ("off", "apart")),)
    assert run.design.crossing == "factorial" and run.design.base == "pinning=off"
    assert [(c.controls, c.levels) for c in run.candidates] == [
        ({"pinning": "off"}, {"pinning": "off"}),
        ({"pinning": "apart"}, {"pinning": "apart"}),
    ]


def test_an_option_of_the_workload_makes_variants_of_it(script: Path) -> None:
    run = resolve(script, {"threads": ("1", "3"), "pinning": ("off", "apart")})
    (plan,) = run.workloads
    assert plan.options["threads"] == "1"
    assert [c.options for c in run.candidates] == [{}, {}, {"threads": "3"}, {"threads": "3"}]
    own = plan.with_options({"threads": "3"})
    assert own.options == plan.options | {"threads": "3"} and own.name == plan.name
    assert [p.streams[0].connections for p in (*plan.phases, *own.phases)] == [1, 3]
    assert plan.with_options({}) is plan


def test_every_variant_has_a_baseline_of_its_own(script: Path) -> None:
    run = resolve(script, {"threads": ("1", "3")})
    assert [options for _, options in list_due_baselines(run.workloads)] == [{}, {"threads": "3"}]
    assert choose_baseline_attempt("mine", [], {"threads": "3"}) == 1


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        ({"pining": ("on", "off")}, "unknown factor 'pining'"),
        ({"aslr": ("on", "off")}, "the factor 'aslr' is both a control and a workload option"),
        ({"pinning": ("off", "maybe")}, "unknown value of pinning|pinning.*maybe"),
        ({"time": ("1", "2")}, "'time' is a factor and is set in the workload .*mine.lua too"),
    ],
)
def test_a_word_that_cannot_be_a_factor_is_refused(
    script: Path, factors: dict[str, tuple[str, ...]], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        resolve(script, factors)


def test_a_factor_that_is_held_for_all_is_refused(script: Path) -> None:
    with pytest.raises(UsageError, match=r"'pinning' is a factor and is set in \[controls\] too"):
        resolve(script, {"pinning": ("off", "apart")}, controls={"pinning": "off"})


def test_a_factor_must_be_known_by_every_engine(script: Path) -> None:
    with pytest.raises(UsageError, match="not every engine has an engine setting"):
        resolve(script, {"journal_mode": ("wal", "off")}, ("null@1us", "sqlite@3.54.1"))


def test_candidates_that_are_the_same_are_no_factor(script: Path) -> None:
    with pytest.raises(UsageError, match="a factor changes nothing") as raised:
        resolve(script, {"pinning": ("off", "apart")}, ("null@1us", "null@1us"))
    assert "'null@1us pinning=off' and 'null@1us#2 pinning=off'" in str(raised.value)


def test_an_a_a_comparison_has_no_factors(script: Path) -> None:
    with pytest.raises(UsageError, match="an A/A comparison takes no factors"):
        resolve(script, {"pinning": ("off", "apart")}, aa=True)


def test_a_plan_counts_cells_and_main_effects_without_a_build(script: Path) -> None:
    made = crossed(script, {"threads": ("1", "3"), "pinning": ("off", "apart")})
    run = outline_experiment(made).run
    assert [c.options for c in run.candidates] == [{}, {}, {"threads": "3"}, {"threads": "3"}]
    assert count_family(run) == 2
