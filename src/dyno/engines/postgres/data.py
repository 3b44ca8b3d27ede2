"""PostgreSQL's empty data folder: made once per build, copied for each trial."""

from __future__ import annotations

from pathlib import Path

from dyno import numbers
from dyno.builds import Build, cache, sha256
from dyno.engines._server import libraries, process

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


def cluster_bytes(data_bytes: int, max_wal: str) -> int:
    """What a home may take; the log grows to `max_wal` at most ("8GB"; a bare number is in MB)."""
    log_bytes = numbers.size_bytes(max_wal, bare_bytes=1 << 20)
    most_bytes = GROWTH * data_bytes
    return EMPTY_BYTES + most_bytes + min(int(log_bytes or most_bytes), most_bytes)


def lay_cluster(build: Build, checksums: bool, data: Path) -> None:
    """Puts an empty cluster into `data`, as a copy that shares its blocks where it can."""
    empty = _empty(build, checksums)
    with cache.keep_entries([empty]):
        cache.copy(empty, data)


def _empty(build: Build, checksums: bool) -> Path:
    """The cluster as `initdb` leaves it, with our database: it takes a second or two."""
    tools, more = build.program.parent, libraries.environment(build.libraries)

    def make(folder: Path) -> None:
        data = folder / "data"
        options = ["--no-sync", "--encoding=UTF8", "--locale=C", "--auth=trust"]
        options += ["--username", NAME, "-D", str(data)]
        if checksums:
            options.append("--data-checksums")
        elif int(build.version.partition(".")[0]) >= 18:
            options.append("--no-data-checksums")
        process.run_tool([str(tools / "initdb"), *options], folder, more=more)
        (data / "pg_hba.conf").write_text(ACCESS)
        single = [str(build.program), "--single", "-D", str(data), "template1"]
        process.run_tool(single, folder, f"CREATE DATABASE {NAME}\n", more)

    kind = "-checksums" if checksums else ""
    name = f"postgres-{build.version}-{sha256(build.program)[:12]}{kind}"
    return cache.cached_entry("data", name, make, lambda _: None) / "data"
