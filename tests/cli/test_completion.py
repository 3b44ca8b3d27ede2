"""A shell completes commands, options, engines, workloads, experiments and runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fakes import make_run

from dyno.cli import run_words
from dyno.runs.run_folder import create_run


def offered(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("_DYNO_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    assert run_words([]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "words,word",
    [
        ("dyno compa", "plain,compare"),
        ("dyno compare --bud", "plain,--budget"),
        ("dyno play nu", "plain,null"),
        ("dyno play null -w oltp_point", "plain,oltp_point_select"),
        ("dyno compare a b --workload ins", "plain,insert"),
        ("dyno show contr", "plain,controls"),
        ("dyno show controls as", "plain,aslr"),
        ("dyno show ins", "plain,insert"),
        ("dyno run ./here", "file,./here"),
        ("dyno completion f", "plain,fish"),
    ],
)
def test_a_word_is_completed(
    words: str, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert offered(words, monkeypatch, capsys).splitlines() == [word]


def test_a_run_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    name = create_run(make_run(), tmp_path).path.name
    assert offered(f"dyno resume {name[:6]}", monkeypatch, capsys).splitlines() == [f"plain,{name}"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_DYNO_COMPLETE" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
