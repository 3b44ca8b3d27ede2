"""Probe `flushes`: what an engine's processes made the kernel write through in a phase.

A library that is preloaded into them (`_flushes.c`, built by the set-up) counts, in a file in the
trial's home: flushes (fsync, fdatasync, msync, sync_file_range) and writes to files that were
opened with O_DSYNC or O_SYNC. Audit `durability` holds them against commits.

No number where the process did not load it: a program that is linked statically, one under
callgrind or built with a sanitizer, a server that ran already. Flushes by io_uring do not come by
the library, so `io_rings` says how many rings the process holds.
"""

from __future__ import annotations

import struct
from pathlib import Path

from dyno.host.probes import Measure, ProbeTarget

#: What is preloaded; the set-up builds it beside this file.
LIBRARY = Path(__file__).resolve().with_name("_flushes.so")
#: The file of counts, in the folder that the engine knows as TMPDIR: `struct counts` of the
#: library, flushes and synced_writes.
FILE, COUNTS = "flushes", struct.Struct("=QQ")
RING = "anon_inode:[io_uring]"


class FlushesProbe:
    """Flushes and synced writes that reached the kernel."""

    summary = "flushes and synced writes of the engine that reached the kernel"
    is_condition = True
    measures = (
        Measure("flushes", "flushes", "lower", per_operation=False),
        Measure("synced_writes", "writes", "lower", per_operation=False),
        Measure("io_rings", "rings", "lower", counter=False, per_operation=False),
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        """Since the engine's start; empty if the library is not in its process."""
        pid, known = watched.server_pid, watched.memory
        try:
            flushes, synced_writes = COUNTS.unpack((watched.home / FILE).read_bytes())
            if pid not in known.setdefault(FILE, set()):
                if f"{LIBRARY}\n" not in Path(f"/proc/{pid}/maps").read_text(errors="replace"):
                    return {}
                known[FILE].add(pid)
            opened = list(Path(f"/proc/{pid}/fd").iterdir())
            rings = sum(_read_link(each) == RING for each in opened)
        except (OSError, struct.error):
            return {}
        return {"flushes": flushes, "synced_writes": synced_writes, "io_rings": rings}


def _read_link(opened: Path) -> str:
    try:
        return str(opened.readlink())
    except FileNotFoundError:
        return ""


PROBE = FlushesProbe()
