"""Every way in which `dyno` can end: its exit code, and the sentence on stderr."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from small_logs import GENERAL, SHOP, write

from dyno.cli import exits, judged_run, run_words
from dyno.errors import HostError, InternalError, UsageError
from dyno.record import Comparison, Doubt, Metric, Verdict, VerdictName

DYNO = [sys.executable, "-m", "dyno.cli"]


def stops_with(error: BaseException) -> int:
    def command() -> None:
        raise error

    return exits.run_guarded(command)


@pytest.mark.parametrize(
    "words,sentence",
    [
        (["compair"], "unknown command 'compair'\nhint: did you mean compare?"),
        (["compare", "a", "b"], "missing option"),
        (["compare", "a", "b", "-w", "w", "--margn", "2"], "unknown option '--margn'"),
        (["compare", "a", "b", "-w", "w", "--rows=9"], "workload is given as --set KEY=VALUE"),
        (["compare", "a", "-w", "w"], "a comparison needs two candidates"),
        (["play"], "missing argument 'ENGINE'"),
        (["play", "null", "-w", "w", "--time", "soon"], "'soon' is not a duration"),
        (["play", "null", "-w", "w", "--set", "x"], "'x' is not of the form key=value"),
        (["compare", "a", "b", "-w", "w", "--json", "/no/such/x.json"], "there is no folder"),
        (["compare", "a", "b", "-w", "w", "--json", "/proc/x.json"], "cannot write /proc/x.json"),
        (["completion", "tcsh"], "'tcsh' is not one of"),
    ],
)
def test_a_wrong_word_is_one_sentence_a_hint_and_64(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(words) == 64
    said = capsys.readouterr()
    assert not said.out
    assert said.err.startswith("dyno: ")
    assert sentence in said.err
    assert len(said.err.splitlines()) == 2, "one sentence and its hint"
    assert "hint: " in said.err


def test_a_users_or_the_hosts_failure_is_64_and_our_own_70(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stops_with(UsageError("no", cause="because", hint="do")) == 64
    assert capsys.readouterr().err == "dyno: no: because\nhint: do\n"
    assert stops_with(HostError("no compiler")) == 64
    assert stops_with(InternalError("odd")) == 70


def test_a_fault_of_our_own_asks_to_be_reported_and_leaves_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DYNO_TRACEBACK", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert stops_with(KeyError("x")) == 70
    said = capsys.readouterr().err
    (file,) = tmp_path.iterdir()
    assert said.startswith("dyno: internal error: KeyError: 'x'\nhint: ")
    assert "please report it" in said
    assert str(file) in said
    assert "Traceback" not in said
    assert "Traceback" in file.read_text()
    monkeypatch.setenv("DYNO_TRACEBACK", "1")
    assert stops_with(KeyError("x")) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES])
def test_what_the_machine_refuses_is_the_hosts_and_has_a_hint(
    code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stops_with(OSError(code, os.strerror(code), "some/file")) == 64
    said = capsys.readouterr().err
    assert os.strerror(code).lower() in said
    assert "some/file" in said
    assert "\nhint: " in said


@pytest.mark.parametrize("named", [True, False])
def test_a_full_disk_is_told_with_the_folder_and_what_is_free(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs" / "deep"))
    (tmp_path / "runs").mkdir()
    sizes = {str(tmp_path / "runs"): 200 << 10}
    monkeypatch.setattr(
        shutil, "disk_usage", lambda place: SimpleNamespace(free=sizes.get(str(place), 1 << 40))
    )
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if named:
        full.filename = str(tmp_path / "runs" / "x.json")
    assert stops_with(full) == 64
    said = capsys.readouterr().err
    assert f"(0.2 MB free in {tmp_path}/runs)" in said
    assert ("x.json" in said) == named


def test_an_interrupt_is_130_and_says_what_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert stops_with(KeyboardInterrupt("`dyno resume x` goes on")) == 130
    assert capsys.readouterr().err == "dyno: interrupted\nhint: `dyno resume x` goes on\n"


def test_clicks_own_ways_to_stop_are_overridden() -> None:
    assert stops_with(click.UsageError("x")) == 64
    assert stops_with(click.Abort()) == 130
    assert stops_with(click.exceptions.Exit(3)) == 3
    assert run_words(["--help"]) == run_words(["--version"]) == 0


def test_no_command_at_all_gets_the_help_and_64(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["engines"]):
        assert run_words(words) == 64
        said = capsys.readouterr()
        assert said.err.startswith("Usage: dyno")
        assert not said.out


@pytest.mark.parametrize(
    "overall,code",
    [("not slower", 0), ("faster", 0), ("slower", 1), ("inconclusive", 2), ("invalid", 3)],
)
def test_a_comparison_ends_with_its_verdict(
    overall: VerdictName, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    verdict = Verdict(overall, "so it is", True, (), (), ())
    monkeypatch.setattr(judged_run, "play_and_judge", lambda *_: verdict)
    file = tmp_path / "x.toml"
    file.write_text('candidates = ["null", "null"]\naa = true\n[[workload]]\nname = "insert"\n')
    assert run_words(["compare", "null", "null@1us", "-w", "insert"]) == code
    assert run_words(["run", str(file), "--gate"]) == code
    assert run_words(["run", str(file)]) == 0


@pytest.mark.parametrize(
    "overall,code",
    [("not slower", 0), ("slower", 1), ("inconclusive", 2), ("invalid", 3)],
)
def test_a_doubtful_comparison_ends_with_4_where_strict_asks_for_it(
    overall: VerdictName, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is invalid or open claims nothing that could be doubted."""
    metric = Metric("insert", "run", "insert", "rate_per_s", "row/s", "higher")
    doubts = (Doubt("settings", "b logs every statement"),)
    numbers = (1.0,) * 7
    row = Comparison(metric, True, "a", "b", *numbers, 6, 0, 1.0, 1.0, 0.5, overall, doubts=doubts)
    verdict = Verdict(overall, "so it is", True, (row,), (), ())
    strict = 4 if overall in ("not slower", "slower") else code
    monkeypatch.setattr(judged_run, "play_and_judge", lambda *_: verdict)
    file = tmp_path / "x.toml"
    file.write_text('candidates = ["null", "null"]\naa = true\n[[workload]]\nname = "insert"\n')
    for words in (["compare", "null", "null@1us", "-w", "insert"], ["run", str(file), "--gate"]):
        assert run_words(words) == code
        assert run_words([*words, "--strict"]) == strict
    assert run_words(["run", str(file), "--strict"]) == strict, "it is a gate by itself"
    for line in (["sysbench", "oltp_read_only", "run"], ["pgbench", "-S"]):
        compared = [*line, "--compare", "null", "null@1us"]
        assert run_words(compared) == code
        assert run_words([*compared, "--strict"]) == strict
        assert run_words([*line, "--strict"]) not in (0, 4), "a play alone says nothing"
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    files = write(tmp_path, "it.log", GENERAL), write(tmp_path, "shop.sql", SHOP)
    replayed = ["--log", str(files[0]), "--data", str(files[1])]
    assert run_words(["compare", "null", "null@1us", *replayed, "--strict"]) == strict


