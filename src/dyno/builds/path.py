"""Source `path`: a program that is on this machine already. Nothing is copied or cached."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dyno import subprocesses
from dyno.builds import Say
from dyno.errors import HostError, UsageError

#: The loader alone knows which file stands for a name (LD_LIBRARY_PATH, its cache, the
#: architecture), so it loads it, in a process of its own, and the mapping is read back.
LOCATE = """
import ctypes, sys
ctypes.CDLL(sys.argv[1])
with open("/proc/self/maps") as maps:
    files = [line.split(None, 5)[5].strip() for line in maps if "/" in line]
print(next(file for file in files if file.rpartition("/")[2].startswith(sys.argv[2])))
"""


#: What loading a library may take: its constructors may do anything.
LOAD_S = 60.0


def fetch(name: str, version: str, say: Say) -> Path:
    """Return the file at the path `version`, made absolute; `UsageError` if there is none."""
    file = Path(version).expanduser().resolve()
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "does not exist"
        raise UsageError(f"no {name} at {version}: it {what}", hint="name the library's own file")
    say(f"using {name} at {version}")
    return file


def find_system_library(soname: str, package: str) -> Path:
    """The file that this machine's loader finds for `soname` ("libsqlite3.so.0").

    `package` names what to install in the hint of the `HostError`, where it finds none.
    """
    command = [sys.executable, "-I", "-S", "-c", LOCATE, soname, soname.split(".so")[0]]
    try:
        done = subprocesses.run(command, LOAD_S)
    except subprocess.TimeoutExpired:
        raise HostError(f"loading {soname} took longer than {LOAD_S:.0f} s") from None
    if done.returncode:
        cause = (done.stderr.strip().splitlines() or ["it crashed on loading"])[-1]
        hint = f"install it ({package}), or name the file by its path"
        raise HostError(f"this system has no {soname}", cause=cause.split(": ", 2)[-1], hint=hint)
    return Path(done.stdout.strip()).resolve()
