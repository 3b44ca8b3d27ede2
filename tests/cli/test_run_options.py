"""`dyno run --set`: options of an experiment's workloads, in the place of the file's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.cli import judged_run, run_words
from dyno.record import Verdict
from dyno.runs.experiment import Experiment

SWEPT = """
candidates = ["null", "null"]
aa = true
[[workload]]
name = "oltp_point_select"
options = { table_size = 10, time = 1 }
sweep = { threads = [1, 2] }
"""
FILE = f"""{SWEPT}
[[workload]]
name = "oltp_read_only"
"""


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[Experiment]:
    """What was to be played, in the place of playing it."""
    played: list[Experiment] = []

    def play(made: Experiment, _: object) -> Verdict:
        played.append(made)
        return Verdict("not slower", "so it is", True, (), (), ())

    monkeypatch.setattr(judged_run, "play_and_judge", play)
    return played


def test_options_that_are_set_are_those_of_each_workload(
    tmp_path: Path, played: list[Experiment]
) -> None:
    (tmp_path / "x.toml").write_text(FILE)
    assert run_words(["run", str(tmp_path / "x.toml"), "--set", "table-size=99"]) == 0
    (made,) = played
    assert [it.options["table_size"] for it in made.workloads] == ["99"] * 3
    assert [it.options.get("time") for it in made.workloads] == ["1", "1", None]
    assert [it.sweep for it in made.workloads] == [{"threads": "1"}, {"threads": "2"}, {}]
    (tmp_path / "x.toml").write_text(f'{SWEPT}[[workload]]\nname = "insert"\n')
    words = ["run", str(tmp_path / "x.toml"), "--set", "write_rows=9", "--set", "threads=4"]
    assert run_words(words) == 0
    swept, inserting = played[1].workloads
    assert "write_rows" not in swept.options, "its script has no such option"
    assert inserting.options["write_rows"] == "9" and swept.sweep == {"threads": "4"}


def test_a_sweep_takes_the_values_that_are_set(tmp_path: Path, played: list[Experiment]) -> None:
    file = tmp_path / "x.toml"
    for text, setting, sweeps in (
        (FILE, "threads=4", [{"threads": "4"}, {}]),
        (SWEPT, "threads=8,1", [{"threads": "8"}, {"threads": "1"}]),
    ):
        file.write_text(text)
        assert run_words(["run", str(file), "--set", setting]) == 0
        made = played.pop()
        assert [it.sweep for it in made.workloads] == sweeps
        swept = [it.sweep.get("threads", "4") for it in made.workloads]
        assert [it.options["threads"] for it in made.workloads] == swept


def test_what_cannot_be_set_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.toml").write_text(FILE)
    for setting, why in (
        ("threads=1,4", "oltp_read_only takes one value"),
        ("threads=1,1", "the values of a sweep must differ"),
        ("tabel_size=4", "tabel"),
    ):
        assert run_words(["run", str(tmp_path / "x.toml"), "--set", setting]) == 64
        assert why in capsys.readouterr().err
