"""`dyno crash` on SQLite, killed for real: what it keeps, what it loses, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from crash_runs import make_compared_run, make_play, make_run, write_crash_run
from msgspec.structs import replace

from dyno.cli import run_words
from dyno.instruments.crash.verdict import judge_crashes
from dyno.record.crash import CrashPlay, CrashRun
from dyno.record.decode import decode, encode
from dyno.runs.run_folder import read_json, write_json

FULL = "sqlite?synchronous=full"


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("DYNO_TMP", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "runs"


def read_only_run(runs: Path) -> CrashRun:
    (file,) = runs.glob("*/crash.json")
    return read_json(CrashRun, file)


def test_what_was_synced_is_kept_torn_sectors_or_not(
    tmp_path: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["crash", FULL, "--times", "3", "--within", "0.3s", "--torn"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        f"{FULL} keeps its commits in 3 kills: lost 0 of" in said and "0 torn, recovered in" in said
    )
    assert "hardware not checked" in said and "a commit survives a power cut (" in said
    run = read_only_run(runs)
    assert run.clients == 1 and len(run.plays) == 3
    assert all(it.acknowledged and it.syncs and not it.loses for it in run.plays)
    assert not list((tmp_path / "data").iterdir()), "its folders are gone"
    assert run_words(["report", "last"]) == run_words(["show", "last"]) == 0


def test_a_sync_that_does_nothing_is_found(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """19 of 20 kills at least lose something."""
    words = ["--times", "20", "--within", "0.2s", "--silent-sync", "--json", str(tmp_path / "v")]
    assert run_words(["crash", FULL, "-w", "inserts", *words]) == 1
    assert sum(it.lost_count > 0 for it in read_only_run(runs).plays) >= 19
    assert "the first: kill 1, commit 0 of client 0" in " ".join(capsys.readouterr().out.split())
    assert json.loads((tmp_path / "v").read_text())["overall"] == "loses"


@pytest.mark.parametrize(("level", "lost", "times"), [("full", 1, 20), ("extra", 0, 9)])
def test_a_journal_whose_removal_was_not_synced_takes_the_last_commit_with_it(
    level: str, lost: int, times: int, runs: Path
) -> None:
    """As SQLite's documentation of `synchronous` has it: only EXTRA syncs the folder after that.
    Half of the kills meet the time between a removal and the next transaction's first sync.
    """
    word = f"sqlite?journal_mode=delete&synchronous={level}"
    assert run_words(["crash", word, "--times", str(times), "--within", "0.2s"]) == 2 * lost
    assert {it.lost_count for it in read_only_run(runs).plays} <= {0, lost}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("null@1ms", "dyno crash takes no null"),
        ("sqlite -w oltp_read_write", "a crash cannot play 'oltp_read_write'"),
        ("sqlite?inject=1000ns", "a crash holds no control (got inject)"),
        ("sqlite --within 0.1s", "--within must be above 0.1s"),
        ("postgres://localhost/x", "a server that runs already is not killed"),
    ],
)
def test_what_cannot_be_killed_is_refused_by_name(
    words: str, why: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["crash", *words.split()]) == 64
    assert why in capsys.readouterr().err
    assert not runs.exists()


def test_a_run_of_a_killed_dyno_goes_on_and_nothing_is_left_running(
    runs: Path, tmp_path: Path
) -> None:
    words = ["crash", FULL, "--times", "4", "--within", "0.3s"]
    with subprocess.Popen(
        [sys.executable, "-m", "dyno.cli", *words], env=os.environ, process_group=0
    ) as process:
        ends_s = time.monotonic() + 60
        while not [it for it in runs.glob("*/crash.json") if read_json(CrashRun, it).plays]:
            assert time.monotonic() < ends_s
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    while run_words(["resume", "last"]) == 64:  # a child that it was just starting holds the run
        assert time.monotonic() < ends_s
        time.sleep(0.1)
    assert len(read_only_run(runs).plays) == 4
    assert run_words(["resume", "last"]) == 0, "one that is over is told again"
    mark = f"DYNO_CRASH={tmp_path}".encode()
    for each in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or is another user's
            assert mark not in each.read_bytes(), each


@pytest.mark.parametrize(
    ("promise", "more", "word"),
    [
        ("a power cut, but for the last ones", {"lost": 2}, "loses as permitted"),
        ("a power cut, but for the last ones", {"lost": 2, "passed_count": 1}, "loses"),
        ("a power cut, but for the last ones", {"torn_count": 1}, "loses"),
        ("a power cut, but for the last ones", {"failure": "it did not start"}, "loses"),
        ("a crash of the program", {"failure": "it did not start"}, "loses as permitted"),
        ("", {"lost": 1}, "loses"),
    ],
)
def test_a_loss_is_held_against_what_the_settings_promise(
    promise: str, more: dict[str, Any], word: str
) -> None:
    run = make_run(make_play(1, **more), times=1, promise=promise)
    assert judge_crashes(run).overall == word
    assert ("as its settings permit" in judge_crashes(run).sentence) == (word != "loses")
    assert ("beyond" in judge_crashes(run).sentence) == (word == "loses" and bool(promise))
    assert judge_crashes(replace(run, silent=True)).overall == "loses"


def test_the_verdict_names_losses_and_what_the_layer_does_not_see() -> None:
    verdict = judge_crashes(make_run())
    assert verdict.overall == "loses" and verdict.complete
    head = "loses in 1 of 3 kills, beyond its promise: lost 2 of 300 acknowledged commits, 0 torn"
    assert head in verdict.sentence
    assert "; a commit survives a power cut (synchronous=full); the first: " in verdict.sentence
    assert verdict.sentence.endswith("kill 2, commit 0 of client 0.")
    blind = judge_crashes(make_run(make_play(1, unseen=("io_uring",))))
    assert blind.overall == "invalid" and "io_uring" in blind.sentence and not blind.complete
    dead = judge_crashes(make_run(make_play(1, failure="it did not start", recovery_s=None)))
    assert (
        dead.overall == "loses"
        and "lost 0 of 0 acknowledged" in dead.sentence
        and "1 did not recover" in dead.sentence
    )
    assert judge_crashes(make_run(times=5)).complete is False
    assert judge_crashes(make_run(make_play(1, lost_bytes=0))).doubts


def make_plays(factor: float = 1.0, **last: Any) -> list[CrashPlay]:
    """Eight kills of an engine that takes so many times as long, the last of them otherwise."""
    made = [
        make_play(each, recovery_s=factor * (1.0 + each / 10), rate_per_s=(100.0 + each) / factor)
        for each in range(1, 9)
    ]
    return [*made[:7], replace(made[7], **last)]


@pytest.mark.parametrize(
    ("plays", "promise", "word"),
    [
        (make_plays(), "a power cut", "not slower"),
        (make_plays(2.0), "a power cut", "slower"),
        (make_plays(0.5), "a power cut", "faster"),
        (make_plays(0.5, lost_count=1), "a power cut", "loses"),
        (make_plays(0.5, lost_count=1), "nothing", "loses as permitted"),
        (make_plays(2.0, lost_count=1), "nothing", "slower"),
        (make_plays(2.0)[:7], "a power cut", "inconclusive"),
    ],
)
def test_engines_are_compared_by_recovery_and_commits_and_by_what_they_lose(
    plays: list[CrashPlay], promise: str, word: str
) -> None:
    run = make_compared_run(*plays, promise=promise)
    verdict = judge_crashes(run)
    assert verdict.overall == word and verdict.complete == (len(plays) == 8)
    assert [it.metric.name for it in verdict.comparisons] == (
        ["recovery", "rate_per_s"] if verdict.complete else []
    )
    assert "sqlite@3.54 keeps its commits in 8 kills" in verdict.sentence
    assert "other loses" in verdict.sentence or not plays[-1].lost_count


def test_a_kill_after_which_one_did_not_recover_is_compared_with_none() -> None:
    run = make_compared_run(*make_plays(recovery_s=None, failure="it did not start"))
    assert judge_crashes(run).comparisons[0].blocks == 7
    assert judge_crashes(run).overall == "loses"


def test_a_record_of_one_engine_from_before_there_were_several_is_read() -> None:
    data = encode(make_run())
    del data["others"], data["margin_percent"]
    assert decode(CrashRun, data) == make_run() and len(make_run().sides) == 1


def test_two_engines_are_killed_in_turn_and_go_on_where_they_were(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--crash", FULL, "sqlite?synchronous=extra", "--blocks", "2"]
    assert run_words(["compare", *words]) in (0, 1, 2)
    run = read_only_run(runs)
    assert [len(side.plays) for side in run.sides] == [2, 2] and not run.sides[1].loses
    moments = [[it.moment_s for it in side.plays] for side in run.sides]
    assert moments[0] == moments[1] and all(it.rate_per_s for it in run.others[0].plays)
    (file,) = runs.glob("*/crash.json")
    write_json(file, run.change_side(1, plays=run.others[0].plays[:1]))
    capsys.readouterr()
    run_words(["resume", "last"])
    assert "kill 2 of 2 of sqlite?synchronous=extra" in capsys.readouterr().err
    assert len(read_only_run(runs).others[0].plays) == 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (f"{FULL} {FULL}", "is compared with itself"),
        (f"{FULL} sqlite --limit steal=1", "a comparison of crashes takes no --limit"),
        (f"{FULL} sqlite -w inserts -w transactions", "on one workload"),
        (FULL, "crashes of two candidates are compared"),
    ],
)
def test_what_a_comparison_of_crashes_does_not_take_is_refused(
    words: str, why: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["compare", "--crash", *words.split()]) == 64
    assert why in capsys.readouterr().err
    assert not runs.exists()


def test_a_loss_is_an_error_of_a_github_action(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_crash_run(runs)
    assert run_words(["report", "last", "--format", "github"]) == 0
    assert capsys.readouterr().out.startswith("::error title=sqlite@3.54::sqlite@3.54 loses in 1")
