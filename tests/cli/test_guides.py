"""Every command of docs/guides/yours: those of embedded engines run, comparisons are resolved."""

from __future__ import annotations

from pathlib import Path

import pytest
from guides import GUIDES, guide

from dyno.cli import judged_run, run_words
from dyno.record import Verdict
from dyno.runs.experiment import Experiment
from dyno.runs.resolve.experiment import outline_experiment

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder and a cache of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    return tmp_path


def resolve_only(experiment: Experiment, _options: object) -> Verdict:
    """A comparison as far as its words and its script go."""
    assert outline_experiment(experiment).run.workloads[0].phases
    return Verdict("not slower", "so it is", True, (), (), ())


@pytest.mark.parametrize("name", GUIDES)
def test_the_commands_of_a_guide_do_what_it_says(
    name: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judged_run, "play_and_judge", resolve_only)
    it = guide(name)
    it.unpack(here)
    commands = it.commands_of("sqlite", "null")
    assert {words[0] for words in commands} >= {"play", "compare"}
    for words in commands:
        has_time = words[0] == "play" and "--log" not in words
        quick = ["--time", "0.1", "--set", "warmup_time=0"] if has_time else []
        assert run_words(words + quick) == 0, capsys.readouterr().err
