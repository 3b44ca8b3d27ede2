"""pgbench's command line on ours: its words as options of a workload, or the line that does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.cli import run_words
from dyno.engines.postgres.libpq import convert_address
from dyno.errors import UsageError


def says(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run_words(words)
    out, err = capsys.readouterr()
    return code, out + err


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "my.sql"
    file.write_text("\\set x random(1, 10)\nSELECT :x;\n")
    return str(file)


def test_scripts_and_builtins_are_one_workload_with_their_weights(
    capsys: pytest.CaptureFixture[str], script: str
) -> None:
    words = [
        "-f",
        f"{script}@3",
        "-b",
        "sel",
        "-c",
        "2",
        "-j",
        "2",
        "-n",
        "-t",
        "50",
        "-M",
        "simple",
    ]
    code, said = says(capsys, "play", "null", *words, "-D", "unused=1", "--set", "warmup_time=0")
    assert code == 0, said
    counts = {
        line.split()[0]: int(line.split()[1].replace(",", ""))
        for line in said.splitlines()
        if "in all" in line
    }
    assert {name[:10] for name in counts} == {"my", "pgbench_se"} and sum(counts.values()) == 100


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["-p", "5432"], "the server is named by its URL"),
        (["-h", "localhost", "-U", "joe"], "the server is named by its URL"),
        (["-i"], "before each trial"),
        (["-P", "1"], "shows every second"),
        (["-C"], "connections are kept"),
        (["-f", "nosuch.sql"], "could not open file 'nosuch.sql'"),
        (["-b", "s"], "ambiguous"),
        (["-b", "nosuch"], 'no builtin script found for name "nosuch"'),
        (["-b", "select-only@one"], "invalid weight specification: @one"),
        (["-b", "select-only@-1"], "out of range .*: -1"),
        (["-b", "se@0", "-b", "si@0"], "total script weight must not be zero"),
        (["-S", "-t", "1", "-T", "1"], "specify either"),
        (["-S", "-D", "foobla"], "invalid variable definition"),
        (["-S", "-M", "nosuch"], "refuses this value of option protocol"),
        (["-w", "README.md"], "is not a workload"),
    ],
)
def test_what_has_no_counterpart_is_answered(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: list[str],
    answer: str,
) -> None:
    import re

    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("# Read me\n")
    code, said = says(capsys, "play", "null", *words)
    assert code == 64 and re.search(answer, said), said


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
