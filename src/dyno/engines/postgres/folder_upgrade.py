"""A data folder of an older release, upgraded by the `pg_upgrade` of a newer one.

It wants what our clusters lack (the database template0), and is let in as the server's own user,
which these two clusters allow in their private folder, and the one that stays no longer than that.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from dyno.access import account
from dyno.builds import Build
from dyno.engines._dumps import build_command
from dyno.engines._server import libraries, process
from dyno.engines.postgres.settle import ACCESS, NAME, list_init_options
from dyno.errors import DynoError, TrialFailed

TEMPLATE0 = (
    "CREATE DATABASE template0 TEMPLATE template1",
    "UPDATE pg_database SET datistemplate = true, datallowconn = false WHERE datname = 'template0'",
)
#: Programs that it calls, beside those that have their own loader.
TOOLS = (
    *("pg_controldata", "pg_ctl", "pg_dump", "pg_dumpall", "pg_resetwal", "pg_restore", "psql"),
    "vacuumdb",
)
LOADED = ("initdb", "postgres")
#: What it may take: it copies every table.
UPGRADE_S = 86_400.0
#: What its words have of steps that went well.
_STEP = re.compile(r"(?:.*\bok|-+|Performing .*|its last words are|Failure, exiting|)\s*")
#: Letters of a file that it names.
REPORTED = 2000


def upgrade_cluster(old: Build, new: Build, home: Path, checksums: bool | None) -> str:
    """Upgrades the cluster in `home/data`, which `old` left; answers what the program said.

    `TrialFailed` with its words, and those of the files in which it lists what is in its way.
    """
    data, before = home / "data", home / "old"
    data.rename(before)
    more = libraries.build_environment((*new.libraries, *old.libraries))
    single = [str(old.program), "--single", "-D", str(before), "template1"]
    process.run_tool(single, home, "".join(f"{each}\n" for each in TEMPLATE0), more)
    initdb = str(new.program.with_name("initdb"))
    options = list_init_options(new, checksums, data)
    process.run_tool([initdb, *options], home, more=more)
    for cluster in (before, data):
        (cluster / "pg_hba.conf").write_text(ACCESS)
        user = account.find_server_account().name
        (cluster / "pg_ident.conf").write_text(f'dyno "{user}" {NAME}\n')
    bins = [_find_tools(each, home / name) for each, name in ((old, "of_old"), (new, "of_new"))]
    words = [*build_command(new.program.with_name("pg_upgrade")), "--username", NAME]
    words += ["--socketdir", str(home), "-b", str(bins[0]), "-B", str(bins[1])]
    words += ["-d", str(before), "-D", str(data)]
    said = [_run([*words, *step], home, more) for step in (["--check"], [])][-1]
    for folder in {before, *bins} - {old.program.parent, new.program.parent}:
        shutil.rmtree(folder)
    return said


def _run(words: Sequence[str], home: Path, more: dict[str, str]) -> str:
    try:
        said = process.run_tool(words, home, more=more, limit_s=UPGRADE_S)
    except TrialFailed as failed:
        files = sorted((home / "data" / "pg_upgrade_output.d").rglob("*.txt"))
        files += sorted(home.glob("*.txt"))  # up to 14
        told = [failed.cause, *(it.read_text(errors="replace")[:REPORTED] for it in files)]
        cause = "\n".join(told).replace(f"{home}/", "")
        first = next((it for it in cause.splitlines() if not _STEP.fullmatch(it)), "it fails")
        message = f"pg_upgrade: {' '.join(first.split())}"
        raise TrialFailed(message, cause=cause, hint=failed.hint) from None
    return said.replace(f"{home}/", "")


def _find_tools(build: Build, folder: Path) -> Path:
    """Where a build's programs start: its own folder, or `folder`, in which each is started by its
    release's loader under the name beside which it looks for others.
    """
    own = build.program.parent
    loader = build_command(own / "pg_ctl")[:-1]
    if not loader or _can_start(own / "pg_ctl"):
        return own
    folder.mkdir()
    for name in (*TOOLS, *LOADED):
        started = [str(own / name)]
        if name in TOOLS:
            started = [loader[0], "--argv0", str(folder / name), *loader[1:], *started]
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(started)} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def _can_start(program: Path) -> bool:
    """Does it find its libraries in this system?"""
    try:
        process.ask_program([str(program), "--version"])
    except DynoError:
        return False
    return True
