"""Archives of `pg_dump` (`-Fc`, `-Fd`, `-Ft`), which its own `pg_restore` writes as SQL."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from dyno import subprocesses
from dyno.builds import cache, own_loader
from dyno.errors import HostError, UsageError
from dyno.tails import extract_last_lines

PROGRAM = "pg_restore"
#: Where Debian's packages and others put it within a build in the cache.
_PLACES = (f"*/*/usr/lib/postgresql/*/bin/{PROGRAM}", f"*/*/bin/{PROGRAM}")
_SYSTEM = Path("/usr/lib/postgresql")
#: An archive's list of contents, and all of it: large ones take hours.
LIST_S, RESTORE_S = 60.0, 86_400.0


def write_as_sql(archive: Path, into: Path) -> None:
    """Writes an archive as SQL to `into`; `UsageError` where no `pg_restore` here can."""
    said = ""
    for program in list_programs():
        command = build_command(program)
        try:
            listed = subprocesses.run([*command, "--list", str(archive)], LIST_S)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if listed.returncode:
            said = said or extract_last_lines(listed.stderr, 1)
            continue
        done = subprocesses.run_guarded([*command, "--file", str(into), str(archive)], RESTORE_S)
        if done.returncode:
            cause = extract_last_lines(done.stderr, 1) or "it failed"
            raise UsageError(f"{archive} cannot be unpacked", cause=cause)
        return
    hint = "install PostgreSQL's client, or dump as SQL: pg_dump without --format"
    cause = said or f"there is no {PROGRAM} here"
    raise UsageError(f"pg_dump's archive {archive} cannot be read", cause=cause, hint=hint)


def list_programs() -> list[Path]:
    """Every `pg_restore` of this machine, the newest first: it reads what older ones wrote."""
    found = sorted(set(_find_programs()), key=_read_version, reverse=True)
    system = shutil.which(PROGRAM)
    return [*found, *([Path(system)] if system else [])]


def build_command(program: Path) -> list[str]:
    """What starts a program: by its own release's loader, where a build in the cache has one."""
    root = cache.find_root()
    if not program.is_relative_to(root):
        return [str(program)]
    tree = root.joinpath(*program.relative_to(root).parts[:2])
    folders = own_loader.find_library_folders(tree)
    try:
        loader = own_loader.find_loader(tree, tree)
    except HostError:  # it runs on the system's C library
        return [str(program)]
    return [str(loader), "--library-path", ":".join(map(str, folders)), str(program)]


def _find_programs() -> Iterator[Path]:
    yield from _SYSTEM.glob(f"*/bin/{PROGRAM}")
    for place in _PLACES:
        yield from cache.find_root().glob(place)


def _read_version(program: Path) -> int:
    numbers = re.findall(r"postgresql/(\d+)/", str(program))
    return int(numbers[-1]) if numbers else 0
