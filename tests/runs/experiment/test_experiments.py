"""The experiments that come along: each is readable, its options exist, its figures hit a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.cli import run_words
from dyno.former_names import FormerNameWarning
from dyno.runs import experiment, experiments
from dyno.runs.experiment.candidates import list_cells
from dyno.runs.resolve.candidates import find_factor_kinds
from dyno.runs.resolve.workloads import resolve_workloads

FILES = sorted(Path(experiments.__file__).parent.glob("*.toml"))
#: What a published figure may be singled out by (`report/sections/published.py`).
WHERE = {"workload", "phase", "stream", "metric", "candidate", "cell"}
KEYS = {"figure", "source", "machine", *WHERE}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_experiment_can_be_played_as_it_is_written(file: Path) -> None:
    found = experiment.read_experiment(file)
    plans = [plan for plan, _ in resolve_workloads(found)]
    assert found.name == file.stem and found.question.endswith("?")
    primaries = [pair for plan in plans for phase in plan.phases for pair in phase.primary]
    assert primaries, "a verdict rests on something"
    phases = {phase.name for plan in plans for phase in plan.phases if phase.primary}
    known = {
        "workload": {plan.name for plan in plans},
        "phase": phases,
        "candidate": {side.name for side in found.candidates[1:]},
        "cell": {cell.name for cell in list_cells(found.candidates, found.crossed)},
    }
    assert bool(find_factor_kinds(found)) == bool(found.crossed.levels), (
        "each factor is somebody's word"
    )
    for figure in found.published:
        assert set(figure) <= KEYS and figure["figure"] and figure["source"]
        assert "machine" in figure or figure["source"] == "common advice on MySQL"
        assert set(figure) & (WHERE - {"stream"}), "it names no line"
        for key, names in known.items():
            assert figure.get(key, "") in {"", *names}, f"{figure} hits nothing"


def test_experiments_are_known_by_name_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [*experiments.list_experiments()] == sorted(file.stem for file in FILES)
    read = experiment.read_experiment(Path("query-cache"))
    assert (read.name, read.command) == ("query-cache", "dyno run query-cache")


@pytest.mark.parametrize("former", experiments.read_former_names())
def test_an_experiment_is_found_under_its_former_name_and_says_its_name(
    former: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = experiments.read_former_names()[former]
    note = f"'{former}' is now '{name}'"
    with pytest.warns(FormerNameWarning, match=note):
        assert experiment.read_experiment(Path(former)).name == name
    assert run_words(["show", former]) == 0
    assert note in capsys.readouterr().err


def test_a_folder_of_ones_own_adds_to_them_and_goes_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "experiments").mkdir()
    for name in ("mine", "query-cache"):
        (tmp_path / "experiments" / f"{name}.toml").touch()
    monkeypatch.chdir(tmp_path)
    found = experiments.list_experiments()
    assert found["mine"] == Path("experiments/mine.toml")
    assert found["query-cache"] == Path("experiments/query-cache.toml")
    assert len(found) == len(FILES) + 1 and [*found] == sorted(found)
