"""The options that two commands or more share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from dyno.cli.arguments import DURATION, LEVELS, SETTING
from dyno.errors import UsageError


class OutputFile(click.Path):
    """A file to be written at the end of a long run: its folder must be there at the start."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path."""
        path = Path(str(super().convert(value, param, ctx)))
        if not path.absolute().parent.is_dir():
            self.fail(f"there is no folder {path.parent}", param, ctx)
        self._try(path, param, ctx)
        return path

    def _try(self, path: Path, param: click.Parameter | None, ctx: click.Context | None) -> None:
        """Opens it as it will be opened: modes say too little (root, /proc, a full quota)."""
        try:
            was_there = path.exists()
            path.open("a").close()
        except OSError as error:
            self.fail(f"cannot write {path}: {(error.strerror or '').lower()}", param, ctx)
        if not was_there:
            path.resolve().unlink()  # a link that leads nowhere yet is the user's: it stays


def scripts(workloads: Sequence[str], pgbench: Path | None) -> list[str]:
    """The workloads of `--workload` and `--pgbench`; at least one must be there."""
    if pgbench is not None and pgbench.suffix == ".lua":
        raise UsageError(f"{pgbench} is Lua by its name", hint="--workload plays it")
    found = [*workloads, *([str(pgbench)] if pgbench else [])]
    if not found:
        raise click.UsageError("missing option '--workload' (or '--pgbench')")
    return found


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

SET: Decorator = click.option(
    *("--set", "settings"),
    multiple=True,
    type=SETTING,
    metavar="KEY=VALUE",
    help="An option of the workload (`dyno show W` lists them); may be repeated.",
)
CONTROL: Decorator = click.option(
    *("--control", "controls"),
    multiple=True,
    type=SETTING,
    metavar="NAME=VALUE",
    help="A control of every candidate (`dyno show controls` lists them); may be repeated.",
)
FACTOR: Decorator = click.option(
    *("--factor", "factors"),
    multiple=True,
    type=LEVELS,
    metavar="KEY=A,B",
    help="Vary KEY (a build flag, an engine setting, a control, or an option of the workload) and "
    "say what it does; may be repeated: every combination is played. The first level is the base.",
)
ONE_AT_A_TIME: Decorator = click.option(
    "--one-at-a-time", is_flag=True, help="Leave the base by one factor at a time: fewer cells."
)
PGBENCH: Decorator = click.option(
    "--pgbench",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path),
    metavar="FILE",
    help="Play a script file of pgbench; short for --workload with its path.",
)
BUDGET: Decorator = click.option(
    "--budget", type=DURATION, metavar="TIME", help="Fit the blocks to a time, e.g. 10m."
)
QUICK: Decorator = click.option(
    "--quick", is_flag=True, help="One look at 5 blocks of a shortened workload; marked QUICK."
)
BLOCKS: Decorator = click.option(
    "--blocks", type=int, metavar="MAX", help="Blocks at the last look.  [default: 24]"
)
JSON: Decorator = click.option(
    "--json",
    "json_file",
    type=OutputFile(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write a row per comparison.",
)
