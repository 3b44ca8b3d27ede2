"""The words of pgbench's command line that `play` and `compare` take, as a workload with options.

`-f a.sql@3 -b select-only -c 4 -T 5` is one workload that draws its transactions from both scripts.
What has no counterpart is answered with what does it (`ANSWERS`); `dyno pgbench` takes all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from dyno.cli.headings import HeadedOption
from dyno.cli.replay_words import choose_log
from dyno.cli.setup_words import prepare_setup_beside
from dyno.cli.short_words import gather_settings
from dyno.compat.pgbench.scripts import BUILTINS, find_builtin, find_builtin_file, parse_weight
from dyno.errors import UsageError
from dyno.workloads import find_mark

#: What is not taken, and what does it here.
ANSWERS = {
    "-h --host -p --port -U --username": "the server is named by its URL: "
    "ENGINE://USER@HOST:PORT/DATABASE, with %2Ftmp for a socket's folder /tmp",
    "-i --initialize -I --init-steps -q --quiet -v --vacuum-all": "tables of pgbench's own that a "
    "script names are made, filled and vacuumed anew before each trial; -s is their scale",
    "-F --fillfactor --foreign-keys --partitions --partition-method --unlogged-tables --tablespace "
    "--index-tablespace": "--set setup=FILE makes the tables by your own SQL",
    "-P --progress --progress-timestamp": "`dyno play` shows every second by itself",
    "-r --report-per-command": "the table has a row per script of a mix; a command by itself is "
    "timed by the server (pg_stat_statements)",
    "-l --log --log-prefix --sampling-rate --aggregate-interval": "the trial's record has its "
    "seconds and histograms: `dyno compare`, then `dyno report`",
    "-L --latency-limit": "the table has percentiles, from the intended time on",
    "-C --connect": "connections are kept for a trial; a Lua script may connect in its event",
    "--max-tries": "deadlocks and serialisation failures begin anew inside their latency",
    "--failures-detailed --verbose-errors": "errors are counted by code, always",
    "--random-seed": "--set rand_seed=N",
    "--show-script": "`dyno show pgbench_select_only` names the file of such a script",
    "-d --debug": "statements stand in the server's log where it is told to (log_statement)",
}


#: What an experiment's file says, and `run` therefore does not take.
OF_EXPERIMENTS = {
    **dict.fromkeys(
        ("--log", "--data"), "the file names its workloads; `dyno compare` takes --log"
    ),
    **dict.fromkeys(("--workload", "-w", "--sql"), "the file names its workloads: [[workload]]"),
    "--aa": "aa = true in the file",
    "--margin": "margin_percent = … in the file",
    "--seed": "seed = … in the file",
    "--factor": "[[factor]] in the file",
}
#: What one play has no blocks for.
OF_COMPARISONS = dict.fromkeys(
    ("--limit", "--blocks", "--budget", "--margin", "--precision", "--quick", "--strict", "--aa"),
    "one play has no blocks and no verdict: `dyno compare` takes it",
)


class Weighed(click.ParamType[tuple[str, str]]):
    """`FILE@WEIGHT` or `FILE`: a name and its weight, empty where there is none."""

    name = "name[@weight]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Name and weight."""
        if isinstance(value, tuple):
            return value
        name, weight = parse_weight(value)
        return name, "" if name == value else str(weight)


class Definition(click.ParamType[tuple[str, str]]):
    """`name=value`: a variable of the script's."""

    name = "name=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Name and value."""
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not (name and equals):
            self.fail(f"invalid variable definition: '{value}' is not NAME=VALUE", param, ctx)
        return name, text


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


SQL: Decorator = click.option(
    "--sql",
    metavar="FILE",
    help="Play a file of SQL statements, with weights and parameters in its comments "
    "(`-- weight: 3`, `-- :id = 1..100000`).",
)
_MANY: dict[str, Any] = {"multiple": True, "type": Weighed()}
_take = partial(click.option, cls=HeadedOption, heading="As pgbench has them")
_TAKEN: tuple[Decorator, ...] = (
    SQL,
    _take(
        *("--pgbench", "--file", "-f", "files"),
        **_MANY,
        metavar="FILE[@W]",
        help="Play a script file of pgbench; several are one workload, drawn by weight.",
    ),
    _take(
        *("--builtin", "-b", "builtins"),
        **_MANY,
        metavar="NAME[@W]",
        help=f"Play a script of pgbench's own: {', '.join(BUILTINS)}.",
    ),
    _take("--select-only", "-S", is_flag=True, help="As -b select-only."),
    _take("--skip-some-updates", "-N", is_flag=True, help="As -b simple-update."),
    _take("--client", "-c", type=int, metavar="N", help="Short for --set threads=N."),
    _take(
        *("--transactions", "-t"),
        type=int,
        metavar="N",
        help="Transactions of each client: short for --set events=N × clients.",
    ),
    _take(
        *("--rate", "-R"),
        type=float,
        metavar="PER_S",
        help="Short for --set rate=PER_S --set arrivals=poisson.",
    ),
    _take(
        *("--protocol", "-M"),
        metavar="simple|extended|prepared",
        help="Short for --set protocol=….",
    ),
    _take(
        *("--define", "-D"),
        type=Definition(),
        multiple=True,
        metavar="NAME=VALUE",
        help="A variable of a script of pgbench's; may be repeated.",
    ),
    _take(
        "--scale",
        "-s",
        type=int,
        metavar="N",
        help="Short for --set scale=N (of pgbench's tables).",
    ),
    _take("--allow-shell", is_flag=True, help="Let \\shell and \\setshell start programs."),
    _take(
        "--exit-on-abort", is_flag=True, help="End at the first transaction that fails for good."
    ),
    # what they ask for is always done
    click.option("--continue-on-error", is_flag=True, hidden=True, expose_value=False),
    click.option("--jobs", "-j", type=int, hidden=True, expose_value=False),
    click.option("--no-vacuum", "-n", is_flag=True, hidden=True, expose_value=False),
)


