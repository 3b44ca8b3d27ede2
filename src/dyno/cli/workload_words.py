"""What is played, by a command's words: `--workload`, `--sql`, `--set` and those short for it,
`--log`; as scripts with their options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dyno.cli.options import Decorator, add_option
from dyno.cli.replay_words import choose_log
from dyno.cli.setup_words import prepare_setup_beside
from dyno.cli.short_words import gather_settings
from dyno.errors import UsageError

SQL: Decorator = add_option(
    "--sql FILE",
    "Play a file of SQL statements, with weights and parameters in its comments "
    "(`-- weight: 3`, `-- :id = 1..100000`).",
)


def choose_scripts(words: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The workloads that the words name, and their options, `--set` among them; an SQL file that
    makes their tables is made ready for the candidates.
    """
    workloads = [words["workload"]] if words.get("workload") else [*words.get("workloads", ())]
    for name in workloads if "marked" not in dict(words["settings"]) else ():
        _check_ending(name)
    if log := choose_log(words):
        if workloads or words["sql"]:
            hint = "play one; pgbench's --log is the trial's record here"
            raise UsageError("--log and a script cannot be combined", hint=hint)
        return [log[0]], log[1]
    options = gather_settings(words)
    if words["sql"]:
        workloads = [find_sql_file(words["sql"], workloads)]
        options = {"marked": "on"} | options
    if not workloads:
        raise click.UsageError("missing option '--workload' (or '--sql', '--log')")
    if setup := options.get("setup"):
        options |= prepare_setup_beside(setup, workloads[0], words["candidates"])
    return workloads, options


def _check_ending(name: str) -> None:
    """`UsageError` for a file that is no script by its name: any text can be read as SQL."""
    path = Path(name)
    if path.is_file() and path.suffix not in (".lua", ".sql", ".pgbench", ""):
        hint = "scripts end in .lua, .sql or .pgbench; --set marked=off plays it as pgbench would"
        raise UsageError(f"{name} is not a workload", hint=hint)


def find_sql_file(name: str, others: Sequence[object]) -> str:
    """The path of a file of SQL statements; `UsageError` beside another script, or without it."""
    if others:
        hint = "compare them one after the other; weights mix statements within a file"
        raise UsageError("--sql and another script cannot be combined", hint=hint)
    if not Path(name).is_file():
        raise UsageError(
            f"no SQL file at '{name}'",
            hint="--sql FILE; docs/guides/yours/sql.md says how it is written",
        )
    return str(Path(name).resolve())


def choose_workload(words: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The one workload of `--workload` or `--sql`, and the options that the latter has."""
    named: str | None = words["workload"]
    if words["sql"]:
        return find_sql_file(words["sql"], [named] if named else []), {"marked": "on"}
    if not named:
        raise click.UsageError("missing option '--workload' (or '--sql')")
    return named, {}
