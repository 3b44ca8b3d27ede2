"""`dyno run --on`: what is refused before anybody is asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fleet_plays import write_experiment

from dyno.cli import run_words
from dyno.cli.fleet import list_forwarded_words
from dyno.cli.run import command
from dyno.compare.fleet import list_experiment_files
from dyno.errors import UsageError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--on", "k8s:pods"], "--on k8s:pods names no Ray cluster"),
        (["--on", "ray://"], "--on ray:// names no Ray cluster"),
        (["--on", "ssh:hosts.toml"], "`dyno shard` on each host, then `dyno gather`"),
        (["--on", "hosts.toml"], "docs/guides/fleet.md"),
        (["--on", "ray:auto", "--budget", "1m"], "--budget and --on exclude each other"),
        (
            ["--on", "ray:auto", "--inconclusive", "retry"],
            "--inconclusive and --on exclude each other",
        ),
        (["--shares", "2"], "--shares is for a cluster"),
        (["--on", "ray:auto", "--shares", "0"], "--shares"),
        (["--on", "ray:local"], "'local' is no HOST:PORT"),
        (["--on", "ray://127.0.0.1:1"], "cannot reach the cluster (ray://127.0.0.1:1)"),
    ],
)
def test_a_wrong_word_is_refused_by_name(
    here: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["run", str(write_experiment(here)), *words]) == 64
    assert sentence in " ".join(capsys.readouterr().err.split())
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
    given = command.make_context("run", [file, *words, "--on", "ray:auto"]).params
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
    assert run_words(["run", str(file), "--on", "ray:auto"]) == 64
    assert "is a server that runs already" in capsys.readouterr().err
