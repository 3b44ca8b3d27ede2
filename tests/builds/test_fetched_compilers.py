"""Compilers of another time, fetched from a suite and used without touching the system."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import outside
from source_trees import small_recipe
from stub_programs import SAID

from dyno.builds.source.diagnosis import Failed, diagnose
from dyno.builds.source.toolchain import fetch_compiler, find_toolchain
from dyno.errors import HostError, UsageError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
#: Old C that gcc 14 refuses, and C++ of the library's own.
C, CXX = (
    "main() { return 7; }\n",
    "#include <string>\nint main() { return std::string(7, 'a').size(); }\n",
)


def compile_and_run(command: str, source: Path) -> int:
    program = source.with_suffix("")
    subprocess.run([*command.split(), str(source), "-o", str(program)], check=True)
    return subprocess.run([str(program)]).returncode


def test_an_old_compiler_makes_programs_that_start_here(tmp_path: Path) -> None:
    outside("apt-get")
    (recipe,) = small_recipe(tmp_path)
    found = find_toolchain(replace(recipe, tools={}), SAID.append, "gcc-9")
    assert found.compiler.startswith("gcc (Debian 9.") and found.versions["gcc"].startswith("9.")
    (tmp_path / "c.c").write_text(C)
    (tmp_path / "x.cc").write_text(CXX)
    assert compile_and_run(found.cc, tmp_path / "c.c") == 7
    assert compile_and_run(found.cxx, tmp_path / "x.cc") == 7


def test_gcc_14s_refusal_is_diagnosed_and_mended_and_its_cxx_is_refused_here(
    tmp_path: Path,
) -> None:
    outside("apt-get")
    cc, _ = fetch_compiler("gcc-14", SAID.append, is_cxx=False)
    (tmp_path / "c.c").write_text(C)
    done = subprocess.run([*cc.split(), str(tmp_path / "c.c")], capture_output=True, text=True)
    found = diagnose(Failed(done.stderr))
    assert found.entry is not None and found.entry.name == "implicit-int"
    mended = [*cc.split(), *found.entry.fix.cflags.split()] if found.entry.fix else []
    subprocess.run([*mended, str(tmp_path / "c.c"), "-o", str(tmp_path / "c")], check=True)
    try:
        fetch_compiler("gcc-14", SAID.append, is_cxx=True)
    except HostError as refused:  # on a system as new as its suite it is none
        assert "gcc-14 cannot link C++ here" in refused.message and "gcc-9" in refused.hint


def test_a_compiler_that_no_suite_has_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown compiler to fetch 'gcc-8'") as told:
        fetch_compiler("gcc-8", SAID.append, is_cxx=False)
    assert "gcc-9" in told.value.hint
