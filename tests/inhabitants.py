"""Who works in a folder: the processes of a test's server, whatever their parents are."""

from __future__ import annotations

import time
from pathlib import Path


def inhabitants(home: Path) -> dict[int, str]:
    """The processes that work in a folder, each with its command line."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(home):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(process.name)] = command.decode(errors="replace")
        except OSError:
            continue
    return found


def left_in(home: Path, patience_s: float = 0.0) -> list[str]:
    """The command lines of those who are still there after `patience_s`; none once all are gone."""
    ends_s = time.monotonic() + patience_s
    while (left := inhabitants(home)) and time.monotonic() < ends_s:
        time.sleep(0.05)
    return list(left.values())
