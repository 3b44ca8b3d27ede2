"""pgbench's command line on ours: its words as options of a workload, or the line that does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.cli import judged_run, run_words
from dyno.compat.pgbench.words import find_builtin_file
from dyno.engines.postgres.attached import convert_address
from dyno.errors import UsageError
from dyno.runs.experiment import Experiment


def says(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run_words(words)
    out, err = capsys.readouterr()
    return code, out + err


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "my.sql"
    file.write_text("\\set x random(1, 10)\nSELECT :x;\n")
    return str(file)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Experiment]:
    """What would be compared."""
    found: list[Experiment] = []

    def judged(experiment: Experiment, _: object) -> object:
        found.append(experiment)
        raise UsageError("seen")

    monkeypatch.setattr(judged_run, "play_and_judge", judged)
    return found


WORDS = ["-b", "sel", "-N", "-c", "2", "-j", "2", "-n", "-t", "50", "-M", "simple", "-D", "a=1"]
WORDS += ["-R", "9.5", "-s", "3", "--exit-on-abort", "--allow-shell", "--continue-on-error"]


def test_each_word_of_a_comparison_by_pgbenchs_line_is_an_option_of_the_workload(
    asked: list[Experiment], script: str
) -> None:
    line = ["pgbench", "-f", f"{script}@3", *WORDS, "--compare", "null", "null@1us"]
    assert run_words([*line, "--set", "warmup_time=0"]) == 64
    (workload,) = asked[0].workloads
    assert workload.name == script
    also = [str(find_builtin_file(name)) for name in ("select-only", "simple-update")]
    assert workload.options == {
        **{"weight": "3", "also": ",".join(f"{file}@1" for file in also), "marked": "off"},
        **{"threads": "2", "events": "100", "protocol": "simple", ":a": "1", "scale": "3"},
        **{"rate": "9.5", "arrivals": "poisson", "exit_on_abort": "on", "allow_shell": "on"},
        "warmup_time": "0",
    }


def test_scripts_are_one_workload_by_the_options_of_any_command(
    capsys: pytest.CaptureFixture[str], script: str
) -> None:
    also = f"also={find_builtin_file('select-only')}@1"
    sets = [also, "weight=3", "threads=2", "events=100", "warmup_time=0", ":unused=1"]
    words = [word for each in sets for word in ("--set", each)]
    code, said = says(capsys, "play", "null", "-w", script, *words)
    assert code == 0, said
    counts = {
        line.split()[0]: int(line.split()[1].replace(",", ""))
        for line in said.splitlines()
        if "in all" in line
    }
    # a name is as long as the rate beside it leaves room for
    assert {name[:7] for name in counts} == {"my", "pgbench"} and sum(counts.values()) == 100


@pytest.mark.parametrize(
    ("words", "here"),
    [
        (["-f", "my.sql"], "-w FILE.sql"),
        (["-b", "select-only"], "-w pgbench_tpcb_like"),
        (["-S"], "-w pgbench_select_only"),
        (["--skip-some-updates"], "-w pgbench_simple_update"),
        (["-c", "4"], "--set threads=N"),
        (["--transactions=4"], "--set events=N"),
        (["-R", "100"], "--set rate=PER_S"),
        (["-M", "prepared"], "--set protocol"),
        (["-D", "x=1"], "--set :NAME=VALUE"),
        (["-s", "10"], "--set scale=N"),
        (["--allow-shell"], "--set allow_shell=on"),
        (["--exit-on-abort"], "--set exit_on_abort=on"),
    ],
)
def test_pgbenchs_own_spelling_names_the_command_that_takes_it(
    words: list[str], here: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for line, command in (
        (["compare", "null", "null@1us"], "`dyno pgbench --compare BASE CANDIDATE …`"),
        (["play", "null"], "`dyno pgbench …`"),
    ):
        code, said = says(capsys, *line, *words)
        assert code == 64 and said.startswith("dyno: unknown option '-"), said
        assert f"hint: {command} takes pgbench's words; here: {here}" in said


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["-p", "5432"], "the server is named by its URL"),
        (["-h", "localhost", "-U", "joe"], "the server is named by its URL"),
        (["-i"], "before each trial"),
        (["-P", "1"], "shows every second"),
        (["-C"], "connections are kept"),
        (["-w", "README.md"], "is not a workload"),
        (["-w", "my.sql", "--set", "protocol=nosuch"], "refuses this value of option protocol"),
    ],
)
def test_what_has_no_counterpart_is_answered(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    words: list[str],
    answer: str,
) -> None:
    monkeypatch.chdir(Path(script).parent)
    Path("README.md").write_text("# Read me\n")
    code, said = says(capsys, "play", "null", *words)
    assert code == 64 and answer in said, said


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["-f", "nosuch.sql"], 'could not open file "nosuch.sql"'),
        (["-f", "it.lua"], "it.lua is a Lua script"),
        (["-b", "s"], "ambiguous"),
        (["-b", "nosuch"], 'no builtin script found for name "nosuch"'),
        (["-b", "select-only@one"], "invalid weight specification: @one"),
        (["-b", "select-only@-1"], "out of range (0 .. 2147483647): -1"),
        (["-b", "se@0", "-b", "si@0"], "total script weight must not be zero"),
        (["-S", "-t", "1", "-T", "1"], "specify either"),
        (["-S", "-D", "foobla"], "invalid variable definition"),
        (["-S", "-M", "nosuch"], "invalid query mode"),
    ],
)
def test_what_pgbench_refuses_a_comparison_by_its_line_refuses(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: list[str],
    answer: str,
    asked: list[Experiment],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("it.lua").touch()
    code, said = says(capsys, "pgbench", *words, "--compare", "null", "null@1us")
    assert code == 64 and answer in said and not asked, said


def test_a_file_of_any_name_is_pgbenchs_where_that_is_said(
    asked: list[Experiment], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.bench"
    file.write_text("-- weight: 2\nSELECT 1;\n")
    assert run_words(["pgbench", "-f", str(file), "--compare", "null", "null@1us"]) == 64
    assert asked[0].workloads[0].options["marked"] == "off"
    said = says(capsys, "play", "null", "-w", str(file), "--set", "marked=off", "--set", "events=5")
    assert said[0] == 0 and "transaction" in said[1]


def test_a_script_is_shown_by_its_path(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.chdir(Path(script).parent)
    for name in ("my.sql", "./my.sql", script):
        code, said = says(capsys, "show", name)
        assert code == 0 and "protocol" in said, said


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("host=/tmp port=5433 dbname=shop user=joe", "postgres://joe@%2Ftmp:5433/shop"),
        ("dbname = 'my shop'", "postgres:///my%20shop"),
        ("host=db user=joe sslmode=disable", "postgres://joe@db/joe?sslmode=disable"),
        ("postgres:///shop?host=/tmp", "postgres://%2Ftmp/shop"),
        ("postgres:///shop?host=/tmp&port=1&user=joe", "postgres://joe@%2Ftmp:1/shop"),
        ("postgresql://joe:secret@db:1/shop", "postgres://joe:secret@db:1/shop"),
        ("postgresql://[::1]:1/shop?sslmode=require", "postgres://[::1]:1/shop?sslmode=require"),
        ("postgresql://%2Ftmp/shop", "postgres://%2Ftmp/shop"),
        ("postgresql+psycopg2://joe@db/shop", "postgres://joe@db/shop"),
        ("jdbc:postgresql://db:1/shop?user=joe", "postgres://joe@db:1/shop"),
        ("service=mine", "postgres:///?service=mine"),
        ("host=db password='a b@c' user=joe", "postgres://joe:a%20b%40c@db/joe"),
        ("postgres://joe@db/shop?sslmode=require", None),
        ("postgres@18", None),
        ("slow=null@210us?aslr=off", None),
    ],
)
def test_libpqs_connection_strings_are_our_urls(text: str, url: str | None) -> None:
    assert convert_address(text) == url


@pytest.mark.parametrize(
    "text", ["postgresql://db/a?connect_timeout=1", "host=db options=-c", "host=db foo=1"]
)
def test_what_a_connection_string_cannot_say_here_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as error:
        convert_address(text)
    assert "secret" not in str(error.value)
