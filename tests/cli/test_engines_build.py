"""`dyno engines build`: a tree becomes a build with a name, which other commands take."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from source_trees import amalgamation, commit_all
from stub_programs import stub

from dyno.builds import cache
from dyno.cli import run_words
from dyno.driver import ask
from dyno.engines import find_engine
from dyno.errors import UsageError

pytestmark = pytest.mark.usefixtures("own_cache")


def say_nothing(clause: str) -> None:
    del clause


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return amalgamation(tmp_path / "tree")


def test_a_tree_is_built_named_and_can_be_had_by_its_name(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["engines", "build", "sqlite", "--source", str(tree), "--name", "mine"]) == 0
    told = capsys.readouterr()
    assert "use it as sqlite@source:mine" in told.out
    assert "-O2 -g -fno-omit-frame-pointer" in told.out
    announced = told.err.splitlines()[0]
    assert "building sqlite 3.99.1 from folder" in announced and ", about 40 s" in announced
    made = find_engine("sqlite", ask).program("source:mine", {}, say_nothing)
    assert made.version == "3.99.1" and made.facts["recipe"] == "sqlite-amalgamation"
    assert made.facts["compiler"] and made.facts["frame_pointers"] == "on"
    assert run_words(["engines", "list"]) == 0
    assert "source:mine" in capsys.readouterr().out
    (entry,) = cache.find_entries("built")
    assert run_words(["engines", "remove", entry.name]) == 0
    assert run_words(["engines", "list"]) == 0
    assert "source:mine" not in capsys.readouterr().out


def test_a_tree_is_a_candidate_straight_away_with_flags_and_a_commit(tree: Path) -> None:
    commit = commit_all(tree)
    engine = find_engine("sqlite", ask)
    plain = engine.program(f"source:{tree}@HEAD", {}, say_nothing)
    fast = engine.program(f"source:{tree}@{commit[:9]}", {"cflags": "-O3"}, say_nothing)
    assert plain.program != fast.program and fast.facts["cflags"] == "-O3"
    assert plain.facts["defines"] and commit[:12] in plain.facts["source"]


def test_what_cannot_be_a_build_from_source_is_refused_by_name(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sqlite = find_engine("sqlite", ask)
    for build, flags, sentence in (
        ("source:unheard", {}, "unknown sqlite build from source 'unheard'"),
        (f"source:{tree}", {"patch": "/none"}, "there is no patch /none"),
        ("system", {"patch": "x"}, "'patch' is for builds from source, not for 'system'"),
        ("3.54.1", {"configure": "x"}, "'configure' is for builds from source"),
    ):
        with pytest.raises(UsageError, match=sentence):
            sqlite.program(build, flags, say_nothing)
    for words, sentence in (
        (["sqlite"], "no source tree is named"),
        (["sqlite", str(tree), "--source", str(tree)], "2 source trees are named"),
        (["null", str(tree)], "null is not built from source"),
        (["sqlite", str(tree), "--name", "a b"], "a build cannot be called 'a b'"),
        (["postgres", str(tree)], "no recipe builds"),
    ):
        assert run_words(["engines", "build", *words]) == 64
        assert sentence in capsys.readouterr().err


def test_flags_of_a_build_from_source_are_not_taken_for_a_running_server() -> None:
    for name in ("postgres", "mysql", "mariadb"):
        engine = find_engine(name, ask)
        with pytest.raises(UsageError, match="'cflags'"):
            engine.check("//u@h:1/d", {"cflags": "-O3"}, {})  # type: ignore[attr-defined]


def test_a_build_that_fails_names_the_line_and_its_log(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "sqlite3.c").write_text("int broken(void) { return nothing_of_the_kind; }\n")
    assert run_words(["engines", "build", "sqlite", str(tree)]) == 64
    told = capsys.readouterr().err
    assert "the step 'compile' failed" in told and "nothing_of_the_kind" in told
    assert "the whole log is " in told
    assert not cache.find_entries("built")


@pytest.mark.slow
def test_on_a_terminal_a_step_of_unknown_length_shows_no_percentage(
    tree: Path, tmp_path: Path
) -> None:
    # the compiler goes on once the bar is drawn
    drawn = tmp_path / "drawn"
    wait = f'case "$*" in *sqlite3*) while [ ! -e {drawn} ]; do sleep 0.1; done;; esac'
    stub(tmp_path / "bin", "slow-cc", f'{wait}; exec cc "$@"')
    ours, theirs = os.openpty()
    words = [sys.executable, "-m", "dyno.cli", "engines", "build", "sqlite", str(tree)]
    environment = os.environ | {
        "TERM": "xterm",
        "COLUMNS": "80",
        "CC": str(tmp_path / "bin" / "slow-cc"),
    }
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        said = read_terminal(ours, "compile (2 of 2)", drawn)
        assert process.wait(60) == 0, said
    assert "compile (2 of 2)" in said and "use it as sqlite@source:" in said
    assert " %" not in said


def read_terminal(ours: int, awaited: str, seen: Path) -> str:
    """All that is written to a terminal until nobody has it open any more; `seen` is made once
    `awaited` is among it.
    """
    said = b""
    try:
        while some := os.read(ours, 1 << 16):
            said += some
            if awaited.encode() in said:
                seen.touch()
    except OSError:  # so Linux tells the end
        pass
    finally:
        os.close(ours)
    return said.decode(errors="replace")


def test_fetch_is_install_by_the_name_that_other_tools_give_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_words(["engines", "fetch", "null"]) == 0
    assert capsys.readouterr().out.startswith("null ")
    assert run_words(["engines", "--help"]) == 0
    assert "fetch " not in capsys.readouterr().out
