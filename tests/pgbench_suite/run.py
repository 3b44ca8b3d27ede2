"""PostgreSQL's own tests of pgbench, played through `dyno pgbench`: what passes, per file.

    .venv/bin/python tests/pgbench_suite/run.py FOLDER [--program PATH] [--said]

FOLDER is `src/bin/pgbench/t` of PostgreSQL's sources, which do not come along. Their files are
played by Perl as they are; PostgreSQL/Test/ here stands in for the modules that they use.
`--program` plays another program, such as the real pgbench.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
sys.path.insert(0, str(PACKAGE.parent))

from private_servers import started  # noqa: E402

from dyno import driver  # noqa: E402

#: No test of theirs takes longer.
LIMIT_S = 60
RESULT = re.compile(r"^(not )?ok \d+ - (.*?)( # TODO.*)?$")


def launcher(folder: Path, program: str | None) -> Path:
    """A folder for the path with a program `pgbench`."""
    place = folder / "bin"
    place.mkdir()
    dyno = Path(sys.executable).with_name("dyno")
    line = program or f"{dyno} pgbench"
    script = place / "pgbench"
    script.write_text(f'#!/bin/sh\nexec {line} "$@"\n')
    script.chmod(0o755)
    return place


def played(file: Path, environment: dict[str, str]) -> tuple[list[str], list[str], str]:
    """The tests of a file that passed and that failed, and all that was said."""
    done = subprocess.run(
        ["perl", "-I", str(PACKAGE), str(file)],
        env=environment,
        cwd=environment["SUITE_FOLDER"],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    good: list[str] = []
    bad: list[str] = []
    for line in done.stdout.splitlines():
        if (found := RESULT.match(line)) and not found[3]:
            (bad if found[1] else good).append(found[2])
    return good, bad, done.stdout + done.stderr


def main() -> None:
    """Plays all files against one server, and prints the table."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("folder", type=Path)
    words.add_argument("--program")
    words.add_argument("--only", default="", help="files whose name has this")
    words.add_argument("--said", action="store_true", help="print all that the tests say")
    asked = words.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name, started("postgres@18") as server:
        folder = Path(name)
        folder.chmod(0o755)
        socket = Path(str(server.session["host"]))
        driver.ask(server.session, ["CREATE DATABASE postgres"])
        environment = os.environ | {
            "PATH": f"{launcher(folder, asked.program)}:{os.environ['PATH']}",
            "PGHOST": str(socket.parent),
            "PGPORT": socket.name.rpartition(".")[2],
            "PGUSER": str(server.session["user"]),
            "PGDATABASE": "postgres",
            "SUITE_FOLDER": str(folder),
            "SUITE_LIMIT_S": str(LIMIT_S),
            "SUITE_LOG": str(server.log),
            "SUITE_CONFIGURATION": str(server.home / "dyno.conf"),
            "SUITE_SERVER_USER": str((server.home / "data").stat().st_uid),
        }
        for file in sorted(it for it in asked.folder.glob("*.pl") if asked.only in it.name):
            good, bad, said = played(file, environment)
            if asked.said:
                sys.stdout.write(said)
            sys.stdout.write(f"| `{file.name}` | {len(good)} of {len(good) + len(bad)} |\n")
            for each in bad:
                sys.stdout.write(f"    {each}\n")


if __name__ == "__main__":
    main()
