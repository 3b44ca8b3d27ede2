"""Source `deb`: Debian packages, fetched by apt-get and unpacked into a folder of our own.

apt's own client is used, by package name, so that a user's mirrors and proxies apply; it holds
each package against the signed lists. Neither step needs root, and nothing is installed: no
script of a package runs, and no file of the system changes.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dyno import builds
from dyno.builds import Say, cache
from dyno.errors import HostError

#: How long apt-get may take over a handful of packages.
FETCH_S = 900.0
#: apt's words for a package or a version that is not there.
ABSENT = ("Unable to locate", "No packages found", "was not found")


def fetch(name: str, version: str, say: Say, beside: Sequence[str] = ()) -> Path:
    """The folder that package `name` at exactly `version` fills, as `/` would look.

    `beside` are more packages for the same folder, each `name` (apt's own choice of version) or
    `name=version`: plugins, libraries. `HostError` where apt cannot get one of them.
    """
    packages = [f"{name}={version}", *beside]

    def make(folder: Path) -> None:
        say(f"fetching {' '.join(packages)} (apt)")
        with tempfile.TemporaryDirectory(prefix=".fetched-", dir=folder) as scratch:
            _run(["apt-get", "--quiet", "download", *packages], Path(scratch), say)
            for archive in sorted(Path(scratch).glob("*.deb")):
                _run(["dpkg-deb", "--extract", str(archive), str(folder)], folder)

    # another choice of companions is another entry; a colon would end a word of a library path
    choice = hashlib.sha256(" ".join(beside).encode()).hexdigest()[:8]
    return cache.cached_entry("deb", f"{name}-{version.replace(':', '_')}-{choice}", make, say)


def installable_version(name: str) -> str:
    """The version of package `name` that apt would install now; nothing is fetched.

    `HostError` where there is no apt, or it knows no such package.
    """
    said = _run(["apt-cache", "show", "--no-all-versions", name], Path("/"))
    found = [line.partition(": ")[2] for line in said.splitlines() if line[:8] == "Version:"]
    if not found:
        raise HostError(f"apt has no version of {name}", hint="apt-get update refreshes its lists")
    return found[0]


def _run(command: list[str], folder: Path, say: Say | None = None) -> str:
    """What the command writes, in the C locale; `HostError` with its last lines where it fails.

    It may fail once where it fetches, which `say` is told.
    """
    run = partial(
        subprocess.run,
        command,
        cwd=folder,
        env=os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True,
        text=True,
        check=False,
        timeout=FETCH_S,
    )
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
    what = f"{command[0]} cannot get {' '.join(command[3:])}"
    return HostError(what, cause=f"it says\n{cause}", hint=hint)
