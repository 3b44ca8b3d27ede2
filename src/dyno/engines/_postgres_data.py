"""PostgreSQL's empty data folder: made once per build, copied for each trial."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dyno.builds import Build, cache, sha256
from dyno.engines import _process
from dyno.errors import HostError

#: The server's superuser and its one database.
NAME = "dyno"
#: Whoever reaches the private socket is let in; nobody comes by another way.
ACCESS = "local all all trust\n"


def lay(build: Build, checksums: bool, data: Path) -> None:
    """Puts an empty cluster into `data`, as a copy that shares its blocks where it can."""
    empty = _empty(build, checksums)
    command = ["cp", "--archive", "--reflink=auto", str(empty), str(data)]
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
        _process.completed([str(tools / "initdb"), *options], folder)
        (data / "pg_hba.conf").write_text(ACCESS)
        single = [str(build.program), "--single", "-D", str(data), "template1"]
        _process.completed(single, folder, given=f"CREATE DATABASE {NAME}\n")

    kind = "-checksums" if checksums else ""
    name = f"postgres-{build.version}-{sha256(build.program)[:12]}{kind}"
    return cache.get("data", name, make, lambda _: None) / "data"
