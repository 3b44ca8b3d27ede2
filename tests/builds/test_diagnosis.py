"""Diagnoses: each of the catalogue from a tree that fails so; the first error, not the last."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import outside
from failing_build_systems import BUILD_SYSTEMS
from failures import BUILDS, STARTS, TOOLS, Example
from fetched_tools import PACKAGES, put_tool
from source_trees import RECIPE, built, planned, small_recipe, small_tree
from stub_programs import SAID

from dyno.builds.source.build import build_planned
from dyno.builds.source.diagnosis import (
    Failed,
    diagnose,
    diagnose_start,
    list_build_entries,
    read_entries,
)
from dyno.builds.source.work import BuildFailed
from dyno.engines._server.libraries import diagnose_failure

pytestmark = pytest.mark.usefixtures("own_cache")

#: What stands before and behind the words that tell, as in any log of a build.
BEFORE = """checking for gcc... yes
checking for error recovery... no
-- Looking for error.h - found
cc -Wall -Werror=vla -c early.c
early.c:1:1: warning: 'x' is used uninitialized: not an error: at all
"""
BEHIND = """make[2]: *** [Makefile:10: some.o] Error 1
make[1]: *** [Makefile:5: all] Error 2
make: *** [all] Error 2
"""


def failing_tree(folder: Path, words: str, version: str) -> Path:
    """A tree whose configure writes `words` in the middle of others, and fails."""
    tree = small_tree(folder, VERSION=f"{version}\n")
    (tree / "said").write_text(BEFORE + words + "\n" + BEHIND)
    (tree / "configure").write_text('#!/bin/sh\ncat "$(dirname "$0")/said"\nexit 1\n')
    return tree


def test_the_catalogue_has_an_example_of_each_kind_and_at_least_25() -> None:
    names = [entry.name for entry in list_build_entries()]
    assert set(names) == set(BUILDS) and len(names) == len(set(names))
    assert {entry.name for entry in read_entries("start")} == set(STARTS)
    assert len(names) >= 25
    for entry in (*list_build_entries(), *read_entries("start")):
        assert entry.cause and entry.remedy and entry.source, entry.name


def build_as(tree: Path, example: Example, folder: Path) -> BuildFailed:
    """Why a small tree fails that is called an engine's."""
    text = RECIPE.replace('since = "1"', "").replace('before = "3"', "")
    (tree / "VERSION").write_text(f"{example.version}\n")
    plan = planned(tree, small_recipe(folder, text))
    request = replace(plan.request, engine=example.engine)
    toolchain = replace(plan.toolchain, versions={**plan.toolchain.versions, **example.tools})
    with pytest.raises(BuildFailed) as failed:
        build_planned(replace(plan, request=request, toolchain=toolchain), SAID.append)
    return failed.value


@pytest.mark.parametrize("name", sorted(BUILDS))
def test_a_tree_that_fails_so_is_told_its_cause_and_remedy(name: str, tmp_path: Path) -> None:
    example = BUILDS[name]
    tree = failing_tree(tmp_path / "tree", example.words, example.version)
    failed = build_as(tree, example, tmp_path)
    entry = failed.diagnosis.entry
    assert entry is not None, f"not known: {failed}"
    assert entry.name == name, str(failed)
    assert entry.cause in failed.cause and entry.remedy in failed.hint
    assert failed.diagnosis.line in BEFORE + example.words or "CMake" in example.words
    assert failed.diagnosis.line not in BEFORE + BEHIND
    assert ("--fix does it" in failed.hint) is (entry.fix is not None)


@pytest.mark.parametrize("name", sorted(STARTS))
def test_a_server_that_does_not_start_is_told_why(name: str) -> None:
    found = diagnose_start("some line before\n" + STARTS[name] + "\nAborting")
    assert found is not None and found.entry is not None and found.entry.name == name
    assert found.line in STARTS[name]


def test_a_servers_error_carries_the_cause_and_the_remedy() -> None:
    told = diagnose_failure("mysqld did not start", STARTS["secure-file-priv"])
    assert "LOAD DATA" in told.cause and STARTS["secure-file-priv"] in told.cause
    assert "secure_file_priv=NULL" in told.hint
    aio = diagnose_failure("mysqld did not start", STARTS["libaio-renamed"])
    assert "libaio1t64" in aio.hint and "this system has no libaio.so.1" in aio.cause
    assert diagnose_failure("it failed", "odd words").hint == ""


def test_the_first_error_is_shown_where_nothing_is_known_of_it() -> None:
    words = "odd.c:7:1: error: something that nobody has met before\nld: cannot find -lodd\n"
    far = "\n".join(f"cc -c part{n}.c" for n in range(200))
    found = diagnose(Failed(BEFORE + words.splitlines()[0] + "\n" + far + "\n" + words + BEHIND))
    assert found.line == words.splitlines()[0] and found.entry is None


def test_a_later_error_that_is_known_does_not_hide_the_first() -> None:
    far = "\n".join(f"cc -c part{n}.c" for n in range(200))
    known = "x.c:1:10: fatal error: odd.h: No such file or directory"
    found = diagnose(Failed(f"{known}\n{far}\na.cc:3: error: multiple definition of `x'\n{BEHIND}"))
    assert found.line == known and found.entry is not None
    assert found.entry.name == "missing-header"


