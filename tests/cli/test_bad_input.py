"""What a user gets wrong, and what a machine does: one sentence, a hint, and nothing is lost.

Against the real driver; `null` stands for any engine.
"""

from __future__ import annotations

import _ctypes
import json
from pathlib import Path

import pytest

from dyno.cli import run_words
from dyno.runs.run_folder import list_runs

WORKLOAD = ["-w", "oltp_point_select"]
PAIR = ["null@100us", "null@110us"]
TOML = 'candidates = ["null@100us", "null@110us"]\n[[workload]]\nname = "oltp_point_select"\n'


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of the test lie in a folder of its own."""
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The sentence with which `dyno WORDS` ends with 64; a hint follows it, and no traceback."""
    assert run_words(words) == 64
    said = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" …")]
    assert said[0].startswith("dyno: "), said
    assert len(said) == 2 and said[1].startswith("hint: "), said
    return "\n".join(said)


def test_a_mistake_in_what_is_played_last_is_told_before_the_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "late.lua"
    script.write_text(
        "function prepare() print('loaded') end\nfunction event() end\n"
        "function dyno.phases()\n"
        "  if dyno.engine == 'sqlite' then error('no such mix', 0) end\n"
        "  return {{name = 'run', streams = {{name = 's', run = 'event', connections = 1}},\n"
        "    stop = {kind = 'count', events = 1}, primary = {}}}\n"
        "end\n"
    )
    assert run_words(["play", "sqlite@system", "-w", str(script)]) == 64
    said = "".join(capsys.readouterr())
    assert "no such mix" in said and "nothing was played" in said and "loaded" not in said


@pytest.mark.parametrize(
    "words,sentence,near",
    [
        (["nul@1us", "null@2us", *WORKLOAD], "unknown engine 'nul'", "null"),
        (["null@1us", "sqlite@3.99.0", *WORKLOAD], "'3.99.0'", "3."),
        ([*PAIR, "-w", "oltp_point_selct"], "unknown workload 'oltp_p", "oltp_point_select"),
        ([*PAIR, "-w", "no/such.lua"], "no script at 'no/such.lua'", "workload"),
        ([*PAIR, *WORKLOAD, "--set", "tabel_size=5"], "unknown option", "table_size"),
        ([*PAIR, *WORKLOAD, "--set", "table_size=many"], "table_size", ""),
        (["null@1us", "null@2us?asrl=off", *WORKLOAD], "'asrl'", "aslr"),
        (["null@1us", "null@2us?aslr=maybe", *WORKLOAD], "'maybe'", "off"),
        (["null@1us", "null@soon", *WORKLOAD], "cannot read the delay 'soon'", "null@200us"),
        ([*PAIR, *WORKLOAD, "--margin", "0"], "margin", "above 0 %"),
        ([*PAIR, *WORKLOAD, "--margin", "95%"], "margin", "up to 50 %"),
        ([*PAIR, *WORKLOAD, "--blocks", "1"], "out of range (got 1)\n", "3 to 200"),
        (
            [*PAIR, *WORKLOAD, "--limit", "foreing=30%"],
            "unknown limit 'foreing_percent'",
            "foreign",
        ),
        (
            [*PAIR, *WORKLOAD, "--limit", "foreign=130"],
            "is out of range (got 130 %)",
            "0 to 100",
        ),
        ([*PAIR, *WORKLOAD, "--limit", "foreign=many"], "'many' is not a percentage", ""),
        ([*PAIR, *WORKLOAD, "--blocks", "5000"], "out of range (got 5000)\n", "3 to 200"),
        ([*PAIR, *WORKLOAD, "--budget", "1s"], "a budget of 1 s is too short", "blocks take"),
        (["@", "null", *WORKLOAD], "'@' does not name a candidate", "engine@build"),
    ],
)
def test_a_wrong_word_of_compare_is_refused_before_anything_is_made(
    words: list[str], sentence: str, near: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(["compare", *words], capsys)
    assert sentence in said
    assert near in said
    assert not list_runs(runs)


@pytest.mark.parametrize(
    "text,sentence,near",
    [
        (
            TOML.replace("candidates", "candidate"),
            "x.toml:1: unknown key 'candidate'",
            "candidates",
        ),
        (TOML.replace('"null@110us"]', '"null@110us"'), "x.toml is not TOML", "line 2"),
        ("margin_percent = 99\n" + TOML, "x.toml:1: ", "50 %"),
        ("blocks = 2\n" + TOML, "x.toml:1: ", "3 to 200"),
        (TOML.replace("name = ", "nam = "), "x.toml:3: unknown key 'nam'", "name"),
        (TOML + "options = { tabel_size = 1 }\n", "unknown option", "table_size"),
        (TOML + 'primary = [{ metric = "rate_per_sec" }]\n', "'rate_per_sec'", "rate_per_s"),
        ("candidates = []\n" + TOML.partition("\n")[2], "no candidates", "candidates = "),
    ],
)
def test_a_wrong_experiment_is_refused_with_file_and_line(
    text: str, sentence: str, near: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.toml").write_text(text)
    said = refused(["run", str(tmp_path / "x.toml")], capsys)
    assert sentence in said
    assert near in said


def test_an_unknown_experiment_or_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no experiment file 'no.toml'" in refused(["run", "no.toml"], capsys)
    assert "unknown run 'no'" in refused(["report", "no"], capsys)
    assert "no run yet" in refused(["resume", "last"], capsys)


def test_a_library_that_is_another_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(["compare", f"sqlite@{_ctypes.__file__}", "null", *WORKLOAD], capsys)
    assert "is not a SQLite library" in said


def test_a_script_that_is_no_lua_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "wrong.lua"
    script.write_text("function event(\n")
    assert "wrong.lua:" in refused(["play", "null", "-w", str(script)], capsys)


def test_a_folder_that_cannot_be_made_is_the_hosts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", "/proc/here")
    assert "cannot make /proc/here" in refused(["compare", *PAIR, *WORKLOAD], capsys)


def test_a_mistake_in_a_script_names_file_line_and_connection_and_is_kept(
    tmp_path: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "wrong.lua"
    script.write_text("function event()\n  local t = nil\n  return t.x\nend\n")
    assert run_words(["compare", *PAIR, "-w", str(script)]) == 64
    said = capsys.readouterr().err
    assert "wrong.lua:3" in said
    assert "connection 0" in said
    (folder,) = list_runs(runs)
    # interleaved the first to meet the mistake stops the other
    assert {trial.status for trial in folder.read_trials()} - {"interrupted"} == {"failed"}
    assert str(folder.path) in said
    assert run_words(["play", "null", "-w", str(script)]) == 64
    assert "wrong.lua:3" in capsys.readouterr().err


def test_a_run_of_a_newer_dyno_is_left_alone(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "r").mkdir(parents=True)
    (runs / "r" / "run.json").write_text(json.dumps({"schema": 99}))
    for command in ("report", "resume", "show"):
        assert run_words([command, "r"]) == 64
        assert "newer dyno" in capsys.readouterr().err
    assert [p.name for p in (runs / "r").iterdir()] == ["run.json"]
