"""Source `deb`: Debian packages, fetched by apt-get and unpacked into a folder of our own.

apt's own client is used, by package name, so that a user's mirrors and proxies apply; it holds
each package against the signed lists. Neither step needs root, and nothing is installed: no
script of a package runs, and no file of the system changes. Where the system has no lists (images
of containers come without), apt gets lists of our own, by the system's sources and keys. Here
stand packages of the system's own suite; `suites` reads any other.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from dyno.builds import Say, apt, cache
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
    """The folder that package `name` at exactly `version` fills, as `/` would look.

    `beside` are more packages for the same folder, each `name` (apt's own choice of version) or
    `name=version`: plugins, libraries. `HostError` where apt cannot get one of them.
    """
    packages = [f"{name}={version}", *beside]

    def make(folder: Path) -> None:
        say(f"fetching {' '.join(packages)} (apt)")
        with tempfile.TemporaryDirectory(prefix=".fetched-", dir=folder) as scratch:
            download = ["apt-get", "--quiet", "download", *packages]
            try:
                apt.run([*download, *_choose_lists(say)], Path(scratch), say)
            except apt.UnlikeLists:
                if not drop_lists("lists-"):
                    raise
                apt.run([*download, *_choose_lists(say)], Path(scratch), say)
            for archive in sorted(Path(scratch).glob("*.deb")):
                unpack(archive, folder)

    # another choice of companions is another entry; a colon would end a word of a library path
    choice = hashlib.sha256(" ".join(beside).encode()).hexdigest()[:8]
    return cache.ensure_entry("deb", f"{name}-{version.replace(':', '_')}-{choice}", make, say)


def unpack(archive: Path, folder: Path) -> None:
    """Puts a package's files into a folder; `HostError` where it cannot, and an archive that is
    none goes, to be fetched anew.
    """
    try:
        apt.run(["dpkg-deb", "--extract", str(archive), str(folder)], folder)
    except HostError as refused:
        if apt.FULL in refused.cause:
            raise
        archive.unlink()
        hint = "start again: it is fetched anew; if it stays, use another mirror"
        raise HostError(f"{archive.name} is damaged", cause=refused.cause, hint=hint) from None


def fetch_library(package: str, soname: str, say: Say) -> Path:
    """A folder with the shared library `soname`, and others of its `package`, and nothing else.

    `HostError` where apt has no such package, or it holds no such library.
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
    """The version of package `name` that apt would install now; nothing of it is fetched.

    apt takes a second to answer: an answer is kept for as long as what it is read from stays as it
    is. `HostError` where there is no apt, or it knows no such package.
    """
    show = ["apt-cache", "show", "--no-all-versions", name, *_choose_lists(say)]

    def make(folder: Path) -> None:
        said = apt.run(show, Path("/"))
        found = [line.partition(": ")[2] for line in said.splitlines() if line[:8] == "Version:"]
        if not found:
            hint = "apt-get update refreshes its lists"
            raise HostError(f"apt has no version of {name}", hint=hint)
        (folder / "version").write_text(found[0])

    state = hashlib.sha256(repr([show, *_observe_apt()]).encode()).hexdigest()[:16]
    kept = cache.ensure_entry("apt-version", f"{name}-{state}", make, say)
    return (kept / "version").read_text()


def _observe_apt() -> Iterator[tuple[str, int]]:
    """Each file that an answer of `apt-cache` depends on, and when it was written."""
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
    said = apt.run([*command, *_choose_lists(say)], Path("/"))
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
    """What apt must be told to find lists of packages: nothing where the system has its own."""
    if shutil.which("apt-get") is None or any(LISTS.glob("*_Packages*")):
        return []

    def make(folder: Path) -> None:
        say("fetching lists of packages (apt)")
        drop_lists("lists-")
        apt.make_list_folders(folder)
        update = ["apt-get", "--quiet", "update", *apt.format_options(apt.list_settings(folder))]
        apt.run(update, folder, say)

    lists = cache.ensure_entry("apt", f"lists-{count_days()}", make, say)
    return apt.format_options(apt.list_settings(lists))


def count_days() -> int:
    """The day by which lists of our own are named."""
    return int(time.time() // LISTS_S)


def drop_lists(beginning: str) -> bool:
    """Removes lists of our own whose names begin so: those of the days before, or that the mirror
    has outrun. Were there any?
    """
    found = [entry for entry in cache.find_entries("apt") if entry.name.startswith(beginning)]
    removed = [cache.remove(entry) for entry in found]
    return any(removed)
