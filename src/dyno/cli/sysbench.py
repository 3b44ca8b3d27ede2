"""`dyno sysbench`: sysbench's own command line, played by our driver, in sysbench's words.

One play on the server that the options name; nothing is restarted, and what `prepare` makes stays.
Exit codes are sysbench's, 0 and 1; what has no counterpart here ends with 64, as all of ours.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

import dyno
from dyno.cli.shim import play_comparison, split_comparison
from dyno.cli.terminal import screen
from dyno.errors import DynoError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dyno.compat.sysbench.words import Words

#: The version whose words these are.
VERSION = "sysbench 1.0.20"
FAILED_EXIT = 1


@click.command(
    "sysbench",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...]) -> int:
    """Run a sysbench command line, with sysbench's output.

    With --compare BUILD BUILD the line becomes a comparison of two builds with a verdict, and takes
    --quick, --strict, --limit and others as `dyno compare` does.

    \b
    dyno sysbench oltp_read_only --mysql-db=shop --tables=4 prepare
    dyno sysbench oltp_read_only --mysql-db=shop --tables=4 --threads=8 run
    """
    from dyno.compat.sysbench import words as lines

    try:
        line, builds, own = split_comparison(words)
        read = lines.read_words(line)
        return compare_builds(read, builds, own) if builds else play_line(read)
    except lines.SysbenchError as refused:
        say(str(refused))
        return FAILED_EXIT


def say(text: str) -> None:
    """A line on stdout, at once: a script prints there, too."""
    screen.print_verbatim(text)
    sys.stdout.flush()


def play_line(words: Words) -> int:
    from dyno.compat.sysbench.play import NOTICE, TEST_IS_OLD, list_deprecations
    from dyno.compat.sysbench.words import BUILT_IN, format_help

    if words.is_on("help"):
        say("\n".join(format_help()))
        return 0
    if words.is_on("version"):
        say(VERSION)
        return 0
    if words.options["test"]:
        screen.print_line(TEST_IS_OLD, err=True)
    for line in list_deprecations(words):
        say(line)
    if words.read_number("verbosity") >= NOTICE:
        say(f"{VERSION} (played by dyno {dyno.__version__})\n")
    if words.script in BUILT_IN:
        raise UsageError(
            f"sysbench's test '{words.script}' has no counterpart: it asks no database",
            hint="sysbench itself plays it",
        )
    if words.script in ("", "-"):
        return play_text(words, sys.stdin.read())
    return play_script(words)


def play_text(words: Words, text: str) -> int:
    """A script that comes by stdin is loaded, and no more."""
    from dataclasses import replace

    from dyno import scratch

    with scratch.make_folder("sysbench") as folder:
        file = folder / "stdin.lua"
        file.write_text(text)
        return play_script(replace(words, script=str(file), command=""))


def play_script(words: Words) -> int:
    from dyno import driver
    from dyno.compat.sysbench import play

    plan = play.make_plan(words, play.find_script(words.script))
    try:
        if not words.command:
            return play.load_script(plan)
        try:
            described = driver.describe(plan)
        except DynoError:
            play.load_script(plan)  # it fails again, and what it printed before is seen
            raise
        return play.play_command(words, plan, described, say)
    except DynoError as error:
        say(play.format_fatal(error))
        return FAILED_EXIT


def compare_builds(words: Words, builds: Sequence[str], own: Sequence[str]) -> int:
    """The line as `dyno compare` of two builds, with the comparison's own options."""
    from dyno.compat.sysbench.play import find_script, split_options

    if words.command != "run":
        raise UsageError("--compare needs the command run", hint="it prepares by itself")
    script = str(find_script(words.script).resolve())
    if not script.endswith(".lua"):
        hint = f"sysbench loads it as Lua: call it {words.script}.lua, or go to another folder"
        raise UsageError(f"'{words.script}' is a file of this folder", hint=hint)
    options, unused = split_options(words)
    for name in unused:
        screen.print_line(f"--{name} is ignored: a comparison starts each build itself", err=True)
    return play_comparison(builds, script, options, own)
