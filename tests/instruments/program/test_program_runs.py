"""`dyno program` with programs of the shell: verdicts, failures, what is left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dyno.cli import run_words
from dyno.record.program import ProgramRun
from dyno.runs.run_folder import read_json
from dyno.runs.run_summary import list_run_places, summarize_run

FILE = """command = ["sh", "{here}/run.sh", "{value}"]
rate = 'rate: ([0-9.]+)'
variables = { value = "1000" }
"""


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("DYNO_TMP", str(tmp_path / "data"))
    return tmp_path / "runs"


def write_program(folder: Path, script: str, more: str = "") -> str:
    (folder / "run.sh").write_text(script)
    file = folder / "bench.toml"
    file.write_text(FILE + more)
    return str(file)


def read_only_run(runs: Path) -> ProgramRun:
    (file,) = runs.glob("*/program.json")
    return read_json(ProgramRun, file)


def find_processes(folder: Path) -> list[str]:
    """The processes that work in a folder, or in one that was there."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = (process / "cwd").readlink()
        except OSError:
            continue
        if place.is_relative_to(folder / "data"):
            found.append(process.name)
    return found


def test_a_slower_program_is_slower_and_what_nobody_looked_at_is_said(
    tmp_path: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_program(tmp_path, "echo rate: $1")
    words = [f"old={file}", f"new={file}?value=950", "--json", str(tmp_path / "v.json")]
    words += ["--series", "nightly"]
    assert run_words(["program", *words]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "new is slower than old" in said
    assert "operations not checked" in said and "latency not checked" in said
    (row,) = json.loads((tmp_path / "v.json").read_text())["comparisons"]
    assert row["verdict"] == "slower" and row["change_percent"] == pytest.approx(100 / 19)
    assert read_only_run(runs).blocks == 6, "the first analysis decides"
    assert run_words(["report", "last", "--format", "markdown"]) == 0
    history = tmp_path / "h.json"
    assert run_words(["history", "--series", "nightly", "--json", str(history)]) == 0
    series = json.loads(history.read_text())["series"]
    assert [it["alike"]["series"] for it in series] == ["nightly"] * 2


def test_a_cell_of_the_matrix_names_the_version_and_what_was_chosen(
    tmp_path: Path, runs: Path
) -> None:
    file = write_program(tmp_path, "echo rate: $1", "version = ['echo', '7.0']\n")
    assert run_words(["program", f"old={file}", f"new={file}?value=950"]) == 1
    (place,) = list_run_places(runs)
    (cell,) = summarize_run(place).outcomes
    assert (cell.engine, cell.workload, cell.build) == ("program", "bench", "7.0, value=950")
    assert (cell.base, cell.verdict) == ("old", "slower")


def test_a_time_is_better_where_it_is_less(tmp_path: Path) -> None:
    file = write_program(tmp_path, "echo rate: $1", "unit = 'ms'\n")
    assert run_words(["program", file, f"b={file}?value=900"]) == 0
    assert run_words(["program", file, f"b={file}?value=1100"]) == 1


def test_each_start_has_a_new_folder_and_the_blocks_seed_and_setup_is_run_once(
    tmp_path: Path, runs: Path
) -> None:
    script = 'test -z "$(ls)" || exit 9\ntouch x\ncat "$2" >>/dev/null\n'
    script += f"echo $3 >>{tmp_path}/seeds\necho rate: 1\n"
    more = 'setup = ["sh", "-c", "echo s >>{run_folder}/s"]\nbefore_each = ["true"]\n'
    file = Path(write_program(tmp_path, script, more))
    file.write_text(
        file.read_text().replace('"{value}"]', '"{value}", "{run_folder}/s", "{seed}"]')
    )
    assert run_words(["program", str(file), f"b={file}?value=2", "--blocks", "2"]) == 0
    seeds = (tmp_path / "seeds").read_text().split()
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]
    assert not list((tmp_path / "data").iterdir()), "its folders are gone"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo broken pipe; exit 3", "exit code 3; its last lines: broken pipe"),
        ("echo nothing", "printed nothing that matches"),
        ("echo rate: 1; echo rate: 2", "matches 2 times (1, 2)"),
        ("sleep 60", "ran longer than timeout_s = 0.5"),
        ("kill -9 $$", "signal 9"),
    ],
)
def test_a_program_that_fails_ends_the_run_with_its_last_lines(
    script: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_program(tmp_path, script, "timeout_s = 0.5\n")
    assert run_words(["program", file]) == 64
    assert why in " ".join(capsys.readouterr().err.split())
    assert not find_processes(tmp_path)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("{0}", "{0}"), "are the same"),
        (("{0}", "a={0}"), "are the same"),
        (("a={0}", "a={0}?value=2"), "two sides are called 'a'"),
        (("{0}", "--aa", "--margin", "0"), "--margin must be above 0"),
        (("{0}?nosuch=1",), "unknown variable"),
        (("{0}", "{0}?value=2", "--blocks", "1"), "--blocks is 2 at least"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    words: tuple[str, ...], why: str, tmp_path: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_program(tmp_path, "echo rate: 1")
    assert run_words(["program", *(it.format(file) for it in words)]) == 64
    assert why in capsys.readouterr().err and not runs.exists()


def test_a_program_that_changes_meanwhile_ends_the_run(
    tmp_path: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = f"echo rate: 1\necho '# later' >>{tmp_path}/run.sh\n"
    assert run_words(["program", write_program(tmp_path, script)]) == 64
    assert "run.sh changed while the run was played" in capsys.readouterr().err
    assert read_only_run(runs).blocks == 1, "what was measured stays"


def test_a_comparison_s_command_names_the_one_for_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_words(["compare", "command:a.toml", "command:b.toml", "-w", "kv"]) == 64
    assert "hint: `dyno program a.toml` plays a program by its file" in capsys.readouterr().err


def test_what_a_program_leaves_running_is_ended_at_its_end(tmp_path: Path) -> None:
    script = "sleep 1000 & setsid sleep 1000 &\nsleep 0.1\necho rate: 1\n"
    assert run_words(["program", write_program(tmp_path, script), "--blocks", "1"]) == 0
    assert not find_processes(tmp_path)


@pytest.mark.chaos
def test_a_killed_run_leaves_no_process_and_goes_on_with_the_block_that_was_torn(
    tmp_path: Path, runs: Path
) -> None:
    file = write_program(tmp_path, "setsid sleep 1000 &\nsleep 0.4\necho rate: $1\n")
    words = [
        sys.executable,
        "-m",
        "dyno.cli",
        "program",
        file,
        f"b={file}?value=2",
        "--blocks",
        "4",
    ]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ends_s = time.monotonic() + 60
    while not any(read_json(ProgramRun, it).blocks for it in runs.glob("*/program.json")):
        assert time.monotonic() < ends_s
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    while find_processes(tmp_path):
        assert time.monotonic() < ends_s
        time.sleep(0.05)
    torn = read_only_run(runs)
    assert 1 <= torn.blocks < 4
    assert run_words(["resume", "last"]) == 1
    whole = read_only_run(runs)
    assert whole.blocks == 4 and whole.plays[: len(torn.plays)] == torn.plays
    assert not find_processes(tmp_path)
