"""Where the parts of a server of MySQL's family lie, whoever packed it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dyno.engines import _words
from dyno.errors import UsageError

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

VERSION = re.compile(r"Ver (\d+\.\d+\.\d+)((?:-[\w.+~]+)*)")
#: What `--version` may take.
ANSWER_S = 60.0


@dataclass(frozen=True)
class Prefix:
    """A server's program and all that it needs beside it."""

    program: Path
    base: Path
    share: Path
    plugins: Path
    libraries: tuple[Path, ...]

    def arguments(self) -> list[str]:
        """What the server must be told of its own place."""
        return [
            f"--basedir={self.base}",
            f"--lc-messages-dir={self.share}",
            f"--character-sets-dir={self.share / 'charsets'}",
            f"--plugin-dir={self.plugins}",
        ]

    def environment(self) -> dict[str, str]:
        """Where the loader finds libraries that came with the server."""
        path = os.pathsep.join(str(folder) for folder in self.libraries)
        return {"LD_LIBRARY_PATH": path} if path else {}

    def plugin(self, storage: str) -> Path:
        """The file that brings the storage engine `storage`, where it is no part of the server."""
        return self.plugins / f"ha_{storage.lower()}.so"

    def storages(self) -> list[str]:
        """The storage engines that could be loaded so."""
        return [file.stem.removeprefix("ha_") for file in self.plugins.glob("ha_*.so")]


def program_in(place: Path) -> Path:
    """The server's program in a folder (or the file itself); `UsageError` where there is none."""
    if place.is_file():
        return place.resolve()
    found = (place / name for name in PROGRAMS if (place / name).is_file())
    if program := next(found, None):
        return program.resolve()
    why = "it is empty of servers" if place.is_dir() else "it does not exist"
    hint = "name the folder that holds bin/mysqld or sbin/mariadbd, or the program itself"
    raise UsageError(f"no server in {place}", cause=why, hint=hint)


def installed() -> Path:
    """The system's own server; `UsageError` where it has none."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/libexec"))
    found = shutil.which("mysqld", path=path) or shutil.which("mariadbd", path=path)
    if not found:
        hint = "install one, or name a version or a folder"
        raise UsageError("this system has no mysqld and no mariadbd", hint=hint)
    return Path(found).resolve()


def of(program: Path) -> Prefix:
    """The parts that go with a program; `UsageError` where its messages are nowhere."""
    above = program.parent
    base = above.parent if above.name in OF_PROGRAMS else above
    shares = (base / share for share in SHARES)
    share = next((it for it in shares if (it / "english" / "errmsg.sys").is_file()), None)
    if share is None:
        hint = "name the folder of a whole installation (bin/ beside share/)"
        raise UsageError(f"{program} lacks its share/english/errmsg.sys", hint=hint)
    plugins = next((base / p for p in PLUGINS if (base / p).is_dir()), base / PLUGINS[0])
    own = (base / folder for folder in LIBRARIES if base != Path("/usr"))
    libraries = tuple(folder for folder in own if any(folder.glob("lib*.so*")))
    return Prefix(program, base, share, plugins, libraries)


def version(prefix: Prefix) -> tuple[str, tuple[str, ...]]:
    """The version as the program itself tells it, and the words behind it: `MariaDB`, `debug`.

    `HostError` where the system lacks a library of it, `UsageError` where it is no such server.
    """
    _words.check_libraries(prefix.program, prefix.environment())
    command = [str(prefix.program), "--no-defaults", "--version"]
    environment = {"PATH": os.defpath, "LC_ALL": "C", **prefix.environment()}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=ANSWER_S, check=False
        )
        said = done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired) as refused:
        said = str(refused)
    found = VERSION.search(said)
    if not found:
        last = (said.strip().splitlines() or ["it says nothing"])[-1]
        raise UsageError(f"{prefix.program} is no server of MySQL's family", cause=last)
    return found[1], tuple(found[2].split("-")[1:])