def test_a_reader_that_leaves_is_no_failure() -> None:
    read = subprocess.run(
        f"{sys.executable} -m dyno.cli show | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=True,
    )
    assert not read.stderr
    assert read.stdout.splitlines()[-1] in ("0", "141")


@pytest.mark.parametrize(("is_written", "overall"), [(True, "slower"), (False, "failed")])
def test_a_reader_who_goes_away_leaves_the_verdict_in_its_file(
    is_written: bool, overall: str, tmp_path: Path
) -> None:
    file = tmp_path / "verdict.json"
    file.write_text("of an earlier run")
    with pytest.raises(BrokenPipeError), exits.write_failure(file):
        if is_written:
            exits.write_json_file(file, {"overall": "slower"})
        raise BrokenPipeError
    assert json.loads(file.read_text())["overall"] == overall


#: What a help needs none of.
NO_HELP = "rich scipy numpy jinja2 msgspec hashlib dyno.record dyno.workloads dyno.engines"
NO_TEST = "scipy.stats dyno.engines dyno.host.checks dyno.driver dyno.instruments.time.run"


@pytest.mark.parametrize(
    ("words", "unwanted"),
    [
        ("--help", NO_HELP),
        ("compare --help", NO_HELP),
        ("show workloads", "scipy jinja2 dyno.engines dyno.judge.audits dyno.driver"),
        ("show last", f"jinja2 {NO_TEST}"),
        ("report last", NO_TEST),
        (
            "play null -w oltp_point_select -T 0.1",
            "scipy.special jinja2 dyno.judge.audits dyno.engines.mysql",
        ),
    ],
)
def test_a_command_loads_no_more_than_it_needs(words: str, unwanted: str, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom dyno.cli import run_words\nrun_words(sys.argv[1].split())\n"
        "loaded = sorted(set(sys.argv[2].split()) & set(sys.modules))\n"
        "sys.exit(f'loaded {loaded}' if loaded else 0)"
    )
    line = [sys.executable, "-c", code, words, unwanted]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_the_caller_closed_is_no_fault(closed: str, tmp_path: Path) -> None:
    words = "play null -w oltp_point_select --set time=0.2"
    line = f"exec {sys.executable} -m dyno.cli {words} {closed}"
    ended = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended
    assert ("phase run" in ended.stdout) == (">&-" not in closed.replace("2>&-", ""))


def test_a_current_folder_that_was_removed_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    line = f"rmdir ../gone; exec {sys.executable} -m dyno.cli show null"
    ended = subprocess.run(
        ["sh", "-c", line],
        cwd=tmp_path / "gone",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 64
    assert ended.stderr == "dyno: the current folder was removed\nhint: cd to another\n"


def test_a_failed_run_writes_its_failure_as_json_and_no_password(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text("[]")
    words = ["compare", "sqlite", "mysql://u:sesame@127.0.0.1:1/x", "-w", "no_such_workload"]
    assert run_words([*words, "--json", str(file)]) == 64
    told = json.loads(file.read_text())
    assert (told["overall"], told["exit_code"], told["comparisons"]) == ("failed", 64, [])
    assert "no_such_workload" in told["sentence"] and told["hint"]
    assert "sesame" not in file.read_text()
