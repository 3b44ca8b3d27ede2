"""Source `deb`: Debian packages, fetched by apt-get and unpacked into a folder of our own.

apt's own client is used, by package name, so that a user's mirrors and proxies apply; it checks
each package against the signed lists. Its programs are asked in the C locale. Neither step needs
root, and nothing is installed: no script of a package runs, and no file of the system changes.
Where the system has no lists (images of containers come without), apt gets lists of our own, by the
system's sources and keys. Packages here are of the system's own suite; `suites` reads any other.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path

from dyno import builds, subprocesses
from dyno.builds import Say, cache
from dyno.errors import HostError

#: Where the system's lists of packages lie.
LISTS = Path("/var/lib/apt/lists")
#: What apt's choice of a version depends on besides: what is installed, sources, preferences.
APT_STATE = (Path("/var/lib/dpkg/status"), Path("/etc/apt"))
#: How long lists of our own are good for: a mirror drops what it has newer.
LISTS_S = 86_400
#: What follows a package's name since its types hold times of 64 bits (Debian 13, Ubuntu 24.04).
TIME64 = "t64"


def fetch(name: str, version: str, say: Say, beside: Sequence[str] = ()) -> Path:
    """Return the folder that package `name` at exactly `version` fills, as `/` would look.

    `beside` are more packages for the same folder, each `name` (apt's own choice of version) or
    `name=version`: plugins, libraries. `HostError` if apt cannot get one of them.
    """
    packages = [f"{name}={version}", *beside]

    def make(folder: Path) -> None:
        say(f"fetching {' '.join(packages)} (apt)")
        with tempfile.TemporaryDirectory(prefix=".fetched-", dir=folder) as scratch:
            download = ["apt-get", "--quiet", "download", *packages]
            try:
                run([*download, *_choose_lists(say)], Path(scratch), say)
            except UnlikeLists:
                if not drop_lists("lists-"):
                    raise
                run([*download, *_choose_lists(say)], Path(scratch), say)
            for archive in sorted(Path(scratch).glob("*.deb")):
                unpack(archive, folder)

    # another choice of companions is another entry; a colon would end a word of a library path
    choice = hashlib.sha256(" ".join(beside).encode()).hexdigest()[:8]
    return cache.ensure_entry("deb", f"{name}-{version.replace(':', '_')}-{choice}", make, say)


def unpack(archive: Path, folder: Path) -> None:
    """Put a package's files into a folder; `HostError` if it cannot; a damaged archive is removed,
    to be fetched anew.
    """
    try:
        run(["dpkg-deb", "--extract", str(archive), str(folder)], folder)
    except HostError as refused:
        if FULL in refused.cause:
            raise
        archive.unlink()
        hint = "start again: it is fetched anew; if it stays, use another mirror"
        raise HostError(f"{archive.name} is damaged", cause=refused.cause, hint=hint) from None


def fetch_library(package: str, soname: str, say: Say) -> Path:
    """Return a folder with the shared library `soname`, and others of its `package`, and nothing
    else.

    `HostError` if apt has no such package, or it holds no such library.
    """
    name, version = _find_package(package, say)

    def make(folder: Path) -> None:
        for file in fetch(name, version, say).rglob("lib*.so*"):
            shutil.copy(file, folder / file.name)
        renamed = folder / f"{soname}{TIME64}"
        # on 64 bits the library is the same but for its name
        if renamed.is_file():
            renamed.rename(folder / soname)
        if not (folder / soname).is_file():
            raise HostError(f"{name} {version} holds no {soname}")

    return cache.ensure_entry("library", f"{name}-{version.replace(':', '_')}-{soname}", make, say)


def find_installable_version(name: str, say: Say = lambda _: None) -> str:
    """Return the version of package `name` that apt would install now; nothing of it is fetched.

    apt takes a second to answer: an answer is kept as long as the files that it depends on are
    unchanged. `HostError` if there is no apt, or it knows no such package.
    """
    show = ["apt-cache", "show", "--no-all-versions", name, *_choose_lists(say)]

    def make(folder: Path) -> None:
        said = run(show, Path("/"))
        found = [line.partition(": ")[2] for line in said.splitlines() if line[:8] == "Version:"]
        if not found:
            hint = "apt-get update refreshes its lists"
            raise HostError(f"apt has no version of {name}", hint=hint)
        (folder / "version").write_text(found[0])

    state = hashlib.sha256(repr([show, *_observe_apt()]).encode()).hexdigest()[:16]
    kept = cache.ensure_entry("apt-version", f"{name}-{state}", make, say)
    return (kept / "version").read_text()


def _observe_apt() -> Iterator[tuple[str, int]]:
    """Yield each file that an answer of `apt-cache` depends on, and when it was written."""
    program = shutil.which("apt-cache")
    for root in (*([Path(program)] if program else ()), LISTS, *APT_STATE):
        for file in (root, *sorted(root.rglob("*"))):
            if file.exists():
                yield str(file), file.stat().st_mtime_ns


def list_companions(name: str, say: Say) -> list[str]:
    """The packages, `name=version`, that apt would install for `name` and that this system lacks;
    nothing is fetched, and none that would be replaced by a newer one is among them.
    """
    command = ["apt-get", "--simulate", "--no-install-recommends", "install", name]
    said = run([*command, *_choose_lists(say)], Path("/"))
    # a version in brackets behind the name is one that is installed
    found = re.findall(r"^Inst (\S+) \((\S+)", said, re.M)
    return [f"{each}={version}" for each, version in found if each != name]


def _find_package(package: str, say: Say) -> tuple[str, str]:
    """The name that this release gives a library's package, and apt's version of it."""
    try:
        return package, find_installable_version(package, say)
    except HostError:
        return package + TIME64, find_installable_version(package + TIME64, say)


def _choose_lists(say: Say) -> list[str]:
    """Return apt's options for its lists of packages: none if the system has its own."""
    if shutil.which("apt-get") is None or any(LISTS.glob("*_Packages*")):
        return []

    def make(folder: Path) -> None:
        say("fetching lists of packages (apt)")
        drop_lists("lists-")
        make_list_folders(folder)
        update = ["apt-get", "--quiet", "update", *format_options(list_settings(folder))]
        run(update, folder, say)

    lists = cache.ensure_entry("apt", f"lists-{count_days()}", make, say)
    return format_options(list_settings(lists))


def count_days() -> int:
    return int(time.time() // LISTS_S)


def drop_lists(beginning: str) -> bool:
    """Remove lists of our own whose names begin so: those of earlier days, or that the mirror has
    superseded. Return whether there were any.
    """
    found = [entry for entry in cache.find_entries("apt") if entry.name.startswith(beginning)]
    removed = [cache.remove(entry) for entry in found]
    return any(removed)


#: How long apt-get may take over a handful of packages.
FETCH_S = 900.0
#: apt's words for a package or a version that is not there.
ABSENT = ("Unable to locate", "No packages found", "was not found", "Unable to find a source")
#: apt's words for a file that is not the one that was signed for.
UNLIKE = "Hash Sum mismatch"
#: What a full disk is called.
FULL = "the disk is full"
#: Begins an option of apt's.
OPTION = "-o"
#: apt's words for a file that the mirror lists and does not have; each server has its own behind.
LISTED_ONLY = " 404  "


@dataclass(frozen=True)
class Meaning:
    """What some words of apt's mean for the user, and what can be done; `passing` if a second try
    may succeed.
    """

    words: tuple[str, ...]
    told: str
    hint: str
    passing: bool = False


#: The first whose words are found counts: a list that is not signed is also one that was not
#: fetched.
MEANINGS = (
    Meaning(
        ABSENT,
        "",
        "apt-get update refreshes apt's lists (as root); do its sources have the package?",
    ),
    Meaning(
        ("is expired", "no longer valid"),
        "its lists are too old to be trusted",
        "the archive no longer keeps that suite, or this host's clock is ahead",
    ),
    Meaning(
        ("is not valid yet",),
        "its lists are of a day to come",
        "this host's clock is behind: set it",
    ),
    Meaning(
        ("is not signed", "NO_PUBKEY", "BADSIG", "EXPKEYSIG", "invalid signature"),
        "its signature is not by a key that this system trusts",
        "install the archive's newest keys (debian-archive-keyring); nothing unsigned is used",
    ),
    Meaning(
        ("does not have a Release file",),
        "the mirror has no such suite, or no longer",
        "name another suite, or a build of your own by its path",
    ),
    Meaning(
        (LISTED_ONLY,),
        "the mirror lists it and does not have it",
        "try again later, or name another suite; apt-get update refreshes this system's own lists",
    ),
    Meaning(
        (UNLIKE, "unexpected size"),
        "what came is not what the archive signed for",
        "the mirror may be between two updates: try again later, or use another mirror",
        passing=True,
    ),
    Meaning(
        ("No space left", "enough free space", "Wrote only"),
        FULL,
        "free some room (dyno clean), or set DYNO_CACHE to another file system",
    ),
    Meaning(
        ("Could not connect", "Could not resolve", "Temporary failure", "Unable to connect"),
        "the mirror cannot be reached",
        "is there a network, and is the mirror in /etc/apt/sources.list.d right?",
        passing=True,
    ),
)
UNREACHED = "apt must reach its mirrors (/etc/apt/sources.list.d), and the disk have room"


class UnlikeLists(HostError):
    """The mirror lacks what the lists have, or the lists lack what is asked for: newer ones may be
    the remedy.
    """


class NotOnMirror(UnlikeLists):
    """The mirror lists a file and does not have it."""


def format_options(settings: Sequence[str]) -> list[str]:
    """Settings (`Dir::Cache=/x`) as words of apt's command line."""
    return [word for setting in settings for word in (OPTION, setting)]


def list_settings(folder: Path) -> list[str]:
    """Settings for lists in `folder`, where apt's own user may not go, that are small; a source
    that fails is an error, as it is not by itself.
    """
    return [
        f"Dir::State::Lists={folder / 'lists'}",
        f"Dir::Cache={folder}",
        "Dir::Cache::pkgcache=",
        "Dir::Cache::srcpkgcache=",
        "Acquire::GzipIndexes=true",
        "Acquire::Languages=none",
        "APT::Sandbox::User=root",
        "APT::Update::Error-Mode=any",
    ]


def make_list_folders(folder: Path) -> None:
    for place in ("lists", "archives"):
        (folder / place / "partial").mkdir(parents=True)


def run(
    command: Sequence[str], folder: Path, say: Say | None = None, limit_s: float = FETCH_S
) -> str:
    """Return what the command writes; `HostError` with its last lines if it fails.

    A command that fetches may fail once; `say` gets a note.
    """
    quietly = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    once = partial(subprocesses.run_guarded, command, limit_s, folder, quietly)
    final = [words for kind in MEANINGS if not kind.passing for words in kind.words]
    try:
        done = builds.run_twice(once, say, final) if say else once()
    except FileNotFoundError:
        hint = "Debian packages need a Debian or an Ubuntu; or name your own build by its path"
        raise HostError(f"cannot fetch: no {command[0]} on PATH", hint=hint) from None
    except subprocess.TimeoutExpired:
        hint = "are apt's mirrors (/etc/apt/sources.list.d) reachable?"
        raise HostError(f"{command[0]} ran for {limit_s:.0f} s", hint=hint) from None
    if done.returncode:
        raise _explain_refusal(command, done.stderr)
    return done.stdout


def _explain_refusal(command: Sequence[str], said: str) -> HostError:
    """Return why apt has nothing for us, by its lines of errors; its warnings are left out."""
    lines = [line.strip() for line in said.splitlines() if line[:2] != "W:"]
    words = "it says\n" + ("\n".join(lines[-6:]) or "nothing")
    kinds = (kind for kind in MEANINGS if any(each in said for each in kind.words))
    meant = next(kinds, Meaning((), "", UNREACHED))
    cause = f"{meant.told}; {words}" if meant.told else words
    words_asked = takewhile(lambda word: word != OPTION, command[3:])
    asked = " ".join(word for word in words_asked if word[0] != "-") or "its lists"
    kind: type[HostError] = UnlikeLists if UNLIKE in meant.words else HostError
    kind = NotOnMirror if LISTED_ONLY in meant.words else kind
    return kind(f"{command[0]} cannot get {asked}", cause=cause, hint=meant.hint)
