"""`dyno run --on`: what is refused before anybody is asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fleet_plays import write_experiment

from dyno.cli import run_words
from dyno.cli.fleet import list_forwarded_words
from dyno.cli.run import command
from dyno.compare.fleet.experiment_files import list_experiment_files
from dyno.compare.run_folder import RunFolder
from dyno.errors import UsageError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--on", "k8s:pods"], "--on k8s:pods names no fleet"),
        (["--on", "ssh"], "--on ssh names no fleet"),
        (["--on", "ssh:"], "--on ssh: names no fleet"),
        (["--on", "ray://"], "--on ray:// names no fleet"),
        (["--on", "ssh:gone.toml"], "there is no file of hosts gone.toml"),
        (["--on", "ssh:bad.toml"], "bad.toml:2: a host's name"),
        (["--on", "ssh:hosts.toml", "--budget", "1m"], "--budget and --on exclude each other"),
        (
            ["--on", "ssh:hosts.toml", "--inconclusive", "retry"],
            "--inconclusive and --on exclude each other",
        ),
        (["--shares", "2"], "--shares is for a fleet"),
        (["--on", "ssh:hosts.toml", "--shares", "0"], "--shares"),
    ],
)
def test_a_wrong_word_is_refused_by_name(
    here: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "bad.toml").write_text('[[host]]\nname = "a b"\n')
    (here / "hosts.toml").write_text('[[host]]\nname = "a"\n')
    assert run_words(["run", str(write_experiment(here)), *words]) == 64
    assert sentence in capsys.readouterr().err
    assert not (here / "runs").exists()


def test_a_cluster_without_the_extra_is_told_what_to_install(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run_words(["run", str(write_experiment(here)), "--on", "ray:auto"]) == 64
    said = capsys.readouterr().err
    assert "--on ray needs the library ray" in said and "dyno-bench[fleet]" in said


def test_words_that_change_the_experiment_go_to_every_host(here: Path) -> None:
    words = ["--set", "a=1,2", "--set", "b=x y", "--blocks", "5", "--time", "1m30s"]
    words += ["--threads", "4", "--control", "aslr=off", "--limit", "foreign=30%", "--quick"]
    file = str(write_experiment(here))
    given = command.make_context("run", [file, *words, "--on", "ssh:x"]).params
    forwarded = list_forwarded_words(given)
    again = command.make_context("run", [file, *forwarded]).params
    assert {name: again[name] for name in again if name != "on"} == {
        name: given[name] for name in given if name != "on"
    }


def test_every_file_of_the_experiment_is_sent_by_its_path(here: Path) -> None:
    files = list_experiment_files(write_experiment(here), {})
    assert list(files) == ["tiny.toml", "scripts/own.lua", "scripts/own_part.lua"]


def test_a_script_that_lies_elsewhere_cannot_be_sent(here: Path) -> None:
    inner = here / "inner"
    inner.mkdir()
    file = write_experiment(here)
    file.rename(inner / "tiny.toml")
    text = (inner / "tiny.toml").read_text().replace("scripts/own", "../scripts/own")
    (inner / "tiny.toml").write_text(text)
    with pytest.raises(UsageError, match="cannot be sent to other hosts"):
        list_experiment_files(inner / "tiny.toml", {})


def test_scripts_that_come_along_are_not_sent(here: Path) -> None:
    file = here / "own.toml"
    file.write_text('candidates = ["null", "null"]\naa = true\n[[workload]]\nname = "insert"\n')
    assert list(list_experiment_files(file, {})) == ["own.toml"]


def test_a_server_that_runs_already_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = here / "attached.toml"
    sides = '["mysql://root@db1:3306/x", "mysql://root@db2:3306/x"]'
    file.write_text(f'candidates = {sides}\n[[workload]]\nname = "oltp_point_select"\n')
    (here / "hosts.toml").write_text('[[host]]\nname = "a"\n')
    assert run_words(["run", str(file), "--on", "ssh:hosts.toml"]) == 64
    assert "is a server that runs already" in capsys.readouterr().err


def test_what_a_host_keeps_for_callers_that_never_came_back_is_cleaned(
    here: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = state / "fleet" / "20260101T000000Z-suite-0a0b0c0d"
    (kept / "shares" / "0001").mkdir(parents=True)
    (kept / "shares" / "0001" / "run.json").write_text("{}")
    assert run_words(["clean", kept.name, "--yes"]) == 0, capsys.readouterr().err
    assert not kept.exists()


def test_what_a_host_plays_just_now_is_not_cleaned(here: Path, state: Path) -> None:
    kept = state / "fleet" / "20260101T000000Z-suite-0a0b0c0d"
    share = kept / "shares" / "0001"
    share.mkdir(parents=True)
    (share / "run.json").write_text("{}")
    with RunFolder(share).hold_alone():
        run_words(["clean", kept.name, "--yes"])
    assert share.exists()
