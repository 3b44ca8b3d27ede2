"""`dyno pack`: a run as one file for others, without names and secrets."""

from __future__ import annotations

from pathlib import Path

import click

from dyno.cli import judged_run
from dyno.cli.options import RUN, OutputFile, add_option
from dyno.cli.runs import find_place
from dyno.cli.terminal import screen
from dyno.errors import UsageError


@click.command("pack")
@click.argument("run", type=RUN, metavar="RUN")
@add_option("-o, --output", "The file.  [default: RUN.dyno.zip]", OutputFile(dir_okay=False))
@add_option("--hide WORD ...", "Hide this word, too; may be repeated.")
@add_option("--no-logs", "Leave the logs of engines out.")
def command(run: str, *, output: Path | None, hide: tuple[str, ...], no_logs: bool) -> None:
    """Pack a run into one file that may be sent to others, and that `dyno report FILE` judges
    anywhere.

    RUN is one of `dyno show runs`. Its file holds the records, the logs, and the report made from
    them. Passwords, this account, this host, home folders, private addresses, host groups, hosts of
    shares, and the users and hosts of servers' addresses have words in their place. Of logs, errors
    and settings only words that Dyno knows stay, others are `?`; statements have no values. Names
    of candidates, workloads, tables and columns stay: --hide hides them.

    \b
    dyno pack last
    dyno report 20261127T101500Z-insert.dyno.zip
    """
    from dyno.runs.pack.archive import PackOptions, pack_run
    from dyno.runs.pack.hidden import list_own_names

    place = find_place(run)
    if place.instrument.is_file:
        told = f"{place.name} is {place.instrument.noun}"
        raise UsageError(told, hint="its page can be sent as it is")
    asked = PackOptions(frozenset(list_own_names()), hide, logs=not no_logs)
    out = pack_run(place.path, output, asked, _derive)
    screen.print_line(f"packed: {out} ({out.stat().st_size / 1e6:.1f} MB)")


def _derive(folder: Path) -> None:
    """The page of a comparison; a count's, a disk's and a capacity's are made by who opens it."""
    from dyno.runs.run_folder import RunFolder

    if (folder / "run.json").is_file():
        judged_run.derive_files(RunFolder(folder))
