"""Programs of PostgreSQL's client (`pg_dump`, `pg_restore`) on this machine: of builds in the
cache, which Debian's packages have, and the system's own.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from dyno.builds import cache, suite_tree
from dyno.errors import HostError

#: Where Debian's packages and others put programs within a build in the cache.
_PLACES = ("*/*/usr/lib/postgresql/*/bin/", "*/*/bin/")
_SYSTEM = Path("/usr/lib/postgresql")


def list_programs(name: str) -> list[Path]:
    """Every program of PostgreSQL's client by this name on this machine, the newest first: it reads
    what older ones wrote.
    """
    fetched = (file for place in _PLACES for file in cache.find_root().glob(f"{place}{name}"))
    found = {*_SYSTEM.glob(f"*/bin/{name}"), *fetched}
    newest_first = sorted(found, key=read_release, reverse=True)
    system = shutil.which(name)
    return [*newest_first, *([Path(system)] if system else [])]


def build_command(program: Path) -> list[str]:
    """What starts a program: by its own release's loader, where a build in the cache has one."""
    root = cache.find_root()
    if not program.is_relative_to(root):
        return [str(program)]
    tree = root.joinpath(*program.relative_to(root).parts[:2])
    folders = suite_tree.find_library_folders(tree)
    try:
        loader = suite_tree.find_loader(tree, tree)
    except HostError:  # it runs on the system's C library
        return [str(program)]
    return [str(loader), "--library-path", ":".join(map(str, folders)), str(program)]


def read_release(program: Path) -> int:
    """Return a program's release by where it lies; 0 where that does not say."""
    numbers = re.findall(r"postgresql/(\d+)/", str(program))
    return int(numbers[-1]) if numbers else 0
