"""Tables made by statements, played for a moment, and what the audit `integrity` says of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dyno.instruments.time.run import play_once
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits.integrity import AUDIT
from dyno.record import Finding, Trial
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run

SCRIPT = """
sysbench.cmdline.options = {}
function prepare()
  local con = sysbench.sql.driver():connect()
  for _, sql in ipairs({STATEMENTS}) do con:query(sql) end
end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT COUNT(*) FROM parent") end
"""


def play_checked(
    home: Path, engine: str, statements: Sequence[str], check: str = "quick"
) -> tuple[Trial, list[Finding]]:
    """The trial, which ends well, and the findings; one of the tables is called `parent`."""
    script = home / "tables.lua"
    script.write_text(SCRIPT.replace("STATEMENTS", json.dumps(list(statements))[1:-1]))
    options, measuring = {"time": "0.05", "warmup_time": "0"}, Measuring(check=check)
    experiment = compare_candidates([engine], str(script), options, measuring)
    prepared = draft_run(experiment, lambda _: None)
    trial = play_once(prepared, lambda _: None)
    assert trial.status == "ok", trial.failure
    return trial, AUDIT.judge(RunView(prepared.run, (trial,)))
