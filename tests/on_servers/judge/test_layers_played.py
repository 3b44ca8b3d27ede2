"""CPU time by layer of a comparison as a user plays it: the layer that costs more comes first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dyno.cli import run_words
from dyno.record import Run
from dyno.runs.run_folder import list_runs

pytestmark = [pytest.mark.timeout(300)]

GUIDE = (Path(__file__).parents[3] / "docs/guides/cause.md").read_text()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in which one side has to scan for want of an index."""
    home = tmp_path_factory.mktemp("played")
    script = home / "lookup.lua"
    script.write_text(GUIDE.partition("```lua\n")[2].partition("```")[0])
    words = ["compare", "sqlite", "--factor", "indexed=true,false", "-w", str(script), "--quick"]
    limits = ["--limit", "foreign_percent=100", "--limit", "steal_percent=100"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DYNO_RUNS", str(home / "runs"))
        assert run_words([*words, *limits, "--json", str(home / "rows.json")]) == 1
        (folder,) = list_runs(home / "runs")
    run = folder.read_run()
    if reason := find_reason(run):
        pytest.skip(f"CPU time cannot be sampled here: {reason}")
    return folder.path


def find_reason(run: Run) -> str:
    return run.cpu_sampling.missing if run.cpu_sampling else "nobody tried"


def read_layers(played: Path) -> list[dict[str, Any]]:
    rows = json.loads((played.parent.parent / "rows.json").read_text())["comparisons"]
    found: list[dict[str, Any]] = rows[0]["layers"]
    return found


def test_a_scan_costs_in_the_virtual_machine_first_and_then_in_the_b_tree(played: Path) -> None:
    whole, *layers = read_layers(played)
    assert whole["layer"] == "all CPU time" and whole["word"] == "costlier"
    assert [row["layer"] for row in layers[:2]] == ["virtual machine", "b-tree"]
    assert [row["word"] for row in layers[:2]] == ["costlier", "costlier"]


def test_layers_add_up_to_the_whole_and_each_was_foreseen(played: Path) -> None:
    whole, *layers = read_layers(played)
    for part in ("base_ns", "candidate_ns", "difference_ns"):
        assert abs(sum(row[part] for row in layers) - whole[part]) < 0.001 * whole["candidate_ns"]
    sampling = json.loads((played / "run.json").read_text())["cpu_sampling"]
    assert {row["layer"] for row in layers} <= set(sampling["layers"]["sqlite"])


def test_the_report_shows_it_and_its_samples_are_exported(played: Path) -> None:
    page = (played / "report.html").read_text()
    assert '<figure class="flame"' in page and len(page) < 500_000
    assert run_words(["report", str(played), "--profile", "collapsed"]) == 0
    (scanning,) = played.glob("profile-1-*.collapsed.txt")
    assert ";virtual machine;sqlite3VdbeExec " in scanning.read_text()
