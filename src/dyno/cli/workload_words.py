"""What is played, by a command's words: `--workload`, `--sql`, `--set` and those short for it, the
SQL file that makes tables (`--data`, `--set setup=`), and a server's log (`--log`); as scripts with
their options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dyno import numbers
from dyno.cli.judged_run import print_progress
from dyno.cli.options import Decorator, add_option
from dyno.cli.terminal import screen
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.record import LeftOut
    from dyno.runs.experiment import Experiment, Workload
    from dyno.runs.experiment.candidates import Spec
    from dyno.runs.resolve.setup_files import ReadyFile

#: Commands' words that stand for an option of the workload.
SHORT = {"time": "--time", "threads": "--threads"}


def gather_settings(words: Mapping[str, Any]) -> dict[str, str]:
    """The workload's options of `--set` and of the words that are short for it; `UsageError` where
    an option is given in two ways.
    """
    found = dict(words["settings"])
    for name, word in SHORT.items():
        if words.get(name) is not None:
            if name in found:
                hint = "give one of them"
                raise UsageError(f"{word} and --set {name} are the same", hint=hint)
            found[name] = f"{words[name]:g}"
    return found


def prepare_setup(file: Path, candidates: Sequence[str]) -> ReadyFile:
    """The file for these candidates, and what is not loaded of it, told."""
    from dyno.runs.experiment.candidates import parse_candidate

    return _prepare(file, [parse_candidate(text) for text in candidates])


def _prepare(file: Path, candidates: Sequence[Spec]) -> ReadyFile:
    from dyno.runs.resolve.copies import check_setup
    from dyno.runs.resolve.setup_files import make_ready

    found = make_ready(file.resolve(), candidates, print_progress)
    check_setup(found, candidates)
    for sentence in found.describe():
        screen.print_line(sentence, err=True)
    return found


def prepare_setup_beside(name: str, workload: str, candidates: Sequence[str]) -> dict[str, str]:
    """The options for a file that is named from where the workload's script lies."""
    from dyno.workloads import find_workload

    script = find_workload(workload)
    if not _has_dump(script):
        return {}
    return prepare_setup(script.parent / name, candidates).list_options()


def _has_dump(script: Path) -> bool:
    """Does its option `setup` name a dump? That of a user's script in Lua is the script's own."""
    return script.suffix != ".lua" or b"dyno.recording" in script.read_bytes()


def prepare_workloads(
    workloads: Sequence[Workload], candidates: Sequence[Spec]
) -> tuple[Workload, ...]:
    """An experiment's workloads, the SQL files that make their tables made ready."""
    from dyno.workloads import find_workload

    found = []
    for each in workloads:
        script = find_workload(each.name) if "setup" in each.options else None
        if script and (name := each.options["setup"]) and _has_dump(script):
            ready = _prepare(script.parent / name, candidates)
            each = replace(each, options=each.options | ready.list_options())
        found.append(each)
    return tuple(found)


def prepare_experiment(experiment: Experiment) -> Experiment:
    """An experiment of a command's words, the SQL file that makes its tables made ready."""
    workloads = prepare_workloads(experiment.workloads, experiment.candidates)
    return replace(experiment, workloads=workloads)


REPLAY = "To replay a server's log"
#: By the parameter's name.
LOG_OPTIONS: dict[str, Decorator] = {
    "log": add_option(
        "--log FILE",
        "Replay a server's log of statements (docs/guides/yours/log.md says which are known).",
        heading=REPLAY,
    ),
    "data": add_option(
        "--data FILE",
        "The SQL file (a dump) that makes the copy on which --log is played.",
        heading=REPLAY,
    ),
    "speed": add_option(
        "--speed N|max",
        "How fast --log is played: 1 as logged, 10 ten times as fast, max (default): each "
        "statement when its session's previous one is answered.",
        heading=REPLAY,
    ),
    "repeat": add_option(
        "--repeat N|auto",
        "Play --log N times a block, where it only reads; auto: for about ten seconds.",
        heading=REPLAY,
    ),
    "writes": add_option(
        "--writes", "With --log, play statements that write, too.", heading=REPLAY
    ),
    "in_place": add_option(
        "--in-place",
        "With --log, play in the existing database of a server that runs already.",
        heading=REPLAY,
    ),
    "log_prefix": add_option(
        "--log-prefix FORMAT",
        "The log_line_prefix of the server that wrote --log, where it cannot be guessed.",
        heading=REPLAY,
    ),
}
NEEDS_LOG = {
    **{"data": "--data", "speed": "--speed", "writes": "--writes", "in_place": "--in-place"},
    **{"log_prefix": "--log-prefix", "repeat": "--repeat"},
}


def add_replay_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(LOG_OPTIONS.values()):
        command = option(command)
    return command


class ChosenLog(NamedTuple):
    """The script that replays a log, its options, what of the log and the data it leaves out."""

    script: str
    options: dict[str, str]
    left_out: tuple[LeftOut, ...]


