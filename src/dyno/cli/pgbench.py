"""`dyno pgbench`: PostgreSQL's pgbench by its own command line; a comparison with `--compare`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from dyno.cli.shim import play_comparison, split_comparison
from dyno.cli.terminal import screen
from dyno.cli.unknown_options import explain_pgbench_word
from dyno.errors import DynoError, UsageError

if TYPE_CHECKING:
    from dyno.compat.pgbench.play import PlayedRun
    from dyno.compat.pgbench.words import PgbenchSettings
    from dyno.driver.plan import Session

REFUSED_EXIT, ABORTED_EXIT = 1, 2
#: What a comparison plays, what it leaves out; all else it refuses by name.
PLAYED = {"builtin", "file", "select-only", "skip-some-updates", "client", "transactions", "time"}
PLAYED |= {"rate", "protocol", "define", "scale", "exit-on-abort"}
SILENT = {"jobs", "no-vacuum", "progress", "report-per-command", "progress-timestamp", "debug"}
SILENT |= {"continue-on-error"}
#: No word of pgbench's: who compares plays other people's scripts, too.
ALLOW_SHELL = "--allow-shell"


@click.command(
    "pgbench",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="ARGS…")
def command(words: tuple[str, ...]) -> int:
    """Run a pgbench command line, with pgbench's output and exit codes.

    It plays on the server that ARGS name, as it runs. With --compare BUILD BUILD the line becomes a
    comparison with a verdict, and takes --quick, --strict, --limit, --set and others as `dyno
    compare` does. docs/guides/workloads/pgbench-words.md lists every option.

    \b
    dyno pgbench -h /tmp -S -c 4 -T 10 bench
    dyno pgbench --compare BASE CANDIDATE -S -c 4 -T 5
    """
    if "--compare" in words:
        return compare_line(words)
    try:
        return obey(words)
    except DynoError as error:
        tell_error(error)
        return REFUSED_EXIT


def tell(line: str) -> None:
    screen.print_verbatim(line, err=True)


def tell_error(error: DynoError) -> None:
    tell(f"pgbench: error: {error.sentence}")
    for line in filter(None, error.hint.splitlines()):
        tell(f"pgbench: hint: {line}")


def obey(words: Sequence[str]) -> int:
    from dyno.compat.pgbench.server import initialize_tables, make_session
    from dyno.compat.pgbench.words import (
        find_asked_text,
        find_builtin,
        find_builtin_file,
        list_builtins,
        read_words,
    )

    if asked := find_asked_text(words):
        screen.print_verbatim(asked)
        return 0
    settings = read_words(words, os.environ)
    if settings.text.get("builtin") == "list":
        tell("\n".join(list_builtins()))
        return 0
    if name := settings.text.get("show-script"):
        whole = find_builtin(name)
        text = find_builtin_file(whole).read_text()
        tell(f"-- {whole}: {text.removeprefix('--').strip()}")
        return 0
    session = make_session(settings, os.environ)
    if settings.has("initialize"):
        initialize_tables(session, settings, tell)
        return 0
    return play_scripts(settings, session)


def play_scripts(settings: PgbenchSettings, session: Session) -> int:
    from dyno import scratch
    from dyno.compat.pgbench import report
    from dyno.compat.pgbench.play import Moment, PgbenchRun, choose_seed
    from dyno.compat.pgbench.server import look_at, vacuum

    with scratch.make_folder("pgbench") as folder:
        run = PgbenchRun(session, settings, folder / "board", choose_seed(settings))
        in_lua = run.check()
        if settings.has("debug") and in_lua:
            tell(f"pgbench: played in Lua, at more CPU for each transaction: {', '.join(in_lua)}")
        facts = look_at(session, settings, tell)
        lines = report.ProgressLines(settings)

        def start_clock() -> None:
            if settings.seed is not None:
                tell(f"pgbench: setting random seed to {settings.seed}")
            screen.print_verbatim(report.format_head(facts))
            vacuum(session, settings, tell)

        def print_progress(moment: Moment) -> None:
            if settings.has("progress"):
                tell(lines.format_progress(moment))

        played = run.play(facts, start_clock, print_progress)
        if settings.has("log"):
            report.write_logs(settings, folder / "board.log")
        return finish(settings, played, report.format_report(settings, facts, played))


def finish(settings: PgbenchSettings, played: PlayedRun, lines: Iterable[str]) -> int:
    was_aborted = bool(played.problem or played.tally.aborted)
    if played.problem and not played.tally.aborted:
        tell_error(UsageError(played.problem, hint=played.hint))
    if was_aborted and settings.has("exit-on-abort"):
        tell("pgbench: error: Run was aborted due to an error in thread 0")
        return ABORTED_EXIT
    for line in lines:
        screen.print_verbatim(line)
    if was_aborted:
        tell("pgbench: error: Run was aborted; the above results are incomplete.")
    return ABORTED_EXIT if was_aborted else 0


def compare_line(words: Sequence[str]) -> int:
    """The same line as `dyno compare` of two builds."""
    from dyno.compat.pgbench.words import read_words

    others, builds, own = split_comparison([word for word in words if word != ALLOW_SHELL])
    settings = read_words(others, os.environ)
    if settings.database:
        hint = "the builds are started by Dyno, or named by their URLs"
        raise UsageError(f"a comparison has no database '{settings.database}'", hint=hint)
    for name in sorted(settings.given - PLAYED - SILENT):
        hint = explain_pgbench_word(f"--{name}")
        raise UsageError(f"--{name} has no counterpart in a comparison", hint=hint)
    if left_out := sorted(settings.given & SILENT):
        tell(f"left out, since a comparison has its own: --{', --'.join(left_out)}")
    script, options = read_script_options(settings)
    if ALLOW_SHELL in words:
        options["allow_shell"] = "on"
    return play_comparison(builds, script, options, own)


def read_script_options(settings: PgbenchSettings) -> tuple[str, dict[str, str]]:
    """The first script's path, and what plays the line by it, as options of the workload."""
    first, *others = settings.scripts
    if lua := next((it.shown for it in settings.scripts if it.path.suffix == ".lua"), None):
        raise UsageError(f"{lua} is a Lua script", hint="dyno compare plays it by --workload")
    length = "time" if settings.has("time") else "events"
    found = {
        "weight": first.weight,
        # what is a mark of --sql is a comment to pgbench, and a file may be called anything
        "marked": None if first.is_builtin else "off",
        "also": ",".join(f"{each.path.resolve()}@{each.weight}" for each in others) or None,
        "threads": settings.number.get("client"),
        length: settings.number.get("time") or settings.transactions * settings.clients,
        "rate": f"{settings.rate_per_s:g}" if settings.rate_per_s else None,
        "arrivals": "poisson" if settings.rate_per_s else None,
        "protocol": settings.text.get("protocol"),
        "scale": settings.number.get("scale"),
        "exit_on_abort": "on" if settings.has("exit-on-abort") else None,
    }
    given = {name: str(value) for name, value in found.items() if value is not None}
    return str(first.path.resolve()), given | {f":{k}": v for k, v in settings.defined}
