"""Control `allocator`: whose malloc the engine's process uses.

It is loaded before the C library's (LD_PRELOAD), and the process is looked at once it runs. A
server that carries an allocator inside its own program goes on using that one, which the look at
what is loaded cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from dyno.host.controls import KEEP, ControlResult, OneProcess, try_command

#: The libraries that carry each, the preferred first, and Debian's package of it.
LIBRARIES = {
    "jemalloc": (("libjemalloc.so.2", "libjemalloc.so.1"), "libjemalloc2"),
    "tcmalloc": (("libtcmalloc_minimal.so.4", "libtcmalloc.so.4"), "libtcmalloc-minimal4"),
}
FOLDERS = ("/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib64", "/lib")


class Allocator(OneProcess):
    """malloc of the engine's process: the C library's, or another."""

    name = "allocator"
    summary = "gives the engine's process another malloc"
    values: ClassVar[dict[str, str]] = {
        KEEP: "what the engine was built or installed with",
        "jemalloc": "jemalloc, as it is installed here",
        "tcmalloc": "tcmalloc of gperftools, as it is installed here",
    }

    def __init__(self, folders: Sequence[str] = FOLDERS) -> None:
        self.folders = folders

    def describe_default(self) -> str:
        """What we add nothing to."""
        return "the engine's own"

    def find_reason(self, value: str) -> str:
        _, package = LIBRARIES[value]
        return (
            ""
            if find_library(value, self.folders)
            else f"no {value} is installed (package {package})"
        )

    def start(self, value: str, found: dict[str, str]) -> ControlResult:
        library = find_library(value, self.folders)
        loaded = partial(_check_loaded, library)
        return ControlResult(
            found | {"library": library}, (), {"LD_PRELOAD": library}, started=loaded
        )


def find_library(value: str, folders: Sequence[str] = FOLDERS) -> str:
    """The path of the allocator's library; empty where neither the loader nor `folders` have it."""
    names, _ = LIBRARIES[value]
    known = dict(_list_libraries())
    for name in names:
        places = (known.get(name, ""), *(f"{folder}/{name}" for folder in folders))
        if found := next((place for place in places if place and Path(place).is_file()), ""):
            return found
    return ""


def _list_libraries() -> Iterator[tuple[str, str]]:
    """The loader's own list (ldconfig(8), which an ordinary user may not have on the path)."""
    said = try_command(["ldconfig", "-p"])[1] or try_command(["/sbin/ldconfig", "-p"])[1]
    for line in reversed(said.splitlines()):
        name, arrow, path = line.partition(" => ")
        if arrow:
            yield name.split()[0], path.strip()


def _check_loaded(library: str, pid: int) -> dict[str, str]:
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError as error:
        return {"in_process": f"unknown ({error.strerror})"}
    if str(Path(library).resolve()) in maps:
        return {"in_process": "loaded"}
    return {"refused": f"the loader did not take {library}"}


CONTROL = Allocator()