def choose_log(words: Mapping[str, Any]) -> ChosenLog | None:
    """The log as it is replayed; None where none is to be replayed.

    `UsageError` where there is no copy to play it on.
    """
    known = words.get("statement_log")
    if not words["log"] and not known:
        for name, word in NEEDS_LOG.items():
            if words.get(name):
                raise UsageError(f"{word} needs --log", hint="name the log: --log FILE")
        return None
    from dyno.record import LeftOut
    from dyno.runs.experiment.candidates import parse_candidate
    from dyno.runs.resolve.copies import (
        Copy,
        check_copy,
        find_databases_beside,
        find_rules_in_place,
        find_rules_of_copies,
        find_tables,
    )
    from dyno.workloads.replay.formats import LogFile
    from dyno.workloads.replay.layout import lay_out, parse_repeat
    from dyno.workloads.replay.sessions import Bounds

    if dict(words["settings"]).get("setup"):
        raise UsageError(
            "--set setup=… does not apply to a replay", hint="--data FILE makes the copy"
        )
    _check_free(words)
    settings = dict(words["settings"])
    limit = _parse_limit(settings.pop("statement_limit", None))
    repetition = parse_repeat(words["repeat"], words.get("speed") or "", words["writes"])
    is_reading = words["in_place"] and not words["writes"]
    rules = find_rules_in_place(words["candidates"], bool(words["data"])) if is_reading else []
    data = prepare_setup(Path(words["data"]), words["candidates"]) if words["data"] else None
    for account in dict.fromkeys(each.account for each in rules if each.account):
        screen.print_line(f"{account}: a role that may only SELECT is safer", err=True)
    # where something is written, or a copy is read, only the URL's own database is reached
    is_bound = bool(data or words["writes"]) and not is_reading
    specs = map(parse_candidate, words["candidates"])
    beside = find_databases_beside(specs) if is_bound else []
    if data and not words["in_place"] and not words["writes"]:
        rules = find_rules_of_copies(words["candidates"])
    copy = Copy(data, words["in_place"], words["writes"], beside)
    check_copy(copy, words["candidates"])
    find_those = partial(find_tables, copy, words["candidates"])
    made = tuple(it.text for outline in data.outlines for it in outline.texts) if data else ()
    bounds = Bounds(tuple(rules), tuple(beside), is_reading, limit, find_those, made)
    likely = next((each.log_prefix for each in rules if each.log_prefix), "")
    log_file = known or LogFile(Path(words["log"]), words["log_prefix"] or "", likely_prefix=likely)
    replay = lay_out(log_file, words["writes"], print_progress, bounds, repetition)
    for sentence in replay.describe():
        screen.print_line(sentence, err=True)
    is_timed = len(words["candidates"]) > 1 and "speed" in words  # a rehearsal's blocks have none
    if is_timed and (note := replay.describe_length(words.get("speed") or "")):
        screen.print_line(note, err=True)
    options = (data.list_options() if data else {}) | settings
    options |= {"speed": speed} if (speed := words.get("speed")) else {}
    left_out = [LeftOut("log", *each) for each in replay.list_left_out()]
    left_out += data.list_left_out() if data else ()
    return ChosenLog(str(replay.script), options, (*left_out,))


def rewrite_candidates(words: Mapping[str, Any], candidates: Sequence[str]) -> tuple[str, ...]:
    """The candidates as they are reached: where a log is only read, a server's URL says so."""
    if not words["log"]:
        return tuple(candidates)
    from dyno.runs.resolve.copies import with_access

    return with_access(words["in_place"], words["writes"], candidates)


#: The longest statement that may be asked for, of which several copies are in memory.
LIMIT_MOST = 1 << 29


def _parse_limit(text: str | None) -> int:
    from dyno.workloads.replay.logs import LIMIT

    if text is None:
        return LIMIT
    size = numbers.parse_size_bytes(text)
    if size is None or not 1 <= size <= LIMIT_MOST:
        message = f"--set statement_limit cannot be '{text}'"
        raise UsageError(message, hint="1M, 16M or up to 512M")
    return int(size)


#: What the log itself says: how long, how many, how fast; and what belongs to pgbench's files.
FIXED = {"time": "--time", "threads": "--threads"}
FIXED_SETTINGS = {"time", "events", "threads", "rate", "arrivals", "warmup_time"}
FIXED_SETTINGS |= {"protocol", "scale"}


def _check_free(words: Mapping[str, Any]) -> None:
    settings = [name for name, _ in words["settings"] if name in FIXED_SETTINGS or name[0] == ":"]
    said = [f"--set {name}" for name in settings]
    said += [word for name, word in FIXED.items() if words.get(name)]
    if said:
        hint = "the log sets length and connections"
        hint += "; --speed sets how fast it is played" * ("speed" in words)
        raise UsageError(f"{said[0]} does not apply to a replay", hint=hint)


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
        return [log.script], log.options
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