def test_what_cmake_only_looked_for_is_no_cause() -> None:
    looked = "-- Could NOT find OpenSSL (missing: OPENSSL_LIBRARIES)\n-- Could NOT find LibXml2\n"
    found = diagnose(Failed(f"{looked}CMake Error at x.cmake:7 (message):\n  odd\n\n{BEHIND}"))
    assert found.line == "CMake Error at x.cmake:7 (message): odd" and found.entry is None
    needed = "CMake Error at Find.cmake:230 (message):\n  Could NOT find LibXml2 (missing: x)\n"
    entry = diagnose(Failed(looked + needed + BEHIND)).entry
    assert entry is not None and entry.name == "dependency-absent"


def test_a_weak_explanation_counts_only_where_nothing_else_does() -> None:
    skew = "make: warning:  Clock skew detected.  Your build may be incomplete.\n"
    alone = diagnose(Failed(skew + BEHIND))
    assert alone.entry is not None and alone.entry.name == "clock-skew"
    beside = diagnose(
        Failed(skew + "x.c:1: error: implicit declaration of function 'f'\n" + BEHIND)
    )
    assert beside.entry is not None and beside.entry.name == "implicit-function"


@pytest.fixture(scope="module")
def fetched_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with those tools, from the cache of this machine, as servers are."""
    folder = tmp_path_factory.mktemp("tools")
    if shutil.which("apt-get"):
        for name in PACKAGES:
            put_tool(name, folder)
    return folder


REAL = {**TOOLS, **BUILD_SYSTEMS}


def test_the_catalogue_says_which_kinds_a_real_tool_produced_here() -> None:
    tested = {(tool.entry, label.split()[0]) for label, tool in REAL.items()}
    told = {(it.name, tool) for it in list_build_entries() for tool in it.produced_by}
    # a tool with its release is fetched, in test_fetched_compilers
    assert {(name, tool) for name, tool in told if " " not in tool} == tested
    assert len({name for name, _ in told}) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(REAL))
def test_the_real_tool_fails_and_is_diagnosed(
    name: str, fetched_tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = REAL[name]
    for program in (*tool.programs, *(("apt-get",) if tool.fetched else ())):
        outside(program)
    monkeypatch.setenv("PATH", f"{fetched_tools}:{os.environ['PATH']}")
    tree = small_tree(tmp_path / "tree")
    for file, text in tool.files.items():
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / file).write_text(text)
    (tree / "configure").write_text(f'#!/bin/sh\ncd "$(dirname "$0")"\n{tool.script}\n')
    failed = build_as(tree, BUILDS[tool.entry], tmp_path)
    assert failed.diagnosis.entry is not None, str(failed)
    assert failed.diagnosis.entry.name == tool.entry, str(failed)


FIXED = {
    "warnings-are-errors": ("int main(void) { int unused; return 0; }\n", "-Wall -Werror"),
    "implicit-function": (
        "int main(void) { return later() - later(); }\nint later(void) { return 0; }\n",
        "-Werror=implicit-function-declaration",
    ),
}


@pytest.mark.parametrize("name", sorted(FIXED))
def test_a_flag_that_mends_it_is_applied_and_recorded(name: str, tmp_path: Path) -> None:
    source, own = FIXED[name]
    # the tree's own flags stand first, as a Makefile's do
    makefile = (small_tree(tmp_path / "x") / "Makefile").read_text()
    makefile = makefile.replace("$(CC) $(CFLAGS)", f"$(CC) {own} $(CFLAGS)")
    tree = small_tree(tmp_path / "tree", Makefile=makefile, small_c=source)
    with pytest.raises(BuildFailed, match="--fix does it"):
        built(tree, small_recipe(tmp_path))
    made = built(tree, small_recipe(tmp_path), fix=True)
    assert made.facts["fixes"] == name
    assert subprocess.run([made.prefix / "bin" / "small"]).returncode == 0
    assert (tree / "small.c").read_text() == source


def test_a_remedy_that_does_not_help_is_not_tried_for_ever(tmp_path: Path) -> None:
    words = BUILDS["stdint"].words
    tree = failing_tree(tmp_path / "tree", words, "1.2")
    with pytest.raises(BuildFailed):
        built(tree, small_recipe(tmp_path), fix=True)
    assert sum("configure (step" in said for said in SAID) == 2


def test_memory_that_runs_out_is_answered_by_one_job(tmp_path: Path) -> None:
    script = 'case "$MAKEFLAGS" in *j2*|*j1[0-9]*) echo "g++: fatal error: Killed signal terminated'
    makefile = (small_tree(tmp_path / "x") / "Makefile").read_text()
    killed = f'all: jobs\njobs:\n\t@{script.replace("$", "$$")} program cc1plus"; exit 1;; esac\n'
    tree = small_tree(
        tmp_path / "tree", Makefile=makefile.replace("all: small.o", killed + "all: small.o")
    )
    plan = planned(tree, small_recipe(tmp_path))
    two = replace(plan, toolchain=replace(plan.toolchain, jobs=2))
    made = build_planned(two, SAID.append, fix=True)
    assert made.facts["fixes"] == "killed-compiler"
