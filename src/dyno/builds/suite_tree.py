"""An engine of a suite, unpacked into the cache with all libraries that it needs of that suite.

Nothing of the system is used beside the kernel, so it runs wherever its processor does, on an older
release as well as on its own: the program with the C library that it is deployed with. What a
package depends on beside libraries (a shell, perl, helpers for administrators) is left out.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno.builds import Say, cache, deb, own_loader, suites
from dyno.builds.suites import Suite, SuitePackage

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
        own_loader.set_loader(folder, cache.find_root() / KIND / name, programs)
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
