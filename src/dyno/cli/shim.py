"""`dyno shim`: programs called `sysbench` and `pgbench` that play by Dyno."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from dyno.cli.terminal import screen
from dyno.errors import UsageError

PROGRAMS = ("sysbench", "pgbench")


@click.command("shim")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
def command(folder: Path) -> None:
    """Write launchers called sysbench and pgbench into DIR that run `dyno`.

    \b
    dyno shim ~/shim
    PATH=~/shim:$PATH sysbench oltp_read_only --mysql-db=shop run
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in PROGRAMS:
            screen.print_line(str(write_launcher(folder / name)))
    except OSError as error:
        hint = "name a folder that you may write to"
        cause = (error.strerror or "").lower()
        raise UsageError(f"cannot write launchers into {folder}", cause=cause, hint=hint) from None


def write_launcher(file: Path) -> Path:
    """A program that hands its words to `dyno`'s command of the same name."""
    ours = f"-m dyno.cli {file.name}"
    if file.exists() and ours not in file.read_text(errors="replace"):
        raise UsageError(f"{file} already exists", hint="name another folder")
    # -P: a module in the folder where somebody calls it is none of ours
    launch = f'exec {shlex.quote(sys.executable)} -P {ours} "$@"'
    file.write_text(f"#!/bin/sh\n{launch}\n")
    file.chmod(0o755)
    return file
