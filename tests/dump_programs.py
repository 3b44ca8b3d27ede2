"""The real programs that write dumps, fetched as builds are, and what they write of a server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dyno import driver
from dyno.builds.suite_tree import SuiteProgram, fetch_tree
from dyno.driver.plan import Session
from dyno.engines.postgres.client_programs import build_command, list_programs

_MARIADB = ("usr/bin/mariadb-dump", "usr/bin/mariadb")
_CLIENTS = ("mariadb-client", "mariadb-client-core")
PROGRAMS = {
    "mysqldump": SuiteProgram("sid", ("mysql-client-core",), ("usr/bin/mysqldump",)),
    "mariadb-dump-10.11": SuiteProgram("bookworm", _CLIENTS, _MARIADB),
    "mariadb-dump-11.8": SuiteProgram("trixie", _CLIENTS, _MARIADB),
    "mydumper": SuiteProgram("bookworm", ("mydumper",), ("usr/bin/mydumper",)),
}
#: What a dump says of its time, its program and its objects' accounts, and keys that are random.
_PASSING = re.compile(
    rb"^(?:-- .*|/\*!50003 SET time_zone .*|\\(?:un)?restrict .*|)\n"
    rb"|\bDEFINER ?= ?`[^`]*`@`[^`]*` ?| AUTO_INCREMENT=\d+",
    re.MULTILINE,
)


def find_command(name: str) -> list[str]:
    """What starts the program, fetched where it is not here: `mysqldump`, or `pg_dump-18`."""
    if name.startswith("pg_"):
        word, _, version = name.partition("-")
        found = [it for it in list_programs(word) if f"/{version}/" in str(it)]
        return build_command(found[0])
    wanted = PROGRAMS[name]
    return [str(fetch_tree(wanted, "", lambda _: None).folder / wanted.programs[0])]


def dump(
    name: str, session: Session, options: Sequence[str] = (), into: Path | None = None
) -> bytes:
    """What the program writes of the session's database, by itself or into a folder."""
    command, environment = find_command(name), dict(os.environ)
    if session["kind"] == "postgres":
        socket = Path(session["host"])
        command += ["-h", str(socket.parent), "-p", socket.suffix[1:]]
        command += ["-U", session["user"], *options]
        command += [] if "pg_dumpall" in name else [session["database"]]
    else:
        environment["MYSQL_PWD"] = session["password"] or ""
        word = f"--user={session['user']}"
        command += [word, f"--socket={session['host']}", *options]
        command += ["--skip-ssl"] if name.startswith("mariadb") else []
        if name == "mydumper":
            command += [f"--password={session['password']}", f"--database={session['database']}"]
            command += [f"--outputdir={into}"]
        elif not any(it.startswith(("--databases", "--all-databases")) for it in options):
            command += [session["database"]]
    done = subprocess.run(command, capture_output=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def without_passing(text: bytes) -> list[bytes]:
    """A dump's lines without what differs between two of the same content."""
    return [line.rstrip() for line in _PASSING.sub(b"", text).splitlines()]


def empty(session: Session) -> None:
    """Drops the session's database with all that it holds, and makes it anew."""
    is_postgres = session["kind"] == "postgres"
    system = {**session, "database": "template1" if is_postgres else "mysql"}
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'dyno'"
    first = [ended] if is_postgres else []
    driver.ask(system, [*first, "DROP DATABASE dyno", "CREATE DATABASE dyno"], 60)


def remove(folder: Path) -> Path:
    """A path where nothing is."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder
