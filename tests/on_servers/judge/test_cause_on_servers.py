"""Causes of known truth on real engines: the first one named is the right one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from fakes import make_run
from judging import judge_unaudited

from dyno.compare.experiment import compare_candidates
from dyno.compare.play.run import play_once
from dyno.compare.resolve.experiment import resolve_experiment
from dyno.record import Cause, Trial

pytestmark = [pytest.mark.timeout(300)]

LOOKUP = """
sysbench.cmdline.options = {indexed = {"Index the column", true}, time = {"Seconds", 0.2}}
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE item (id INT PRIMARY KEY, k INT NOT NULL, c VARCHAR(60) NOT NULL)")
  con:bulk_insert_init("INSERT INTO item (id, k, c) VALUES")
  for id = 1, 3000 do con:bulk_insert_next(("(%d, %d, 'text %d')"):format(id, id, id)) end
  con:bulk_insert_done()
  if sysbench.opt.indexed then con:query("CREATE INDEX item_k ON item (k)") end
end
function cleanup() sysbench.sql.driver():connect():query("DROP TABLE item") end
local look, cell
function thread_init()
  local con = sysbench.sql.driver():connect()
  look = con:prepare("SELECT c FROM item WHERE k = ?")
  cell = look:bind_create(sysbench.sql.type.INT)
  look:bind_param(cell)
end
function event()
  cell:set(sysbench.rand.uniform(1, 3000))
  look:execute()
end
"""
STATEMENT = "SELECT c FROM item WHERE k = ?"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scripts") / "lookup.lua"
    path.write_text(LOOKUP)
    return path


@cache
def play_lookups(engine: str, script: Path, indexed: str) -> Trial:
    wanted = compare_candidates([engine], str(script), {"indexed": indexed})
    return play_once(resolve_experiment(wanted, lambda _: None), lambda _: None)


def find_cause(base: Trial, candidate: Trial) -> Cause:
    """Of two restarts, as the only ones of a run."""
    sides = zip(("old", "new"), (base, candidate), strict=True)
    trials = [
        replace(trial, number=at, candidate=name, workload="select", block=0)
        for at, (name, trial) in enumerate(sides, 1)
    ]
    (cause,) = judge_unaudited(make_run(), trials).causes
    return cause


@pytest.mark.parametrize(
    ("engine", "steps"),
    [
        ("sqlite", "SEARCH item USING INDEX item_k (k=?) → SCAN item"),
        ("duckdb", ""),
        ("postgres@18", "Scan"),
        ("mysql@8.0.33", "item: ref by item_k → item: full table scan (Using where)"),
    ],
)
def test_an_index_that_is_gone_on_one_side_is_named_first(
    engine: str, steps: str, script: Path
) -> None:
    base, other = (play_lookups(engine, script, indexed) for indexed in ("true", "false"))
    assert (base.status, other.status) == ("ok", "ok"), (base.failure, other.failure)
    assert base.plans.keys() == other.plans.keys() == {STATEMENT}
    same = find_cause(base, base).sentence
    assert same.startswith("no plan changed on new (1 statement compared)")
    cause = find_cause(base, other)
    if engine == "duckdb":  # its optimizer takes no index for so small a table
        return
    assert cause.sentence.startswith(f"new has another plan: {STATEMENT}: ")
    assert steps in cause.sentence
