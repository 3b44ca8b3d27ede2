"""`dyno profile`: where the time of a server in use goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run
from dyno.cli.exits import end_by_signals, write_json_file
from dyno.cli.options import DURATION, OutputFile, add_option
from dyno.cli.runs import find_runs_home
from dyno.cli.terminal import screen
from dyno.errors import UsageError
from dyno.printable import escape_line

if TYPE_CHECKING:
    from dyno.record.server_profile import ServerProfile


#: Samples of a second of CPU time: a rhythm that no timer has.
RATE = 447
FORMATS = ("firefox", "collapsed", "pprof")


@click.command("profile")
@click.argument("target", metavar="URL|PID|FILE")
@add_option("--for", "How long.", DURATION, name="for_s", default="30s")
@add_option("--pid PID", "The process of URL's server.", click.IntRange(1))
@add_option("--stacks", "Sample callers, too, as far as frame pointers lead.")
@add_option(
    "--rate", "Samples of each second of CPU time.", click.IntRange(10, 5_000), default=RATE
)
@add_option(
    "--against FILE",
    "Show an earlier profile beside it, and what differs.",
    click.Path(path_type=Path, dir_okay=False, exists=True),
)
@add_option("--watch", "Show it on the screen while it is taken.")
@add_option(
    "--output FILE",
    "The profile; its page is written beside it.  [default: in runs/server-profiles]",
    OutputFile(path_type=Path),
)
@add_option(
    "--format",
    "Write the CPU samples for another program, too.",
    click.Choice(FORMATS),
    name="other",
)
def command(target: str, **words: Any) -> None:
    """Profile a server in use: CPU time by layer, waits, statements with their plans.

    URL is postgres://user@host:5432/database or mysql://user@host:3306; of a server on this host
    its processes are found, and sampled. PID profiles a process with its children, without waits
    and statements; FILE shows an earlier profile again. Nothing is written in the server.
    docs/guides/profile.md has an example of each.

    \b
    dyno profile postgres://app@localhost/shop --for 1m
    dyno profile 4711 --stacks --format firefox
    dyno profile mysql://root@127.0.0.1:3306 --against runs/server-profiles/20261127-091500.json
    """
    from dyno.record.server_profile import ServerProfile
    from dyno.runs.run_folder import read_json

    base = read_json(ServerProfile, words["against"]) if words["against"] else None
    file = Path(target)
    if file.is_file() and not target.isdigit():
        if not file.read_bytes()[:1].startswith(b"{"):
            raise UsageError(f"{file} is no profile", hint="it takes what dyno profile wrote")
        profile = read_json(ServerProfile, file)
        output = words["output"] or file
    elif file.suffix == ".json":
        raise UsageError(f"there is no file {file}", hint="dyno profile URL takes a new one")
    else:
        profile = _take(target, words, base)
        output = words["output"] or _choose_file()
    _check_alike(profile.engine, base)
    _write(profile, base, output, words["other"])


def _take(target: str, words: dict[str, Any], base: ServerProfile | None) -> ServerProfile:
    """Samples the server; what it will cost is told first."""
    from dyno import driver
    from dyno.servers.profile.collect import Collector, ProfileOptions
    from dyno.servers.profile.target import find_target

    found = find_target(driver.ask, target, words["pid"])
    _check_alike(found.engine, base)
    options = ProfileOptions(words["for_s"], round(1e9 / words["rate"]), words["stacks"])
    with Collector(found, options) as collector:
        cost = collector.prepare()
        for each in collector.missing:
            screen.print_line(f"note: {each}", err=True)
        cost_words = f"it costs about {cost:.2g} % of a busy host's CPU time, more of an idle one's"
        if not found.process:
            cost_words = f"it costs about {cost:.2g} % of one core, here and there"
        screen.print_line(
            f"profiling {found.name} for {screen.format_duration(words['for_s'])};"
            f" {cost_words}; Ctrl-C ends it early",
            err=True,
        )
        # while functions are named, too: what was sampled is kept
        with end_by_signals(collector.stop):
            with _watch(words["watch"]) as show:
                collector.run(show)
            return collector.build()


@contextmanager
def _watch(is_wanted: bool) -> Iterator[Callable[[ServerProfile], None] | None]:
    """Yield what draws a growing profile as a panel of the terminal; `None` if none is wanted."""
    if not is_wanted:
        yield None
        return
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from dyno.report.render.terminal import render_terminal
    from dyno.report.server_profile import build_brief_profile

    with Live(console=screen.make_console(), transient=True, auto_refresh=False) as live:

        def show(profile: ServerProfile) -> None:
            heading = f"{profile.name}: {profile.elapsed_s:.0f} s of {profile.asked_s:.0f} s"
            blocks = render_terminal(build_brief_profile(profile))
            live.update(Group(Text(escape_line(heading)), Text(), blocks), refresh=True)

        yield show


def _choose_file() -> Path:
    from dyno import private_files
    from dyno.runs.run_folder import SERVER_PROFILES

    folder = find_runs_home() / SERVER_PROFILES
    private_files.make_folder(folder, exist_ok=True)
    name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    tries = (folder / f"{name}{ending}.json" for ending in ("", *(f"-{n}" for n in range(2, 99))))
    return next(file for file in tries if not file.exists())


def _check_alike(engine: str, base: ServerProfile | None) -> None:
    """`UsageError` where two profiles have nothing in common to be compared."""
    if base and base.engine != engine:
        hint = "layers and statements of two engines are not comparable"
        raise UsageError(f"the earlier profile is of {base.engine}, not {engine}", hint=hint)


def _write(
    profile: ServerProfile, base: ServerProfile | None, output: Path, other: str | None
) -> None:
    from dyno.report.html.page import render_result, replace_file
    from dyno.report.server_profile import build_brief_profile, build_profile_result
    from dyno.runs.run_folder import write_json

    write_json(output, profile)
    page = replace_file(
        output.with_suffix(".html"), render_result(build_profile_result(profile, base))
    )
    screen.draw_document(build_brief_profile(profile, base), is_apart=False)
    screen.print_gap()
    screen.print_line(f"profile: {output}")
    screen.print_line(f"page: {page}")
    if other:
        screen.print_line(f"{other}: {_write_export(profile, output, other)}")


def show_run(file: Path) -> None:
    """Print all of a profile."""
    from dyno.record.server_profile import ServerProfile
    from dyno.report.server_profile import build_profile
    from dyno.runs.run_folder import read_json

    screen.draw_document(build_profile(read_json(ServerProfile, file)), is_apart=False)


def report_run(file: Path, profile_format: str | None, words: Mapping[str, Any]) -> int:
    """Make its page again, and tell it; with a format that has no file, print that alone."""
    from dyno.record.decode import encode
    from dyno.record.server_profile import ServerProfile
    from dyno.report.server_profile import build_profile_result
    from dyno.runs.run_folder import read_json

    asked, profile = judged_run.read_asked_of_report(words), read_json(ServerProfile, file)
    if not asked.quiet:
        _write(profile, None, file, profile_format)
    if asked.json_file:
        write_json_file(asked.json_file, encode(profile))
    judged_run.write_formats(asked, lambda: build_profile_result(profile))
    return 0


def _write_export(profile: ServerProfile, output: Path, other: str) -> Path:
    from dyno import private_files
    from dyno.report.profiles import collect_server_profile, find_encoder

    if profile.cpu is None:
        raise UsageError("there are no samples of CPU time to write", hint="see what is missing")
    encode, suffix = find_encoder(other)
    file = output.with_suffix(suffix)
    private_files.write_bytes_whole(
        file, encode(collect_server_profile(profile.name, profile.cpu.profile))
    )
    return file
