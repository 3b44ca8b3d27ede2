"""Any suite of the archive that this system's packages come from ("sid"), read by private lists.

The mirror is the one that the system's own sources name, whatever that is; the system's lists, keys
and preferences are neither changed nor asked. Lists are held against the archive's keyring. They
are kept for a day; a package that is cached already needs no lists.
"""

from __future__ import annotations

import functools
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dyno import subprocesses
from dyno.builds import Say, cache, deb
from dyno.errors import HostError, UsageError

#: Keys that an archive is signed with, where its own package puts them; without them, apt's choice.
KEYRINGS = (
    Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg"),
)
#: Suites that hold only what is new, with the suite that all else is taken from.
PARTIAL = {"experimental": "sid"}
#: Names that mean another release from time to time.
MOVING = ("stable", "oldstable", "testing", "unstable", "sid")
NAME = re.compile(r"[a-z][a-z0-9-]*")
#: What helps where a suite lists a source and its mirror has none.
BY_HAND = "try again later, name another suite, or unpack the source yourself and name its folder"
#: What is looked for in a suite.
Found = TypeVar("Found")
#: What fetching a source may take: half a gigabyte over a slow line.
SOURCE_S = 3600.0
#: One suite, its packages or its sources too.
LISTED = """Types: {types}
URIs: {mirror}
Suites: {suites}
Components: main
Targets: {targets}
"""


@dataclass(frozen=True)
class SuitePackage:
    """A package as a suite has it; `depends` are names, of several choices the first."""

    name: str
    version: str
    section: str
    depends: tuple[str, ...]


@dataclass(frozen=True)
class Suite:
    """A suite that is read by lists of our own, the cache's entry `lists`: its name, and what apt
    must be told. `is_new` says that its lists were fetched just now.
    """

    name: str
    options: tuple[str, ...]
    lists: str = ""
    is_new: bool = False

    def find_packages(self, names: Iterable[str], *, beside: bool = False) -> list[SuitePackage]:
        """Return those of `names` that it has, each in the version that it would install; `beside`:
        a suite of new things takes what the one below has, too, from there.
        """
        own = [] if beside else deb.format_options([f"APT::Default-Release={self.name}"])
        asked = ["apt-cache", "show", "--no-all-versions", *names, *self.options, *own]
        try:
            said = deb.run(asked, Path("/"))
        except HostError as refused:
            if any(words in refused.cause for words in deb.ABSENT):
                return []
            raise
        return [_read_package(_parse_fields(text)) for text in said.split("\n\n") if text.strip()]

    def find_version(self, name: str) -> str:
        """Return the version of package `name`; `HostError` if it has none."""
        for package in self.find_packages([name]):
            return package.version
        hint = "name another suite, or a build of your own by its path"
        raise deb.UnlikeLists(f"{self.name} has no package {name}", hint=hint)

    def download(self, packages: Sequence[SuitePackage], folder: Path, say: Say) -> None:
        """Put the packages' archives into `folder`, each checked against its checksum; one that is
        there already, or in part, is not fetched again.
        """
        # a version behind the name, or else a name that ends in + would be a command of apt's
        words = [f"{package.name}={package.version}" for package in packages]
        deb.run(["apt-get", "--quiet", "download", *words, *self.options], folder, say)


@dataclass(frozen=True)
class SourceArchives:
    """A source package as it was signed for: its description, beside the archives it lists."""

    name: str
    version: str
    description: Path

    @property
    def folder(self) -> Path:
        return self.description.parent


def use_suite(
    name: str, say: Say, use: Callable[[Suite], Found], *, sources: bool = False
) -> Found:
    """Return what `use` finds in the suite; if today's lists do not fit the mirror any more, with
    newer ones. What either raises passes through.
    """
    suite = open_suite(name, say, sources=sources)
    try:
        return use(suite)
    except deb.UnlikeLists:
        if suite.is_new:
            raise
        deb.drop_lists(suite.lists)
        return use(open_suite(name, say, sources=sources))


def open_suite(name: str, say: Say, *, sources: bool = False) -> Suite:
    """Open the suite; fetch its lists unless those of today are there; `sources` lists sources too.

    `HostError` if there is no apt, no mirror, no such suite, or no good signature.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not a suite's name", hint="for instance trixie or sid")
    kind = f"suite-{name}-sources-" if sources else f"suite-{name}-packages-"
    made: list[Path] = []

    def make(folder: Path) -> None:
        mirror = find_mirror()
        say(f"fetching {name}'s lists (apt)")
        deb.drop_lists(kind)
        deb.make_list_folders(folder)
        (folder / "status").touch()
        (folder / "suite.sources").write_text(_format_sources(name, mirror, sources))
        update = ["apt-get", "--quiet", "update", *deb.format_options(_list_settings(folder))]
        deb.run(update, folder, say)
        made.append(folder)

    lists = cache.ensure_entry("apt", f"{kind}{deb.count_days()}", make, say)
    options = tuple(deb.format_options(_list_settings(lists)))
    return Suite(name, options, lists.name, bool(made))


def find_mirror() -> str:
    """Return where this system's own packages come from; `HostError` if its sources do not say."""
    form = "$(REPO_URI)\t$(RELEASE)\t$(COMPONENT)"
    asked = ["apt-get", "indextargets", "--no-release-info", "Created-By: Packages"]
    said = deb.run([*asked, "--format", form], Path("/"))
    rows = [line.split("\t") for line in said.splitlines()]
    own = [uri for uri, *named in rows if named in ([name, "main"] for name in list_releases())]
    if own:
        return own[0]
    hint = "apt's sources (/etc/apt/sources.list.d) name no archive with a component main"
    raise HostError("this system's packages come from no archive that is known", hint=hint)


