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

#: What a gcc first refused, by the catalogue's kinds.
REFUSED_BY_GCC = {
    "gcc-14": {
        "implicit-int": C,
        "int-conversion": "int main(void) { char *p = 7; return !p; }\n",
        "implicit-function": "int main(void) { return abs(-7); }\n",
        "incompatible-pointer": "int main(void) { long x; int *p = &x; return !p; }\n",
    },
    "gcc-15": {
        "bool-typedef": "typedef char bool;\nint main(void) { return 0; }\n",
        "old-function-types": "int f();\nint main() { return f(1); }\nint f(int a) { return a; }\n",
    },
}
#: What clang 16 refuses, by the catalogue's kinds.
REFUSED_BY_CLANG = {
    "implicit-int": C,
    "int-conversion": "int main(void) { char *p = 7; return !p; }\n",
    "implicit-function": "int main(void) { return abs(-7); }\n",
    "incompatible-function": "int f(char *p) { return *p; }\nint (*g)(int *) = f;\nint main() {}\n",
    "narrowing": "char a[] = {200};\nint main() { return !a; }\n",
    "register-cxx17": "int main() { register int x = 1; return !x; }\n",
    "dynamic-exception": "int f() throw(int) { return 1; }\nint main() { return !f(); }\n",
}
CXX_KINDS = ("narrowing", "register-cxx17", "dynamic-exception")


def compile_and_run(command: str, source: Path) -> int:
    program = source.with_suffix("")
    subprocess.run([*command.split(), str(source), "-o", str(program)], check=True)
    return subprocess.run([str(program)]).returncode


def check_mended(kind: str, compiler: str, source: str, file: Path) -> None:
    """The compiler refuses the source, which is told to be of that kind; with the remedy's flags it
    compiles.
    """
    file.write_text(source)
    words = [*compiler.split(), str(file), "-o", str(file.with_suffix(""))]
    failed = subprocess.run(words, capture_output=True, text=True)
    entry = diagnose(Failed(failed.stderr)).entry
    assert entry is not None and entry.name == kind, failed.stderr
    assert entry.fix is not None and any("gcc" in it or "clang" in it for it in entry.produced_by)
    flags = entry.fix.cxxflags or entry.fix.cflags or entry.fix.c_only
    subprocess.run([*words, *flags.split()], check=True)


def test_an_old_compiler_makes_programs_that_start_here(tmp_path: Path) -> None:
    outside("apt-get")
    (recipe,) = small_recipe(tmp_path)
    found = find_toolchain(replace(recipe, tools={}), SAID.append, "gcc-9")
    assert found.compiler.startswith("gcc (Debian 9.") and found.versions["gcc"].startswith("9.")
    (tmp_path / "c.c").write_text(C)
    (tmp_path / "x.cc").write_text(CXX)
    assert compile_and_run(found.cc, tmp_path / "c.c") == 7
    assert compile_and_run(found.cxx, tmp_path / "x.cc") == 7


def test_refusals_of_new_gccs_are_diagnosed_and_mended_and_their_cxx_is_refused_here(
    tmp_path: Path,
) -> None:
    outside("apt-get")
    for compiler, refused in REFUSED_BY_GCC.items():
        cc, _ = fetch_compiler(compiler, SAID.append, is_cxx=False)
        for name, source in refused.items():
            check_mended(name, cc, source, tmp_path / f"{name}.c")
    try:
        fetch_compiler("gcc-14", SAID.append, is_cxx=True)
    except HostError as refused:  # on a system as new as its suite it is none
        assert "gcc-14 cannot link C++ here" in refused.message and "a clang" in refused.hint


def test_a_clang_of_another_time_makes_programs_that_start_here_and_its_refusals_are_mended(
    tmp_path: Path,
) -> None:
    outside("apt-get")
    (recipe,) = small_recipe(tmp_path)
    found = find_toolchain(replace(recipe, tools={}), SAID.append, "clang-16")
    assert "clang version 16." in found.compiler and "gcc" not in found.versions
    (tmp_path / "x.cc").write_text(CXX)
    assert compile_and_run(found.cxx, tmp_path / "x.cc") == 7
    for name, source in REFUSED_BY_CLANG.items():
        is_cxx = name in CXX_KINDS
        file = tmp_path / f"{name}.{'cc' if is_cxx else 'c'}"
        check_mended(name, found.cxx if is_cxx else found.cc, source, file)


def test_a_compiler_that_no_suite_has_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown compiler to fetch 'gcc-8'") as told:
        fetch_compiler("gcc-8", SAID.append, is_cxx=False)
    assert "gcc-9" in told.value.hint
