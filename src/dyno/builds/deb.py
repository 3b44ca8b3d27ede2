"""Source `deb`: Debian packages, fetched by apt-get and unpacked into a folder of our own.

apt's own client is used, by package name, so that a user's mirrors and proxies apply; it holds
each package against the signed lists. Neither step needs root, and nothing is installed: no
script of a package runs, and no file of the system changes. Where the system has no lists (images
of containers come without), apt gets lists of our own, by the system's sources and keys.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

from dyno import builds, subprocesses
from dyno.builds import Say, cache
from dyno.errors import HostError

#: How long apt-get may take over a handful of packages.
FETCH_S = 900.0
#: apt's words for a package or a version that is not there.
ABSENT = ("Unable to locate", "No packages found", "was not found")
#: Where the system's lists of packages lie.
LISTS = Path("/var/lib/apt/lists")
#: How long lists of our own are good for: a mirror drops what it has newer.
LISTS_S = 86_400
#: Begins an option of apt's.
OPTION = "-o"
#: What follows a package's name since its types hold times of 64 bits (Debian 13, Ubuntu 24.04).
TIME64 = "t64"


def fetch(name: str, version: str, say: Say, beside: Sequence[str] = ()) -> Path:
    """The folder that package `name` at exactly `version` fills, as `/` would look.

    `beside` are more packages for the same folder, each `name` (apt's own choice of version) or
    `name=version`: plugins, libraries. `HostError` where apt cannot get one of them.
    """
    packages = [f"{name}={version}", *beside]

    def make(folder: Path) -> None:
        say(f"fetching {' '.join(packages)} (apt)")
        with tempfile.TemporaryDirectory(prefix=".fetched-", dir=folder) as scratch:
            download = ["apt-get", "--quiet", "download", *packages, *_lists(say)]
            _run(download, Path(scratch), say)
            for archive in sorted(Path(scratch).glob("*.deb")):
                _run(["dpkg-deb", "--extract", str(archive), str(folder)], folder)

    # another choice of companions is another entry; a colon would end a word of a library path
    choice = hashlib.sha256(" ".join(beside).encode()).hexdigest()[:8]
    return cache.cached_entry("deb", f"{name}-{version.replace(':', '_')}-{choice}", make, say)


def library(package: str, soname: str, say: Say) -> Path:
    """A folder with the shared library `soname`, and others of its `package`, and nothing else.

    `HostError` where apt has no such package, or it holds no such library.
    """
    name, version = _package_of(package, say)

    def make(folder: Path) -> None:
        for file in fetch(name, version, say).rglob("lib*.so*"):
            shutil.copy(file, folder / file.name)
        renamed = folder / f"{soname}{TIME64}"
        # on 64 bits the library is the same but for its name
        if renamed.is_file():
            renamed.rename(folder / soname)
        if not (folder / soname).is_file():
            raise HostError(f"{name} {version} holds no {soname}")

    return cache.cached_entry("library", f"{name}-{version.replace(':', '_')}-{soname}", make, say)


def installable_version(name: str, say: Say = lambda _: None) -> str:
    """The version of package `name` that apt would install now; nothing of it is fetched.

    `HostError` where there is no apt, or it knows no such package.
    """
    said = _run(["apt-cache", "show", "--no-all-versions", name, *_lists(say)], Path("/"))
    found = [line.partition(": ")[2] for line in said.splitlines() if line[:8] == "Version:"]
    if not found:
        raise HostError(f"apt has no version of {name}", hint="apt-get update refreshes its lists")
    return found[0]


def _package_of(package: str, say: Say) -> tuple[str, str]:
    """The name that this release gives a library's package, and apt's version of it."""
    try:
        return package, installable_version(package, say)
    except HostError:
        return package + TIME64, installable_version(package + TIME64, say)


def _lists(say: Say) -> list[str]:
    """What apt must be told to find lists of packages: nothing where the system has its own."""
    if shutil.which("apt-get") is None or any(LISTS.glob("*_Packages*")):
        return []

    def make(folder: Path) -> None:
        say("fetching lists of packages (apt)")
        cache.trim("apt", 0)
        for place in ("lists", "archives"):
            (folder / place / "partial").mkdir(parents=True)
        _run(["apt-get", "--quiet", "update", *_places(folder)], folder, say)

    return _places(cache.cached_entry("apt", f"lists-{int(time.time() // LISTS_S)}", make, say))


def _places(folder: Path) -> list[str]:
    """apt's options for lists in `folder`, where its own user may not go, that are small; a source
    that fails is an error, as it is not by itself.
    """
    options = (
        f"Dir::State::Lists={folder / 'lists'}",
        f"Dir::Cache={folder}",
        "Dir::Cache::pkgcache=",
        "Dir::Cache::srcpkgcache=",
        "Acquire::GzipIndexes=true",
        "Acquire::Languages=none",
        "APT::Sandbox::User=root",
        "APT::Update::Error-Mode=any",
    )
    return [word for option in options for word in (OPTION, option)]


def _run(command: list[str], folder: Path, say: Say | None = None) -> str:
    """What the command writes, in the C locale; `HostError` with its last lines where it fails.

    It may fail once where it fetches, which `say` is told.
    """
    quietly = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    run = partial(subprocesses.run, command, FETCH_S, folder, quietly)
    try:
        done = builds.run_twice(run, say, ABSENT) if say else run()
    except FileNotFoundError:
        hint = "Debian packages need a Debian or an Ubuntu; or name your own build by its path"
        raise HostError(f"cannot fetch: no {command[0]} on PATH", hint=hint) from None
    except subprocess.TimeoutExpired:
        hint = "are apt's mirrors (/etc/apt/sources.list.d) reachable?"
        raise HostError(f"{command[0]} ran for {FETCH_S:.0f} s", hint=hint) from None
    if done.returncode:
        raise _refusal(command, done.stderr)
    return done.stdout


def _refusal(command: list[str], said: str) -> HostError:
    """Why apt has nothing for us, by its lines of errors; its warnings are left out."""
    lines = [line.strip() for line in said.splitlines() if line[:2] != "W:"]
    cause = "\n".join(lines[-6:]) or "nothing"
    if any(words in said for words in ABSENT):
        hint = "apt-get update refreshes apt's lists (as root); do its sources have the package?"
    else:
        hint = "apt must reach its mirrors (/etc/apt/sources.list.d), and the disk have room"
    asked = " ".join(takewhile(lambda word: word != OPTION, command[3:])) or "its lists"
    what = f"{command[0]} cannot get {asked}"
    return HostError(what, cause=f"it says\n{cause}", hint=hint)
