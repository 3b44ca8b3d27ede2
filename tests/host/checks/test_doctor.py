"""`dyno doctor` on the machine that the test runs on, and what of it a run keeps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dyno.cli import doctor, run_words
from dyno.cli.terminal.announcement import list_host_warnings
from dyno.host import checks as host
from dyno.record import Observation

POOR = Observation("steal", "9 %", "poor", "it is", "do something", 24)
FAIR = Observation("turbo", "on", "fair", "it is", "do [another] thing", 4)
GOOD = Observation("swap", "none", "good", "it was not")


def test_doctor_ends_with_0_and_says_a_score(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["doctor", "--watch", "10ms"]) == 0
    assert " of 100, " in capsys.readouterr().out


def test_the_json_of_doctor_has_everything_that_was_looked_at(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_words(["doctor", str(tmp_path), "--watch", "10ms", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    names = {o["name"] for o in told["observations"]}
    assert {"CPU", "steal", "io_uring", "file system", "CPU quota", "time"} <= names
    assert told["score"] == max(0, 100 - sum(o["points"] for o in told["observations"]))
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_good_comes_with_its_remedy_and_the_rest_in_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    doctor.print_survey((POOR, FAIR, GOOD), everything=False)
    told = capsys.readouterr().out
    assert told.startswith("72 of 100, fair")
    assert "do: do [another] thing" in told
    assert "good: swap" in told
    assert "it was not" not in told
    doctor.print_survey((POOR, FAIR, GOOD), everything=True)
    assert "it was not" in capsys.readouterr().out


@pytest.mark.parametrize(("found", "code"), [((POOR, GOOD), 1), ((FAIR,), 0)])
def test_the_gate_is_shut_where_something_is_poor(
    found: tuple[Observation, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor.choose_exit_code(found) == code
    told = run_words(["doctor", "--gate", "--json", "--watch", "0.1s"])
    here = [o["mark"] for o in json.loads(capsys.readouterr().out)["observations"]]
    assert told == int("poor" in here)
    assert run_words(["doctor", "--watch", "0.1s"]) == 0


def test_a_folder_that_is_not_there_is_a_user_s_mistake() -> None:
    assert run_words(["doctor", "/no/such/folder"]) == 64


def test_a_run_is_announced_with_what_is_poor() -> None:
    assert list_host_warnings((POOR, FAIR)) == "Against this host: steal (9 %); see dyno doctor."
    assert list_host_warnings((FAIR,)) == ""


def test_a_run_keeps_what_is_not_good(tmp_path: Path) -> None:
    kept = host.list_host_complaints(tmp_path)
    assert all(o.mark != "good" for o in kept)


def test_a_run_that_begins_counts_others_load_as_the_doctor_does(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            names = {each.name for each in host.list_host_complaints(tmp_path)}
        finally:
            busy.kill()
    assert "other load" in names
