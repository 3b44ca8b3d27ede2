"""`dyno run --set`: options of an experiment's workloads, in the place of the file's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.cli import exit_code, judged_run
from dyno.experiment import Experiment
from dyno.record import Verdict

FILE = """
candidates = ["null", "null"]
[[workload]]
name = "oltp_point_select"
options = { table_size = 10, time = 1 }
sweep = { threads = [1, 2] }
[[workload]]
name = "oltp_read_only"
"""


def test_options_that_are_set_are_those_of_each_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Experiment] = []

    def play(made: Experiment, _: object) -> Verdict:
        played.append(made)
        return Verdict("not slower", "so it is", True, (), (), ())

    monkeypatch.setattr(judged_run, "play_and_judge", play)
    (tmp_path / "x.toml").write_text(FILE)
    assert exit_code(["run", str(tmp_path / "x.toml"), "--set", "table-size=99"]) == 0
    (made,) = played
    assert [it.options["table_size"] for it in made.workloads] == ["99"] * 3
    assert [it.options.get("time") for it in made.workloads] == ["1", "1", None]
    assert [it.sweep for it in made.workloads] == [{"threads": "1"}, {"threads": "2"}, {}]


def test_an_option_that_is_swept_or_nobodys_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.toml").write_text(FILE)
    for setting, why in (("threads=4", "plays several values of it"), ("tabel_size=4", "tabel")):
        assert exit_code(["run", str(tmp_path / "x.toml"), "--set", setting]) == 64
        assert why in capsys.readouterr().err
