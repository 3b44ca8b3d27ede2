"""PostgreSQL's empty data folder: made once per build, copied for each trial."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from dyno.builds import Build, cache, sha256
from dyno.engines._server import process
from dyno.errors import HostError

#: The server's superuser and its one database.
NAME = "dyno"
#: Whoever reaches the private socket is let in; nobody comes by another way.
ACCESS = "local all all trust\n"

#: The settings that the files depend on.
FILED = ("data_checksums", "config", "default_toast_compression")
#: An empty cluster with its first log files; what rows, indexes and dead versions take for each
#: byte of data, and once more what writing them logs. Measured: both together are 4.5 after the
#: insert benchmark, 2.8 to 3.1 after five seconds of updates.
EMPTY_BYTES, GROWTH = 64 << 20, 3
UNITS = {"": 1 << 20, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def cluster_bytes(data_bytes: int, max_wal: str) -> int:
    """What a home may take; the log grows to `max_wal` at most ("8GB"; a bare number is in MB)."""
    size = re.fullmatch(r"(\d+) ?([kMGT]B|)", max_wal)
    log_bytes = int(size[1]) * UNITS[size[2]] if size else GROWTH * data_bytes
    return EMPTY_BYTES + GROWTH * data_bytes + min(log_bytes, GROWTH * data_bytes)


def lay_cluster(build: Build, checksums: bool, data: Path) -> None:
    """Puts an empty cluster into `data`, as a copy that shares its blocks where it can."""
    empty = _empty(build, checksums)
    command = ["cp", "--archive", "--reflink=auto", str(empty), str(data)]
    with cache.keep_entries([empty]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "".join(done.stderr.strip().splitlines()[-1:])
        hint = "free some room (dyno clean), or set DYNO_TMP to another file system"
        raise HostError(f"cannot copy an empty cluster to {data}", cause=last, hint=hint)


def _empty(build: Build, checksums: bool) -> Path:
    """The cluster as `initdb` leaves it, with our database: it takes a second or two."""
    tools = build.program.parent

    def make(folder: Path) -> None:
        data = folder / "data"
        options = ["--no-sync", "--encoding=UTF8", "--locale=C", "--auth=trust"]
        options += ["--username", NAME, "-D", str(data)]
        if checksums:
            options.append("--data-checksums")
        elif int(build.version.partition(".")[0]) >= 18:
            options.append("--no-data-checksums")
        process.run_tool([str(tools / "initdb"), *options], folder)
        (data / "pg_hba.conf").write_text(ACCESS)
        single = [str(build.program), "--single", "-D", str(data), "template1"]
        process.run_tool(single, folder, given=f"CREATE DATABASE {NAME}\n")

    kind = "-checksums" if checksums else ""
    name = f"postgres-{build.version}-{sha256(build.program)[:12]}{kind}"
    return cache.cached_entry("data", name, make, lambda _: None) / "data"
