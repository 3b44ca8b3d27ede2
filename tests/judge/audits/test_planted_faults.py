"""Injected faults, nothing faked: a real engine that errs, a real script that lies, found by
audits.

The engine is SQLite; on the candidate with pages of 8 KB triggers make it lose, invent and forget,
and answer otherwise. The other one is clean, and no audit may blame it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dyno.instruments.time.run import play_run
from dyno.judge.analysis.judge import judge
from dyno.record import Finding
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

NEIGHBOURS = {"steal_percent": 100.0, "foreign_percent": 100.0}

SCRIPT = """
-- Inserts into two tables and adds 1 in a third, per event.
sysbench.cmdline.options = {}
local con

local FAULTS = {
  "CREATE TRIGGER loses BEFORE INSERT ON lost WHEN new.k % 50 = 0 " ..
    "BEGIN SELECT RAISE(IGNORE); END",
  "CREATE TRIGGER invents AFTER INSERT ON made WHEN new.k = 7 " ..
    "BEGIN INSERT INTO made VALUES (0); END",
  "CREATE TRIGGER forgets AFTER UPDATE ON held WHEN new.k = 9 " ..
    "BEGIN UPDATE held SET k = 8; END",
  "UPDATE answered SET k = 5",
}

function prepare()
  con = sysbench.sql.driver():connect()
  for _, name in ipairs({"lost", "made", "held", "answered"}) do
    con:query("CREATE TABLE " .. name .. " (k INTEGER)")
  end
  con:query("INSERT INTO held VALUES (0)")
  con:query("INSERT INTO answered VALUES (4)")
  if tonumber((con:query_row("PRAGMA page_size"))) == 8192 then
    for _, fault in ipairs(FAULTS) do con:query(fault) end
  end
end

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  local number = dyno.turn() + 1
  con:query("INSERT INTO lost VALUES (" .. number .. ")")
  con:query("INSERT INTO made VALUES (" .. number .. ")")
  con:query("UPDATE held SET k = k + 1")
  dyno.count("done", 1)
end

local done = {done = 1}
dyno.ledger = {
  {name = "lost", sql = "SELECT COUNT(*) FROM lost", counters = done},
  {name = "made", sql = "SELECT COUNT(*) FROM made", counters = done},
  {name = "held", sql = "SELECT k FROM held", counters = done},
  {name = "answered", sql = "SELECT k FROM answered", counters = {}},
}
dyno.size_bytes = SIZE
"""


def _found(folder: Path, *sides: str, script: str) -> list[Finding]:
    """What the audits say of three blocks of 200 events."""
    file = folder / "injected.lua"
    file.write_text(script)
    measuring = Measuring(blocks=3, fixed=True, limits=NEIGHBOURS, seed=3, loads=0)
    options = {"events": "200", "warmup_time": "0"}
    prepared = draft_run(compare_candidates(sides, str(file), options, measuring), lambda _: None)
    kept = create_run(prepared.run, folder)
    play_run(prepared, kept, lambda _: None)
    return list(judge(prepared.run, kept.read_trials()).findings)


def _of(findings: list[Finding], *audits: str) -> Iterator[tuple[str, str]]:
    return ((f.soundness, f.sentence) for f in findings if f.audit in audits)


@pytest.mark.slow
def test_an_engine_that_loses_invents_forgets_and_answers_otherwise_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(tmp_path))
    sides = "good=sqlite@system", "bad=sqlite@system?page_size=8192"
    found = _found(tmp_path, *sides, script=SCRIPT.replace("SIZE", "0"))
    told = {words: soundness for soundness, words in _of(found, "ledger", "results")}
    assert set(told.values()) == {"invalid"} and len(told) == 4
    words = " | ".join(sorted(told))
    for name in ("lost", "made", "held"):
        assert f"injected on bad lost or made up work in '{name}'" in words
    assert "bad and good answer 'answered' with other values" in words
    assert "on good" not in words
    others = [f for f in found if f.audit in ("settings", "storage", "same_program")]
    assert {f.soundness for f in others} == {"sound"}
    assert [word for word, _ in _of(found, "data_size")] == ["does not apply"], (
        "no size is declared"
    )


@pytest.mark.slow
def test_a_build_with_itself_in_memory_and_a_script_that_boasts_are_doubtful(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir():
        pytest.skip("no file system in memory here")
    monkeypatch.setenv("DYNO_TMP", str(memory))
    sides = "one=sqlite@system", "two=sqlite@system"
    found = _found(tmp_path, *sides, script=SCRIPT.replace("SIZE", "500e6"))
    same, size = _of(found, "same_program"), _of(found, "data_size")
    assert [word for word, _ in same] == ["doubtful"]
    assert [word for word, _ in size] == ["doubtful", "doubtful"]
    assert all("lies in memory (tmpfs" in words for _, words in _of(found, "storage"))
    assert [word for word, _ in _of(found, "ledger")] == ["sound"]
