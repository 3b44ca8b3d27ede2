"""A log that only reads is played several times a block, and the record says how often."""

from __future__ import annotations

from pathlib import Path

import pytest
from pgbench_files import play_plan, sqlite_with_table

from dyno import driver
from dyno.cli import run_words
from dyno.driver.plan import Plan, Script
from dyno.errors import UsageError
from dyno.workloads.replay.layout import Repetition, Replay, lay_out, parse_repeat


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def write_log(folder: Path, gap_s: float = 0.01) -> Path:
    """Three sessions, of which the first two overlap, with 30 statements in all."""
    lines = []
    for number in range(30):
        session = 7 if number < 10 else 8 if number % 2 else 9
        at = f"2026-01-01 10:00:{number * gap_s:06.3f} UTC [{session}] app@shop"
        lines.append(f"{at} LOG:  statement: SELECT {number}, 'of session {session}'\n")
    (folder / "it.log").write_text("".join(lines))
    return folder / "it.log"


def lay(log: Path, repetition: Repetition) -> Replay:
    return lay_out(log, False, lambda _: None, repetition=repetition)


@pytest.mark.parametrize("speed", ["max", "1"])
def test_a_log_is_played_as_often_as_is_said(speed: str, tmp_path: Path) -> None:
    replay = lay(write_log(tmp_path), Repetition(4, speed))
    script = Script(str(replay.script), {"speed": speed})
    plan = Plan(sqlite_with_table(tmp_path), script, 7, ("run",), progress_s=0)
    assert driver.describe(plan).phases[0].title == "the recorded log, 4 times"
    played = play_plan(plan, tmp_path)["replay"]
    (tally,) = played.streams
    assert (tally.done, tally.failed) == (120, 0)
    assert ", 4 times a block" in replay.describe()[-1]
    # three periods of 0.3 s, and a last time until its last statement
    least_s = 1.19 if speed == "1" else 0.0
    assert (played.ended_ns - played.started_ns) / 1e9 >= least_s


def test_once_is_what_it_was(tmp_path: Path) -> None:
    log = write_log(tmp_path)
    once = lay_out(log, False, lambda _: None)
    assert once.script == lay(log, Repetition(1)).script and "times" not in once.script.read_text()
    assert once.script != lay(log, Repetition(2)).script


@pytest.mark.parametrize(
    ("gap_s", "speed", "times"), [(0.01, "", 3334), (0.01, "1", 35), (0.5, "1", 1), (0.5, "10", 7)]
)
def test_auto_plays_a_block_of_ten_seconds(
    gap_s: float, speed: str, times: int, tmp_path: Path
) -> None:
    replay = lay(write_log(tmp_path, gap_s), Repetition(None, speed))
    assert replay.times == times
    assert replay.describe_length(speed) == ""


def test_a_repeated_log_that_is_still_short_is_told(tmp_path: Path) -> None:
    told = lay(write_log(tmp_path), Repetition(5, "1")).describe_length("1")
    assert "plays the log 5 times in" in told and "--repeat auto" in told


@pytest.mark.parametrize(
    ("text", "writes", "told"),
    [
        ("0", False, "--repeat cannot be '0'"),
        ("often", False, "--repeat cannot be 'often'"),
        ("5", True, "does not apply to a log that writes"),
        ("auto", True, "does not apply to a log that writes"),
    ],
)
def test_what_cannot_be_repeated_is_refused(text: str, writes: bool, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse_repeat(text, "", writes)


def test_a_block_that_would_not_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"at most 20,000,000: --repeat 666666"):
        lay(write_log(tmp_path), Repetition(1_000_000))


def test_the_command_line_repeats_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_log(tmp_path)
    words = ["play", "sqlite@system", "--log", "it.log", "--repeat", "3"]
    assert run_words(words) == 0
    said = capsys.readouterr()
    assert "3 times a block" in said.err and "90 in all" in said.out
    assert run_words([*words, "--writes"]) == 64
    assert "more blocks play it more often" in capsys.readouterr().err