def add_pgbench_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds pgbench's options to a command."""
    for option in reversed(_TAKEN):
        command = option(command)
    return command


def choose_scripts(words: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The workloads of `--workload` and of pgbench's words, and their options, `--set` among them;
    an SQL file that makes their tables is made ready for the candidates.
    """
    workloads = [words["workload"]] if words.get("workload") else [*words.get("workloads", ())]
    for name in workloads:
        _check_ending(name)
    mixed = _read_mix(words)
    options = _read_settings(words)
    if log := choose_log(words):
        if workloads or mixed or words["sql"]:
            hint = "play one; pgbench's --log is the trial's record here"
            raise UsageError("--log and a script cannot be combined", hint=hint)
        return [log[0]], log[1] | dict(words["settings"])
    if words["sql"]:
        workloads = [find_sql_file(words["sql"], [*workloads, *mixed])]
        options["marked"] = "on"
    elif mixed:
        (first, weight), *others = mixed
        workloads.append(first)
        options |= {"weight": weight} if weight else {}
        # of pgbench's own -f, where what is a mark of --sql is a comment
        options |= {"marked": "off"} if find_mark(Path(first)) else {}
        if others:
            options["also"] = ",".join(f"{name}@{w}" if w else name for name, w in others)
    if not workloads:
        raise click.UsageError("missing option '--workload' (or '--pgbench', '--sql', '--log')")
    options |= gather_settings(words)
    if setup := options.get("setup"):
        options |= prepare_setup_beside(setup, workloads[0], words["candidates"])
    return workloads, options


def _check_ending(name: str) -> None:
    """`UsageError` for a file that is no script by its name: any text can be read as SQL."""
    path = Path(name)
    if path.is_file() and path.suffix not in (".lua", ".sql", ".pgbench", ""):
        hint = f"scripts end in .lua or .sql; -f {name} plays it as a script of pgbench"
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


def _read_mix(words: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for name, weight in words["files"]:
        if not Path(name).is_file():
            raise UsageError(f"could not open file '{name}'", hint="-f FILE or -f FILE@WEIGHT")
        if Path(name).suffix == ".lua":
            raise UsageError(f"{name} is a Lua script", hint="play it by --workload")
        found.append((str(Path(name).resolve()), weight))
    flags = [("select-only", "")] * words["select_only"]
    flags += [("simple-update", "")] * words["skip_some_updates"]
    for name, weight in (*words["builtins"], *flags):
        found.append((str(find_builtin_file(find_builtin(name))), weight))
    return found


def _read_settings(words: Mapping[str, Any]) -> dict[str, str]:
    clients, transactions, rate = words["client"], words["transactions"], words["rate"]
    if transactions is not None and words.get("time") is not None:
        raise UsageError(
            "specify either a number of transactions (-t) or a duration (-T), not both"
        )
    found = {
        "threads": clients,
        "events": transactions and transactions * (clients or 1),
        "rate": rate and f"{rate:g}",
        "arrivals": "poisson" if rate else None,
        "protocol": words["protocol"],
        "scale": words["scale"],
        "allow_shell": "on" if words["allow_shell"] else None,
        "exit_on_abort": "on" if words["exit_on_abort"] else None,
    }
    given = {name: str(value) for name, value in found.items() if value is not None}
    return given | {f":{name}": value for name, value in words["define"]}


def explain_option(option: str, taken: Sequence[click.Parameter]) -> str:
    """What does here what an option of pgbench's does there; empty where it is none, or the command
    plays nothing.
    """
    names = {each.name for each in taken}
    if "experiment" in names:
        return OF_EXPERIMENTS.get(option, "")
    if "builtins" not in names:
        return ""
    return OF_COMPARISONS.get(option) or explain_word(option)


def explain_word(option: str) -> str:
    """The same of an option by itself."""
    return next((said for names, said in ANSWERS.items() if option in names.split()), "")
