"""`dyno differ`: exit codes, the page, the same seed, what a killed run goes on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest
from differ_runs import make_run
from msgspec.structs import replace

from dyno.cli import run_words
from dyno.instruments.differ.grammar import SharedDialect
from dyno.instruments.differ.judgement import AnswerDifference
from dyno.instruments.differ.play import DifferPlayer, format_find
from dyno.instruments.differ.sides import Pair
from dyno.instruments.differ.tree import MadeStatement
from dyno.record.differ import DifferRun, ExplainedChange, FoundDifference
from dyno.report.differ import choose_differ_exit, describe_run
from dyno.runs.run_folder import read_json

OFF = "off=sqlite@system?foreign_keys=off"


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("DYNO_TMP", str(tmp_path / "data"))
    return tmp_path / "runs"


def read_runs(runs: Path) -> list[DifferRun]:
    return [read_json(DifferRun, file) for file in sorted(runs.glob("*/differ.json"))]


def test_a_difference_is_told_with_its_script_and_both_answers(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sqlite@system", OFF, "--finds", "1", "--json", str(tmp_path / "v.json")]
    assert run_words(["differ", *words]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "1 difference (" in said and "seed 1" in said
    assert "concurrency not checked" in said
    (run,) = read_runs(runs)
    (find,) = run.finds
    text = (next(runs.glob("*")) / "finds" / "0001.sql").read_text()
    assert f"-- run:\n{find.script[-1]};\n" in text and "-- setup:\n" in text
    assert os.uname().nodename not in text and str(tmp_path) not in text
    assert find.script[-1] in next(runs.glob("*/report.html")).read_text().replace("&#39;", "'")
    assert json.loads((tmp_path / "v.json").read_text())["overall"] == "measured"
    assert run_words(["report", "last", "--format", "markdown"]) == 0
    assert "FOREIGN KEY" in capsys.readouterr().out


def test_a_change_that_no_release_note_tells_stays_open() -> None:
    run = make_run()
    known = replace(run.finds[1], explained=ExplainedChange("floats are written otherwise"))
    named = replace(run, finds=(known,))
    assert not run.finds[1].is_open and named.open_finds == [known]
    assert choose_differ_exit(named) == 1 and "explained" not in describe_run(named)
    assert "no release note that we found (floats" in format_find(named, known)


def test_what_a_find_leaves_is_played_as_a_workload(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "0001.sql"
    run = make_run()
    file.write_text(format_find(run, run.finds[0]))
    assert run_words(["play", "sqlite@system", "--sql", str(file), "--set", "events=3"]) == 0
    said = capsys.readouterr().out
    assert "phase prepare" in said and "phase run" in said


def test_a_build_beside_itself_is_silent_and_the_same_seed_has_the_same_statements(
    runs: Path,
) -> None:
    for seed in ("5", "5", "6"):
        words = ["sqlite@system", "--aa", "--scripts", "12", "--seed", seed]
        assert run_words(["differ", *words]) == 0
    one, again, other = read_runs(runs)
    assert one.digest == again.digest != other.digest
    assert one.counts == again.counts and not one.finds


def test_a_killed_run_goes_on_behind_its_last_script(runs: Path) -> None:
    words = ["sqlite@system", "--aa", "--scripts", "60", "--seed", "5"]
    program = [sys.executable, "-m", "dyno.cli", "differ", *words]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as played:
        while not any(it.scripts for it in read_runs(runs)):
            assert played.poll() is None
            time.sleep(0.05)
        played.send_signal(signal.SIGKILL)
    (killed,) = read_runs(runs)
    assert 0 < killed.scripts < 60
    assert run_words(["resume", "last"]) == 0
    assert run_words(["differ", *words]) == 0
    resumed, whole = read_runs(runs)
    assert resumed.digest == whole.digest and resumed.counts == whole.counts


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("sqlite@system",), "two builds are compared"),
        (("sqlite@system", "sqlite@system"), "both sides are the same"),
        (("sqlite@system", "null@1ms"), "knows no SQL of null"),
        (("sqlite@system", "sqlite@99"), "99"),
        (("sqlite@system", "a=sqlite@system", "--aa"), "--aa takes one build"),
        (("sqlite@system", "--aa", "--format", "bencher"), "does not apply"),
        (("sqlite@system", "--aa", "--for", "0"), "not above 0"),
    ],
)
def test_what_cannot_be_played_is_refused(
    words: tuple[str, ...], why: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["differ", *words]) == 64
    assert why in " ".join(capsys.readouterr().err.split())
    assert not list(runs.glob("*"))


class PlayerOfOneCause(DifferPlayer):
    """Whatever it reduces is the run's first find; it notes which scripts it reduced."""

    def _shorten(
        self, number: int, script: list[MadeStatement], difference: AnswerDifference
    ) -> FoundDifference | None:
        self.say(f"{number}")
        return self.run.finds[0]


def test_a_class_whose_reductions_find_nothing_new_is_still_reduced_at_times(
    tmp_path: Path,
) -> None:
    """What is common and known would hide what is rare and of the same class."""
    reduced: list[str] = []
    dialect = SharedDialect(frozenset(), {}, {}, {})
    pair = cast(Pair, None)
    player = PlayerOfOneCause(make_run(), pair, dialect, [], tmp_path, reduced.append)
    for number in range(1, 71):
        player._take(number, [], AnswerDifference(0, "rows differ", "1 and 2 rows"))
    assert reduced == ["1", "2", "3", "6", "11", "20", "37", "54"]
    assert player.run.counts.unreduced == 70 - len(reduced)
    assert player.run.finds[0].count == 1 + len(reduced)
