"""Functions of a stripped program, placed by those that stand around them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dyno.profile.callgrind import UNKNOWN, CodeFunction
from dyno.profile.layers import label_profile, tidy_function
from dyno.profile.neighbours import demangle, read_functions
from dyno.record.profile import CpuProfile, ProfiledFunction

#: Two files of a server: one of the b-tree, one of functions that no layer lists.
TREE = """
    int _bt_search(int x) { return x + 1; }
    static __attribute__((noinline)) int hidden(int x) { return x * 3; }
    int _bt_compare(int x) { return hidden(x) + 2; }
    int _bt_first(int x) { return hidden(x) + 4; }
    int _bt_next(int x) { return x + 5; }
"""
LONELY = """
    static __attribute__((noinline)) int lonely(int x) { return x * 7; }
    int unlisted_b(int x) { return lonely(x) + 8; }
"""
FILLER = "".join(f"int unlisted_a{n}(int x) {{ return x + {n}; }}\n" for n in range(10, 20))
#: Of a library that drops all its names: far from those of the files beside it.
HIDDEN = """
    __asm__(".text; .skip 70000, 0x90");
    __attribute__((visibility("hidden"))) int buried(int x) { return x + 3; }
    __asm__(".text; .skip 70000, 0x90");
"""
#: Where two files meet, and PostgreSQL's table knows whose the code between them is.
MET = """
    int load_tzoffsets(int x) { return x + 1; }
    static __attribute__((noinline)) int met(int x) { return x * 9; }
    int AllocSetContextCreateInternal(int x) { return met(x) + 2; }
"""
SOURCES = {"tree.c": TREE, "far.c": FILLER + LONELY + FILLER.replace("_a", "_c"), "met.c": MET}
SOURCES |= {"hidden.c": HIDDEN, "last.c": FILLER.replace("_a", "_d")}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A stripped program, and where its functions lie, by the names that it had."""
    if not (shutil.which("cc") and shutil.which("strip")):
        pytest.skip("no C compiler")
    home = tmp_path_factory.mktemp("stripped")
    for name, source in SOURCES.items():
        (home / name).write_text(source)
    whole, stripped = home / "whole", home / "postgres"
    # the order of a source file stays, as it does by distributions' flags
    flags = ["-O1", "-fPIC", "-fno-toplevel-reorder", "-shared", "-o", str(whole)]
    subprocess.run(["cc", *flags, *(str(home / it) for it in SOURCES)], check=True, timeout=60)
    subprocess.run(["strip", "-o", str(stripped), str(whole)], check=True, timeout=60)
    functions = read_functions(str(whole))
    assert functions
    return stripped, dict(zip(functions.names, functions.addresses, strict=True))


def find_offset(program: Path, address: int) -> int:
    functions = read_functions(str(program))
    assert functions and functions.find_address(address) == address  # a small library's are alike
    return address


def test_a_static_function_of_a_stripped_program_has_the_layer_of_those_around_it(
    program: tuple[Path, dict[str, int]],
) -> None:
    stripped, addresses = program
    functions = tuple(
        ProfiledFunction("", str(stripped), find_offset(stripped, addresses[name] + 2), "", 7)
        for name in ("hidden", "lonely", "met")
    )
    tree, far, met = label_profile("postgres", CpuProfile(14, 0, 1_000, functions)).functions
    assert (tree.name, tree.layer) == (
        "(no symbol) by _bt_search and _bt_compare",
        "access methods and heap",
    )
    assert (far.name, far.layer) == ("(no symbol) by unlisted_a19 and unlisted_b", "unknown")
    assert met.layer == "memory contexts"


def test_code_far_from_any_name_is_the_library_that_hides_all_of_them(
    program: tuple[Path, dict[str, int]],
) -> None:
    """MariaDB exports its server's functions, and none of InnoDB's."""
    stripped, addresses = program
    profile = CpuProfile(
        7, 0, 1_000, (ProfiledFunction("", str(stripped), addresses["buried"] + 2, "", 7),)
    )
    for engine, layer in (("mariadb", "storage engine"), ("postgres", "unknown")):
        (found,) = label_profile(engine, profile).functions
        assert found.layer == layer


def test_a_count_names_it_likewise(program: tuple[Path, dict[str, int]]) -> None:
    stripped, addresses = program
    counted = CodeFunction(f"{addresses['hidden']:#018x}", UNKNOWN, str(stripped.resolve()))
    named = tidy_function(counted, stripped, "postgres")
    assert named.name == "(no symbol) by _bt_search and _bt_compare"
    assert named.layer == "access methods and heap"


def test_a_file_of_another_root_is_not_read_of_this_one(
    program: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    """A container's program has the same path as a stranger's here."""
    stripped, addresses = program
    function = ProfiledFunction("", str(stripped), addresses["hidden"], "", 7)
    profile = CpuProfile(7, 0, 1_000, (function,))
    (found,) = label_profile("postgres", profile, str(tmp_path)).functions
    assert (found.name, found.layer) == ("", "unknown")


@pytest.mark.parametrize("content", [b"", b"no program", b"\x7fELF\x02\x01\x01", b"\x7fELF"])
def test_what_is_no_program_names_no_functions(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert read_functions(str(tmp_path / "file")) is None
    assert read_functions(str(tmp_path / "gone")) is None


def test_names_of_c_plus_plus_are_written_as_in_its_sources() -> None:
    assert demangle("_ZN2os4fileEv") == "os::file()"
    assert demangle("heap_insert") == "heap_insert"
    assert demangle("_Znothing") == "_Znothing"
