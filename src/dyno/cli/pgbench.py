"""`dyno pgbench`: PostgreSQL's pgbench by its own command line; a comparison with `--compare`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from dyno.cli.pgbench_words import explain_word
from dyno.cli.shim import split_comparison
from dyno.cli.terminal import screen
from dyno.errors import DynoError, UsageError

if TYPE_CHECKING:
    from dyno.compat.pgbench.play import PlayedRun
    from dyno.compat.pgbench.scripts import ScriptWord
    from dyno.compat.pgbench.words import PgbenchSettings
    from dyno.driver.plan import Session

REFUSED_EXIT, ABORTED_EXIT = 1, 2
#: pgbench's own log; `compare` means a server's by these words.
LOGGING = {"log", "log-prefix"}
#: What a comparison leaves out; all else that it does not know it refuses by name.
SILENT = ("jobs", "no-vacuum", "progress", "report-per-command", "progress-timestamp", "debug")


@click.command(
    "pgbench",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="ARGS…")
def command(words: tuple[str, ...]) -> int:
    """Run a pgbench command line, with pgbench's output and exit codes.

    It plays on the server that ARGS name, as it runs. With --compare BUILD BUILD the line becomes a
    comparison with a verdict, and takes --quick, --strict, --limit and others as `dyno compare`
    does. docs/guides/workloads/pgbench-words.md lists every option.

    \b
    dyno pgbench -h /tmp -S -c 4 -T 10 bench
    dyno pgbench --compare BASE CANDIDATE -S -c 4 -T 5
    """
    if "--compare" in words:
        return play_comparison(words)
    try:
        return obey(words)
    except DynoError as error:
        tell_error(error)
        return REFUSED_EXIT


def tell(line: str) -> None:
    """A line on stderr."""
    screen.print_verbatim(line, err=True)


def tell_error(error: DynoError) -> None:
    """In pgbench's form."""
    tell(f"pgbench: error: {error.sentence}")
    for line in filter(None, error.hint.splitlines()):
        tell(f"pgbench: hint: {line}")


def obey(words: Sequence[str]) -> int:
    """Does what the command line asks for; pgbench's exit code."""
    from dyno.compat.pgbench import tables, usage
    from dyno.compat.pgbench.scripts import find_builtin, find_builtin_file, list_builtins
    from dyno.compat.pgbench.server import make_session
    from dyno.compat.pgbench.words import read_words

    if asked := usage.find_asked_text(words):
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
        tables.initialize_tables(session, settings, tell)
        return 0
    return play_scripts(settings, session)


def play_scripts(settings: PgbenchSettings, session: Session) -> int:
    """Reads the scripts, looks at the server, plays, reports."""
    from dyno import scratch
    from dyno.compat.pgbench import log_files, report
    from dyno.compat.pgbench.play import Moment, PgbenchRun, choose_seed
    from dyno.compat.pgbench.server import look_at, vacuum

    with scratch.make_folder("pgbench") as folder:
        run = PgbenchRun(session, settings, folder / "board", choose_seed(settings))
        run.check()
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
            log_files.write_logs(settings, folder / "board.log")
        return finish(settings, played, report.format_report(settings, facts, played))


def finish(settings: PgbenchSettings, played: PlayedRun, lines: Iterable[str]) -> int:
    """The report, and whether it is whole."""
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


def play_comparison(words: Sequence[str]) -> int:
    """The same line as `dyno compare` of two builds."""
    from dyno.cli import compare as comparison
    from dyno.compat.pgbench.words import OPTIONS, read_words

    others, builds, own = split_comparison(words)
    settings = read_words(others, os.environ)
    for name in sorted(settings.given & LOGGING):
        raise UsageError(f"--{name} writes pgbench's log", hint=explain_word(f"--{name}"))
    if settings.database:
        hint = "the builds are started by Dyno, or named by their URLs"
        raise UsageError(f"a comparison has no database '{settings.database}'", hint=hint)
    valued = {name.rstrip("=") for name in OPTIONS if name.endswith("=")}
    spoken = {"builtin", "file", "select-only", "skip-some-updates", "define", "time"}
    said = [word for script in settings.scripts for word in _describe_script(script)]
    said += [word for name, value in settings.defined for word in ("--define", f"{name}={value}")]
    for name in sorted(settings.given - spoken - set(SILENT)):
        said += [f"--{name}", settings.text[name]] if name in valued else [f"--{name}"]
    if left_out := sorted(settings.given & set(SILENT)):
        tell(f"left out, since a comparison has its own: --{', --'.join(left_out)}")
    if settings.has("time"):
        said += ["--set", f"time={settings.number['time']}"]
    elif not settings.has("transactions"):
        said += ["--transactions", str(settings.transactions)]
    code: int = comparison.command.main(
        [*builds, *said, *own], prog_name="dyno compare", standalone_mode=False
    )
    return code


def _describe_script(script: ScriptWord) -> list[str]:
    from dyno.compat.pgbench.scripts import BUILTINS

    builtin = next((name for name, shown in BUILTINS.items() if shown == script.shown), "")
    word = ["--builtin", builtin] if builtin else ["--file", str(script.path)]
    return [word[0], f"{word[1]}@{script.weight}"]
