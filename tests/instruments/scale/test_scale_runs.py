"""`dyno scale` on SQLite, played for real: the forecast, its page, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from dyno.cli import run_words
from dyno.errors import UsageError
from dyno.instruments.scale.play import find_machine
from dyno.record.decode import encode
from dyno.record.scaling import ScaleRun
from dyno.runs.run_folder import read_json


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


SHORT = ["--users", "1,2", "--restarts", "2", "--time", "0.1s", "--set", "table_size=1000"]


def test_a_run_is_played_told_and_goes_on_where_it_was_stopped(
    tmp_path: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.json"
    words = ["scale", "sqlite", "-w", "oltp_point_select", *SHORT, "--json", str(file)]
    assert run_words(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Forecast, not measured: on 64 cores sqlite does" in said
    told = json.loads(file.read_text())
    assert told["overall"] == "measured" and [it["users"] for it in told["forecast"][0]["checks"]]
    (record,) = runs.glob("*/scaling.json")
    run = read_json(ScaleRun, record)
    assert [(it.restart, it.users, it.watched) for it in run.plays[:4]] == [
        (0, 1, False),
        (0, 2, False),
        (0, 1, True),
        (0, 2, True),
    ]
    assert all(it.server_cpu_ns > 0 and it.client_cpu_ns == 0 for it in run.plays)
    assert any(it.locks for it in run.plays if it.watched)
    assert (record.parent / "report.html").is_file()
    record.write_text(json.dumps(encode(replace(run, plays=run.plays[:4]))))
    assert run_words(["report", str(record.parent)]) == 64
    assert "is not over" in capsys.readouterr().err
    assert run_words(["resume", str(record.parent)]) == 0
    assert len(read_json(ScaleRun, record).plays) == len(run.plays)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("sqlite -w oltp_point_select --users 2,4", "--users must have 1 among"),
        ("sqlite -w oltp_point_select --users 1,x", "--users must be numbers"),
        ("sqlite -w oltp_point_select --set threads=3", "sets the option 'threads' itself"),
        ("sqlite -w oltp_point_select --control pinning=apart", "share the cores"),
        ("sqlite -w insert", "phases, and one is forecast"),
        ("sqlite -w oltp_point_select --machine nosuch", "unknown machine 'nosuch'"),
        ("null@1ms -w oltp_point_select", "does no work"),
        ("sqlite sqlite sqlite -w oltp_point_select", "a base and one candidate"),
        ("mysql://h/d -w oltp_point_select", "runs already"),
    ],
)
def test_what_cannot_be_forecast_is_refused(
    words: str, why: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["scale", *words.split()]) == 64
    assert why in capsys.readouterr().err
    assert not list(runs.glob("*"))


def test_a_machine_is_known_by_name_or_by_a_file(tmp_path: Path) -> None:
    what, line = find_machine("xeon-8275cl")
    assert "Cascade Lake" in what and line.far_ns == 134 and line.near_cores == 24
    file = tmp_path / "ours.toml"
    file.write_text('[ours]\nwhat = "ours"\nns = 60\nsource = "us"\n')
    assert find_machine(str(file))[1].ns == 60
    for text in ("ns = 3\n", '[a]\nwhat = "x"\nns = -1\nsource = "y"\n', "[", ""):
        file.write_text(text)
        with pytest.raises(UsageError):
            find_machine(str(file))
