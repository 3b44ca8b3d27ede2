"""The compiler: what is compiled runs, and another flag, source or compiler is another entry."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from stub_programs import SAID, stub

from dyno.builds import cache
from dyno.builds.compiler import Recipe, compile_library
from dyno.errors import HostError, UsageError

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def answer(tmp_path: Path) -> Recipe:
    source = tmp_path / "answer.c"
    source.write_text("int answer(void) { return ANSWER; }\n")
    return Recipe("answer", source, "-O1", "ANSWER=42")


def test_what_is_compiled_runs_and_its_flags_are_recorded(answer: Recipe) -> None:
    made = compile_library(answer, SAID.append)
    assert ctypes.CDLL(str(made.program)).answer() == 42
    assert made.facts["cflags"] == "-O1" and made.facts["defines"] == "ANSWER=42"
    assert made.facts["compiler"] and len(made.facts["sha256"]) == 64
    assert compile_library(answer, SAID.append) == made
    assert SAID == ["compiling answer (-O1)"]


def test_other_flags_or_another_source_make_another_entry(answer: Recipe) -> None:
    compile_library(answer, SAID.append)
    compile_library(Recipe("answer", answer.source, "-O0", answer.defines), SAID.append)
    compile_library(Recipe("answer", answer.source, "-O1", "ANSWER=43"), SAID.append)
    answer.source.write_text("int answer(void) { return ANSWER + 1; }\n")
    compile_library(answer, SAID.append)
    assert len(cache.list_entries()) == 4


def test_another_compiler_makes_another_entry(
    answer: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_library(answer, SAID.append)
    script = 'case "$1" in --version) echo other 1.0;; *) exec cc "$@";; esac'
    stub(tmp_path / "bin", "other", script)
    monkeypatch.setenv("CC", str(tmp_path / "bin" / "other"))
    assert compile_library(answer, SAID.append).facts["compiler"] == "other 1.0"
    assert len(cache.list_entries()) == 2


def test_a_failed_compilation_shows_the_last_lines_and_leaves_no_entry(answer: Recipe) -> None:
    answer.source.write_text("int answer(void) { return ; } }\n")
    with pytest.raises(UsageError, match="cannot compile answer") as caught:
        compile_library(answer, SAID.append)
    assert "answer.c:1" in str(caught.value) and "-O1 ANSWER=42" in caught.value.hint
    assert cache.list_entries() == []


def test_unbalanced_quotes_in_flags_are_an_error(answer: Recipe) -> None:
    with pytest.raises(UsageError, match="cannot read the flags"):
        compile_library(Recipe("answer", answer.source, "'", ""), SAID.append)


def test_a_missing_compiler_says_what_to_install(
    answer: Recipe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="no C compiler") as caught:
        compile_library(answer, SAID.append)
    assert "gcc" in caught.value.hint
