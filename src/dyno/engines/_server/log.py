"""What a server said before it failed: its log's tail, and what a missing library means."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from dyno.errors import DynoError, HostError, TrialFailed
from dyno.tails import last_lines

#: How much of a log an error shows.
SHOWN_LINES = 20

#: The loader's words, at the start of a program and from `ldd`.
MISSING = re.compile(r"error while loading shared libraries: (\S+):|(\S+) => not found")
#: Debian's package of a library that old servers want; a `t64` follows the name since Debian 13.
PACKAGES = {
    "libaio.so.1": "libaio1",
    "libnuma.so.1": "libnuma1",
    "libncurses.so.5": "libncurses5",
    "libtinfo.so.5": "libtinfo5",
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
    "libpcre2-8.so.0": "libpcre2-8-0",
    "libsystemd.so.0": "libsystemd0",
}


def failure_of(message: str, said: str) -> DynoError:
    """The error for a server by the last of what it said; `HostError` where it misses a library."""
    said = last_lines(said, SHOWN_LINES)
    if missing := MISSING.search(said):
        return _missing_library(message, missing[1] or missing[2])
    cause = f"its last words are\n{said}" if said else "it said nothing"
    return TrialFailed(message, cause=cause)


def check_libraries(program: Path, environment: Mapping[str, str]) -> None:
    """`HostError` where the loader does not find all that `program` is linked with."""
    command = ["ldd", str(program)]
    try:
        done = subprocess.run(
            command,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    if missing := MISSING.search(done.stdout + done.stderr):
        raise _missing_library(f"{program} cannot start", missing[1] or missing[2])


def _missing_library(message: str, library: str) -> HostError:
    package = PACKAGES.get(library)
    hint = f"install it (Debian's package {package})" if package else "install it"
    return HostError(message, cause=f"this system has no {library}", hint=hint)
