"""`dyno shim`: programs called `sysbench` and `pgbench` that play by Dyno, and what their command
lines may have beside their own words: with `--compare` options of `dyno compare`, by which its
hints can be followed.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from dyno.cli.terminal import screen
from dyno.errors import UsageError

PROGRAMS = ("sysbench", "pgbench")
#: Options of `compare` that mean the same here; those with a value are marked.
TAKEN = {
    **dict.fromkeys(("--quick", "--strict", "--aa"), False),
    **dict.fromkeys(("--set", "--limit", "--control", "--blocks", "--budget", "--precision"), True),
    **dict.fromkeys(("--margin", "--seed", "--json", "--format", "--inconclusive"), True),
}


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
    ours = f"-m dyno.cli {file.name}"
    if file.exists() and ours not in file.read_text(errors="replace"):
        raise UsageError(f"{file} already exists", hint="name another folder")
    # -P: a module in the current folder is none of ours
    launch = f'exec {shlex.quote(sys.executable)} -P {ours} "$@"'
    file.write_text(f"#!/bin/sh\n{launch}\n")
    file.chmod(0o755)
    return file


def split_comparison(words: Sequence[str]) -> tuple[list[str], tuple[str, ...], list[str]]:
    """The line without `--compare`, the builds behind it, and the comparison's own options; no
    builds where the line is none.
    """
    if "--compare" not in words:
        return [*words], (), []
    at = list(words).index("--compare")
    builds = tuple(words[at + 1 : at + 3])
    if len(builds) < 2 or any(build.startswith("-") for build in builds):
        raise UsageError("--compare needs two builds", hint="--compare BASE CANDIDATE")
    line: list[str] = []
    own: list[str] = []
    rest = iter([*words[:at], *words[at + 3 :]])
    for word in rest:
        name, sign, _ = word.partition("=")
        if name not in TAKEN:
            line.append(word)
            continue
        own.append(word)
        if TAKEN[name] and not sign:
            if (value := next(rest, None)) is None:
                raise UsageError(f"{name} needs a value", hint="`dyno compare --help` shows it")
            own.append(value)
    return line, builds, own


def play_comparison(
    builds: Sequence[str], script: str, options: Mapping[str, str], own: Sequence[str]
) -> int:
    """`dyno compare` of two builds under a script with these options, and its own options."""
    from dyno.cli import compare

    said = [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
    words = [*builds, "--workload", script, *said, *own]
    code: int = compare.command.main(words, prog_name="dyno compare", standalone_mode=False)
    return code