def fetch_source(suite: str, source: str, say: Say, version: str = "") -> SourceArchives:
    """Return the newest source package of that name in the suite, or the one of exactly `version`.

    One that is cached already needs no lists. If the mirror lists the newest and does not have it,
    the one before is used, with a note to `say`. `HostError` if none can be had.
    """
    cached = cache.find_entries("deb-src", f"{suite}_{source}_{spell_version(version or '*')}")
    if cached:
        return _describe_source(source, cached[-1].path)

    def fetch_newest(found: Suite) -> SourceArchives:
        listed = _list_versions(found, source)
        if version and version not in listed:
            hint = f"it has {', '.join(listed)}; unpack any other yourself and name its folder"
            raise deb.UnlikeLists(f"{suite} has no source of {source} {version}", hint=hint)
        versions = [version] if version else listed
        for at, each in enumerate(versions, 1):
            try:
                return _fetch_version(found, source, each, say)
            except deb.NotOnMirror as absent:
                # old lists may be why; an older version is the answer to new ones alone
                if not found.is_new or at == len(versions):
                    absent.hint = BY_HAND
                    raise
                told = "the mirror lists it and does not have it; an older one serves"
                say(f"{absent.message}: {told}")
        raise AssertionError("no version at all")

    return use_suite(suite, say, fetch_newest, sources=True)


def _fetch_version(suite: Suite, source: str, version: str, say: Say) -> SourceArchives:
    def make(folder: Path) -> None:
        say(f"fetching the source of {source} {version} ({suite.name})")
        with cache.hold_resumed_folder("deb-src", name) as archives:
            command = ["apt-get", "--quiet", "source", f"{source}={version}"]
            command += ["--download-only", *suite.options]
            deb.run(command, archives, say, SOURCE_S)
            for file in archives.iterdir():
                if file.is_file():
                    file.rename(folder / file.name)

    name = f"{suite.name}_{source}_{spell_version(version)}"
    return _describe_source(source, cache.ensure_entry("deb-src", name, make, say))


def spell_version(version: str) -> str:
    """A version as it may stand in a file's name, as dpkg spells it there."""
    return version.replace(":", "%3a")


def _describe_source(source: str, folder: Path) -> SourceArchives:
    description = next(folder.glob("*.dsc"))
    fields = _parse_fields(description.read_text())
    return SourceArchives(source, fields["Version"], description)


def find_newest(versions: Iterable[str]) -> str:
    """The newest of some versions, as dpkg orders them."""
    return max(versions, key=functools.cmp_to_key(_compare_versions))


def _list_versions(suite: Suite, source: str) -> list[str]:
    asked = ["apt-cache", "showsrc", "--only-source", source, *suite.options]
    versions = set(re.findall(r"^Version: (\S+)$", deb.run(asked, Path("/")), re.M))
    if not versions:
        raise deb.UnlikeLists(f"{suite.name} has no source of {source}")
    return sorted(versions, key=functools.cmp_to_key(_compare_versions), reverse=True)


def _compare_versions(one: str, other: str) -> int:
    """Return below, at or above 0, as dpkg orders the two versions."""
    if one == other:
        return 0
    command = ["dpkg", "--compare-versions", one, "lt", other]
    return -1 if subprocesses.run(command, 60.0).returncode == 0 else 1


def _list_settings(folder: Path) -> list[str]:
    """apt's settings by which it knows this suite and nothing else, and nothing installed."""
    return [
        *deb.list_settings(folder),
        f"Dir::Etc::sourcelist={folder / 'suite.sources'}",
        "Dir::Etc::sourceparts=/dev/null",
        "Dir::Etc::preferences=/dev/null",
        "Dir::Etc::preferencesparts=/dev/null",
        f"Dir::State::status={folder / 'status'}",
    ]


def _format_sources(suite: str, mirror: str, sources: bool) -> str:
    suites = " ".join(filter(None, (suite, PARTIAL.get(suite))))
    types, targets = ("deb-src", "Sources") if sources else ("deb", "Packages")
    text = LISTED.format(types=types, targets=targets, mirror=mirror, suites=suites)
    keyring = next((file for file in KEYRINGS if file.is_file()), None)
    return text + (f"Signed-By: {keyring}\n" if keyring else "")


def list_releases() -> list[str]:
    with suppress(OSError):
        return [platform.freedesktop_os_release().get("VERSION_CODENAME", ""), *MOVING]
    return list(MOVING)


def _parse_fields(text: str) -> dict[str, str]:
    """Return the fields of a stanza, each a line; longer ones are left out."""
    lines = (line.partition(": ") for line in text.splitlines() if line[:1] != " ")
    return {name: value for name, colon, value in lines if colon}


def _read_package(fields: dict[str, str]) -> SuitePackage:
    words = f"{fields.get('Pre-Depends', '')}, {fields.get('Depends', '')}"
    first = (each.split("|")[0].strip() for each in words.split(","))
    names = tuple(re.split(r"[\s:(]", each)[0] for each in first if each)
    section = fields.get("Section", "").rpartition("/")[2]
    return SuitePackage(fields["Package"], fields["Version"], section, names)
