"""The main job, nothing faked: two SQLite builds from source, a verdict, a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dyno.cli import run_words
from dyno.compare.run_folder import list_runs

pytestmark = [pytest.mark.timeout(400)]

#: Small, and deaf to the neighbours: what is tested is that all parts meet, not what they find.
EXPERIMENT = """
question = "does the main job work?"
candidates = ["old=sqlite@3.24.0", "new=sqlite@3.54.1"]
blocks = 3
limits = { steal_percent = 100, foreign_percent = 100 }
[[workload]]
name = "oltp_point_select"
options = { time = 0.3, warmup_time = 0.1, table_size = 200 }
[[workload]]
name = "insert"
options = { load_rows = 1000, write_rows = 500, query_seconds = 0.2, query_rates = "100" }
"""


def test_two_builds_from_source_end_in_a_verdict_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    (tmp_path / "job.toml").write_text(EXPERIMENT)
    rows = tmp_path / "rows.json"
    assert run_words(["run", str(tmp_path / "job.toml"), "--json", str(rows)]) == 0
    (folder,) = list_runs(tmp_path / "runs")
    trials = folder.read_trials()
    assert {trial.status for trial in trials} == {"ok"}
    assert all(e.digest or e.found == str(e.expected) for t in trials for e in t.evidence)
    versions = {t.candidate: t.settings.get("version") for t in trials if t.block >= 0}
    assert versions == {"old": "3.24.0", "new": "3.54.1"}
    assert {row["workload"] for row in json.loads(rows.read_text()) if row["primary"]} == {
        "oltp_point_select",
        "insert",
    }
    assert (folder.path / "report.html").stat().st_size > 100_000
    assert "report.html" in capsys.readouterr().out


def test_an_injected_slowdown_is_found_wherever_the_host_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    words = ["compare", "null@1ms", "null@2ms", "-w", "oltp_point_select", "--quick"]
    code = run_words([*words, "--set", "time=0.5"])
    said = capsys.readouterr().out
    assert code == 1 or (code == 2 and "too noisy" in said), said
