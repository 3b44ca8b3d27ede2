"""Two small scripts, and the run that a comparison on one of them becomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dyno.record import Run
from dyno.runs import experiment
from dyno.runs.experiment import Measuring
from dyno.runs.resolve.experiment import draft_run

PLAIN = """
-- One query per event.
sysbench.cmdline.options = { table_size = {"Number of rows", 100} }
function prepare() end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
"""


PHASES = """
-- Two phases of its own.
function thread_init() con = sysbench.sql.driver():connect() end
function one() con:query("SELECT 1") end
dyno.phases = function()
  local stream = {name = "one", run = "one", connections = 1}
  local counted = {kind = "count", events = 5}
  local primary = {{stream = "one", metric = "rate_per_s", margin_percent = 5}}
  return {
    {name = "first", streams = {stream}, stop = counted, primary = primary, expected_s = 0.1},
    {name = "then", streams = {stream}, stop = counted, expected_s = 0.1},
  }
end
"""


def resolve(
    script: Path, *specs: str, options: dict[str, str] | None = None, **measuring: Any
) -> Run:
    sides = specs or ("null@1us", "null@2us")
    made = experiment.compare_candidates(sides, str(script), options or {}, Measuring(**measuring))
    return draft_run(made, lambda _: None).run
