"""The words of a rehearsal: what cannot be rehearsed is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from rehearsed import (
    EVERY,
    FACTORS,
    PLANNED,
    SAME,
    SLOW,
    make_contents,
    make_rehearsal_run,
    make_timed,
)
from small_logs import GENERAL, SHOP, write

from dyno.cli import judged_run, run_words
from dyno.cli.judged_run import RunOptions
from dyno.judge.analysis.judge import judge
from dyno.record import ComparedStatement, Verdict
from dyno.runs.experiment import Experiment
from dyno.runs.run_folder import create_run

SIDES = ["sqlite@3.24.0", "sqlite@3.54.1"]
LOG, DATA = ["--log", "it.log"], ["--data", "shop.sql"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log and its data, and a cache of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    write(tmp_path, "it.log", GENERAL)
    write(tmp_path, "shop.sql", SHOP)
    return tmp_path


@pytest.mark.parametrize(
    "words,sentence,hint",
    [
        ([*SIDES, *DATA], "a rehearsal needs a log", "--log FILE"),
        ([*SIDES, *LOG], "a rehearsal needs a copy of the data", "--from URL"),
        ([*SIDES[:1], *LOG, *DATA], "a rehearsal has two sides (got 1)", "OLD NEW"),
        ([*SIDES, "null", *LOG, *DATA], "a rehearsal has two sides (got 3)", "one upgrade"),
        (
            [SIDES[0], "mysql://root@127.0.0.1/shop", *LOG, *DATA],
            "a server that runs already is not rehearsed on",
            "name a build",
        ),
        ([*SIDES, *LOG, *DATA, "--no-time", "--blocks", "4"], "--blocks and --no-time", "leave"),
        ([*SIDES, *LOG, *DATA, "--no-time", "--budget", "1m"], "--budget and --no-time", "leave"),
        (
            [*SIDES, *LOG, *DATA, "--set", "threads=5"],
            "--set threads does not apply",
            "the log sets",
        ),
        ([*SIDES, *DATA, "--log", "nosuch.log"], "cannot read the log nosuch.log", "--log FILE"),
        (
            [*SIDES, *LOG, *DATA, "--save", "a", "--old-answers", "b"],
            *("--save and --old-answers cannot be combined", "leave out one"),
        ),
        ([*SIDES, *LOG, *DATA, "--statements", "u"], "--log and --statements cannot", "leave out"),
        ([*SIDES, *DATA, "--statements", "u", "--save", "a"], "--save and --statements", "its log"),
        ([*SIDES, *DATA, "--statements", "u"], "'u' names no server", "postgres://"),
        ([*SIDES, *LOG, *DATA, "--old-answers", "b"], "--old-answers is OLD", "FILE NEW"),
        (
            [*SIDES[:1], *LOG, *DATA, "--save", "a", "--blocks", "4"],
            *("--blocks does not apply to one side", "both sides on one host"),
        ),
        (
            [*SIDES[:1], *LOG, *DATA, "--old-answers", "nosuch"],
            *("there is no nosuch", "rehearse OLD --save FILE"),
        ),
        (
            [*SIDES[:1], *LOG, *DATA, "--old-answers", "it.log"],
            *("it.log holds no saved answers", "--save FILE"),
        ),
        ([*SIDES, *LOG, *DATA, "--config", "my.cnf"], "--config is for servers", "file of"),
        (
            [*SIDES[:1], *LOG, *DATA, "--save", "a", "--config", "my.cnf"],
            *("--config does not apply to one side", "both sides on one host"),
        ),
        ([*SIDES, *LOG, *DATA, "--upgrade-folder"], "no upgrade of a data folder", "leave out"),
        (
            ["mysql@8.0.33", "mariadb@11.8", *LOG, *DATA, "--upgrade-folder"],
            *("--upgrade-folder is for two releases of one engine", "the dump is loaded"),
        ),
        ([*SIDES, *LOG, *DATA, "--save", "it.log"], "--save and --log name one file", "--save"),
        ([*SIDES, *LOG, *DATA, "--save", "./shop.sql"], "--save and --data name one file", "other"),
        ([*SIDES, *LOG, *DATA, "--save", "gone/a"], "cannot write gone/a", "--save FILE"),
        ([*SIDES, *LOG, *DATA, "--speed", "1"], "unknown option '--speed'", "did you mean"),
        ([*SIDES, *LOG, *DATA, "--rows", "9"], "--rows needs --from", "--from URL"),
        ([*SIDES, *LOG, *DATA, "--from", "x"], "--from and --data cannot be", "leave out one"),
        ([*SIDES, *LOG, "--from", "mysql@9.7"], "'mysql@9.7' names no server", "mysql://user@"),
        (
            [*SIDES, *LOG, *DATA, "--try", "CREATE INDEX i ON t (a)"],
            *("--try takes a setting of NEW's (got 'CREATE INDEX", "SETTING=VALUE"),
        ),
        ([*SIDES, *LOG, *DATA, "--try", "a=1", "--no-time"], "--try and --no-time", "is a time"),
        (
            [*SIDES[:1], *LOG, *DATA, "--try", "a=1", "--save", "a"],
            *("--try and one side alone cannot be combined", "both sides load"),
        ),
        ([*SIDES, *LOG, *DATA, "--blocks", "1"], "the number of blocks is out of range", "3 to"),
    ],
)
def test_what_cannot_be_rehearsed_is_one_sentence_and_a_hint(
    words: list[str], sentence: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["rehearse", *words]) == 64
    said = capsys.readouterr().err
    assert sentence in said and hint in said.partition("hint: ")[2], said


def test_a_rehearsal_plays_writes_and_its_design_says_what_it_is(
    monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    write(here, "known.toml", '[accepted]\n"SELECT 1" = "known"\n')
    asked: list[Experiment] = []

    def play(experiment: Experiment, options: RunOptions) -> Verdict:
        asked.append(experiment)
        run = make_rehearsal_run(untimed=True)
        return judge(run, make_contents((SAME,)), audits={})

    monkeypatch.setattr(judged_run, "play_and_judge", play)
    write(here, "it.log", GENERAL + "2026-01-01T10:00:09.000000Z\t    8 Query\tSET GLOBAL x=1\n")
    words = ["--accept", "known.toml", "--hide-literals", "--blocks", "5"]
    assert run_words(["rehearse", *SIDES, *LOG, *DATA, *words]) == 0
    measuring = asked[0].measuring
    assert measuring.rehearses and measuring.fixed and not measuring.untimed
    assert (measuring.blocks, measuring.hides_literals) == (5, True)
    assert measuring.accepted == {"SELECT 1": "known"}
    assert any(it.of == "log" and "SET GLOBAL" in it.where for it in measuring.left_out)
    assert "writes = true" in Path(asked[0].workloads[0].name).read_text()


@pytest.mark.parametrize("statements", [(SAME,), EVERY])
def test_a_remedy_is_played_on_new_beside_itself_where_a_class_needs_one(
    statements: tuple[ComparedStatement, ...],
    monkeypatch: pytest.MonkeyPatch,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[Experiment] = []

    def play(experiment: Experiment, options: RunOptions) -> Verdict:
        asked.append(experiment)
        run = make_rehearsal_run()
        trials = [*make_contents(statements), *make_timed(FACTORS)]
        return judge(run, trials, audits={})

    monkeypatch.setattr(judged_run, "play_and_judge", play)
    monkeypatch.delenv("DYNO_CACHE")  # NEW's own build takes the setting, or refuses it
    words = ["--try", "cache_size=1000", "--json", "it.json"]
    code = 1 if statements == EVERY else 0
    assert run_words(["rehearse", *SIDES, *LOG, *DATA, *words]) == code
    if statements != EVERY:
        assert len(asked) == 1 and "cache_size=1000 is not tried" in capsys.readouterr().out
        return
    first, remedy = asked
    assert not first.measuring.tried
    without, tried = remedy.candidates
    assert without == first.candidates[1] and tried.keys == {"cache_size": "1000"}
    assert remedy.measuring.tried_for == (PLANNED.text, SLOW.text)


@pytest.mark.parametrize("strict", [False, True])
def test_a_report_of_a_rehearsal_is_the_rehearsals_page_and_words(
    strict: bool, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_run(make_rehearsal_run(untimed=True), here / "runs")
    for trial in make_contents(EVERY):
        folder.write_trial(trial)
    words = ["report", str(folder.path), *(["--strict"] if strict else [])]
    assert run_words(words) == (1 if strict else 0)
    assert "Of 8 statement classes 1 fails on 18" in " ".join(capsys.readouterr().out.split())
    assert '<section id="classes"' in (folder.path / "report.html").read_text()
    assert run_words(["show", str(folder.path)]) == 0
    assert "an execution, to be pasted" in capsys.readouterr().out
