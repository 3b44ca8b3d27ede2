"""A count that does not end leaves nothing, and what a killed one leaves is told by what it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import make_run

from dyno.cli import run_words
from dyno.errors import TrialFailed
from dyno.instruments.instructions.candidate import CountPlan
from dyno.instruments.instructions.run import count_run
from dyno.runs.experiment import compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import COUNTS, create_run


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.mark.parametrize("raised", [TrialFailed("the driver was killed"), KeyboardInterrupt()])
def test_a_count_that_fails_leaves_no_folder(raised: BaseException, runs: Path) -> None:
    seen: list[Path] = []

    def fail(clause: str) -> None:
        if clause.startswith("loading and counting"):
            seen.extend(runs.iterdir())
            raise raised

    experiment = compare_candidates(["sqlite@3.54.1"], "oltp_point_select", {"threads": "1"})
    draft = draft_run(experiment, lambda _: None)
    with pytest.raises(type(raised)):
        count_run(draft, CountPlan(), runs, fail)
    assert len(seen) == 1 and not list(runs.iterdir())


@pytest.mark.parametrize("command", ["resume", "report"])
def test_a_count_that_was_killed_is_told_by_what_it_is(
    command: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "20260101T000000Z-count-a-vs-b" / "callgrind").mkdir(parents=True)
    assert run_words([command, "20260101T000000Z-count-a-vs-b"]) == 64
    said = capsys.readouterr().err
    assert "is a count that did not end" in said and "start it again" in said


def test_a_comparison_whose_count_was_killed_says_that_it_is_not_made_again(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, torn = create_run(make_run(), runs), create_run(make_run(), runs)
    (torn.path / COUNTS / "01-insert" / "callgrind").mkdir(parents=True)
    for folder, is_told in ((whole, False), (torn, True)):
        run_words(["resume", folder.path.name])  # refused: it is of another host
        assert ("are not made again" in capsys.readouterr().err) == is_told
