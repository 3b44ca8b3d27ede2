"""Debug files of this system's C library: its own functions have no name without them.

A library that is stripped keeps the names that others call, and drops those that it chooses among
by the processor (`memmove` for AVX, say). Debian's package libc6-dbg has them, by build id. It is
unpacked into the cache, in the version of the installed library, and nothing is installed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from dyno import subprocesses
from dyno.builds import Say, cache, deb
from dyno.errors import HostError

LIBRARY, SYMBOLS = "libc6", "libc6-dbg"
#: What dpkg may take to tell versions.
ANSWER_S = 10.0


def find_debug_folders(say: Say, fetch: Callable[[str, str, Say], Path] = deb.fetch) -> list[Path]:
    """Return folders of debug files besides the system's own: none if the system has the C
    library's, is no Debian or Ubuntu, or its mirror has not this version (asked once a day).

    `fetch` unpacks a package of a version.
    """
    if shutil.which("dpkg-query") is None or shutil.which("apt-get") is None:
        return []
    command = ["dpkg-query", "--show", "--showformat=${Package} ${Version}\n", LIBRARY, SYMBOLS]
    try:
        told = subprocesses.run(command, ANSWER_S).stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return []
    versions = {line.partition(" ")[0]: line.partition(" ")[2] for line in told}
    if versions.get(SYMBOLS) == versions.get(LIBRARY):
        return []

    def make(folder: Path) -> None:
        try:
            fetched = fetch(SYMBOLS, versions[LIBRARY], say)
        except HostError as refused:
            say(f"functions of the C library stay without names: {refused.sentence}")
            return
        (folder / "debug").symlink_to(fetched / "usr" / "lib" / "debug")

    day = deb.count_days()
    kept = cache.ensure_entry("debug", f"{SYMBOLS}-{versions[LIBRARY]}-{day}", make, say)
    return [kept / "debug"] if (kept / "debug").is_dir() else []
