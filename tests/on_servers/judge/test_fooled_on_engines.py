"""Ways to be fooled that are injected on every engine, in one comparison of each, and all
caught.
"""

from __future__ import annotations

from pathlib import Path

import injected_faults
import pytest
from ways_to_be_fooled import assert_caught, every_way

from dyno.record import Finding

pytestmark = [pytest.mark.timeout(300)]

#: An engine's build, the setting by which the script knows the side that errs, and the question.
ENGINES = {
    "sqlite": ("sqlite@system", "page_size=8192", "PRAGMA page_size", "8192"),
    "duckdb": (
        "duckdb@1.1.3",
        "preserve_insertion_order=false",
        "SELECT CAST(current_setting('preserve_insertion_order') AS VARCHAR)",
        "false",
    ),
    "postgres": ("postgres@18", "work_mem=5MB", "SELECT current_setting('work_mem')", "5MB"),
    "mysql": ("mysql@8.0.33", "sort_buffer_size=300000", "SELECT @@sort_buffer_size", "300000"),
    "mariadb": (
        "mariadb@10.11.5",
        "sort_buffer_size=300032",
        "SELECT @@sort_buffer_size",
        "300032",
    ),
}

SCRIPT = """
-- On the side that errs: every tenth row is never added, an answer is another, rows are missing
-- from each answer, and every fourth event fails.
sysbench.cmdline.options = {}
local con, errs

local function connect()
  con = sysbench.sql.driver():connect()
  errs = tostring((con:query_row("QUESTION"))) == "ANSWER"
end

function prepare()
  connect()
  con:query("CREATE TABLE lost (k INTEGER)")
  con:query("CREATE TABLE answered (k INTEGER)")
  con:query("CREATE TABLE rows_of (k INTEGER)")
  con:query("CREATE TABLE once (k INTEGER PRIMARY KEY)")
  con:query("INSERT INTO once VALUES (1)")
  con:query("INSERT INTO answered VALUES (" .. (errs and 5 or 4) .. ")")
  for k = 1, 10 do con:query("INSERT INTO rows_of VALUES (" .. k .. ")") end
end

thread_init = connect

function event()
  local number = dyno.turn() + 1
  if not (errs and number % 10 == 0) then
    con:query("INSERT INTO lost VALUES (" .. number .. ")")
  end
  dyno.count("added", 1)
  for _ = 1, 3 do con:query("SELECT k FROM rows_of WHERE k > " .. (errs and 5 or 0)) end
  if errs and number % 4 == 0 then con:query("INSERT INTO once VALUES (1)") end
end

dyno.ledger = {
  {name = "lost", sql = "SELECT COUNT(*) FROM lost", counters = {added = 1}},
  {name = "answered", sql = "SELECT k FROM answered", counters = {}},
}
"""


def found(folder: Path, engine: str) -> list[Finding]:
    """What the audits say of a block of 200 events; the second side errs."""
    build, setting, question, answer = ENGINES[engine]
    script = folder / "injected.lua"
    script.write_text(SCRIPT.replace("QUESTION", question).replace("ANSWER", answer))
    options = {"events": "200", "warmup_time": "0"}
    sides = (f"good={build}", f"bad={build}?{setting}")
    return injected_faults.findings(folder, sides, str(script), options)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that_loses_and_answers_otherwise_is_found_out(
    engine: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))
    findings = found(home, engine)
    assert_caught("lost-rows", findings, engine)
    assert_caught("wrong-answers", findings, engine)
    assert_caught("fewer-rows", findings, engine)
    if engine != "postgres":  # there an event that meets a duplicate is begun anew, as in sysbench
        assert_caught("failures", findings, engine)
    # other audits may find the host too crowded for either side
    names = ("lost-rows", "wrong-answers", "fewer-rows", "failures")
    audits = {every_way()[name].audit for name in names}
    blamed = [f.sentence for f in findings if f.soundness == "invalid" and f.audit in audits]
    assert not [words for words in blamed if " on good" in words and " on bad" not in words]
