"""Shared libraries that a server is linked with and this system lacks, fetched for it alone; and
the error that its last words mean (those known: `start.toml` of builds from source).

Servers packed years ago, or for another distribution, want libraries that few machines still have.
Debian's packages of them are unpacked into the cache, and only the server's loader is told of them:
nothing is installed, and no other program sees them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dyno.builds import Say, deb
from dyno.builds.loader import MISSING, list_missing_libraries
from dyno.builds.source.diagnosis import diagnose_start
from dyno.errors import DynoError, HostError, TrialFailed
from dyno.tails import extract_last_lines

#: Debian's package of a library that old servers want; a `t64` follows the name since Debian 13.
PACKAGES = {
    "libaio.so.1": "libaio1",
    "libnuma.so.1": "libnuma1",
    "libncurses.so.5": "libncurses5",
    "libncurses.so.6": "libncurses6",
    "libtinfo.so.5": "libtinfo5",
    "libtinfo.so.6": "libtinfo6",
    "liburing.so.2": "liburing2",
    "libjemalloc.so.1": "libjemalloc1",
    "libjemalloc.so.2": "libjemalloc2",
    "libssl.so.1.1": "libssl1.1",
    "libcrypto.so.1.1": "libssl1.1",
    "libssl.so.3": "libssl3",
    "libcrypto.so.3": "libssl3",
    "libcrypt.so.1": "libcrypt1",
    "libsnappy.so.1": "libsnappy1v5",
    "liblz4.so.1": "liblz4-1",
    "liblzma.so.5": "liblzma5",
    "libzstd.so.1": "libzstd1",
    "libxml2.so.2": "libxml2",
    "libpcre.so.3": "libpcre3",
    "libpcre2-8.so.0": "libpcre2-8-0",
    "libreadline.so.8": "libreadline8",
    "libsystemd.so.0": "libsystemd0",
}


def fetch(program: Path, own: Sequence[Path], say: Say) -> tuple[Path, ...]:
    """The folders, in the cache, of all libraries that the loader does not find for `program`.

    `own` are folders that came with it. A library that was fetched may want others, so the loader
    is asked again until it has all. `HostError` where a library cannot be had.
    """
    folders: list[Path] = []
    while lacks := list_missing_libraries(program, build_environment([*own, *folders])):
        fresh = {_fetch_library(program, soname, say) for soname in lacks} - {*folders}
        if not fresh:
            raise build_lacking_error(f"{program} cannot start", lacks[0])
        folders += sorted(fresh)
    return tuple(folders)


def build_environment(folders: Sequence[Path]) -> dict[str, str]:
    """What the loader must be told to look into `folders` first; nothing where there are none."""
    path = os.pathsep.join(map(str, folders))
    return {"LD_LIBRARY_PATH": path} if path else {}


def list_facts(folders: Sequence[Path]) -> dict[str, str]:
    """What a record of the build tells of them: libraries and versions, where any were fetched."""
    return {"libraries": ", ".join(folder.name for folder in folders)} if folders else {}


def build_lacking_error(message: str, soname: str) -> HostError:
    """The error for a program that lacks a library, with the package that would bring it."""
    package = PACKAGES.get(soname)
    hint = f"install it (Debian's package {package})" if package else "install it"
    known = diagnose_start(f"{soname}: cannot open shared object file")
    if known and known.entry:
        hint += f"; {known.entry.cause}: {known.entry.remedy}"
    return HostError(message, cause=f"this system has no {soname}", hint=hint)


def _fetch_library(program: Path, soname: str, say: Say) -> Path:
    refused = build_lacking_error(f"{program} cannot start", soname)
    if soname not in PACKAGES:
        raise refused
    try:
        return deb.fetch_library(PACKAGES[soname], soname, say)
    except HostError as why:
        # what the user can do is the same whatever apt's trouble is
        raise refused from why


#: How much of a log an error shows.
SHOWN_LINES = 20


def diagnose_failure(message: str, output: str) -> DynoError:
    """The error for a server by the last of what it said, with its cause and remedy where these are
    known; `HostError` where it misses a library.
    """
    output = extract_last_lines(output, SHOWN_LINES)
    if missing := MISSING.search(output):
        return build_lacking_error(message, missing[1] or missing[2])
    words = f"its last words are\n{output}" if output else "it printed nothing"
    if (found := diagnose_start(output)) and found.entry:
        return TrialFailed(message, cause=f"{found.entry.cause}; {words}", hint=found.entry.remedy)
    return TrialFailed(message, cause=words)
