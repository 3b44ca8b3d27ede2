"""`dyno options`: list-valued variables of MySQL and MariaDB servers, one row per option."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dyno.cli.headings import HeadedGroup
from dyno.cli.kit import DSN, reach_server
from dyno.cli.options import Word, add_option
from dyno.cli.terminal import screen
from dyno.errors import UsageError, build_unknown_error

if TYPE_CHECKING:
    from dyno.servers.kit.options import Options


@click.group("options", cls=HeadedGroup)
def command() -> None:
    """Show, set and compare the options of optimizer_switch, sql_mode and other lists.

    URL is as `dyno kit --help` says; docs/guides/kit/options.md has an example of each.
    """


@command.command("show")
@click.argument("variable", required=False)
@DSN
def show(variable: str | None, dsn: str) -> None:
    """Show each option of a VARIABLE, or of all that are lists, as new sessions get them."""
    from dyno.servers.kit import options

    found = options.read(reach_server(dsn))
    if variable and variable.lower() not in found:
        raise build_unknown_error("list variable", variable, found)
    wanted = [variable.lower()] if variable else list(found)
    rows = [(name, it, value) for name in wanted for it, value in found[name].items()]
    screen.print_table(("variable", "option", "value"), rows)


@command.command("set")
@click.argument("variable")
@click.argument("option")
@click.argument("value", type=Word("value", lambda: ["on", "off", "default"]))
@DSN
@add_option("--persist", "Keep it after a restart, too.")
def set_(variable: str, option: str, value: str, dsn: str, persist: bool) -> None:
    """Set one OPTION of a VARIABLE on, off or to its default for all sessions to come; the others
    stay.
    """
    from dyno.servers.kit import options

    options.set_option(reach_server(dsn), variable.lower(), option, value, persist=persist)
    screen.print_line(f"{variable}: {option} is {value}")


@command.command("diff")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
def diff(first: str, second: str) -> None:
    """Show which options differ between A and B: each the URL of a server that runs, or a
    candidate (mysql@8.0.33, mariadb@debian?optimizer_switch=mrr=on), which is started for it.
    """
    from dyno.servers.kit import options

    found = options.find_differences(_read_options(first), _read_options(second))
    if not found:
        screen.print_line("no option differs")
        return
    rows = [(it.variable, it.option, it.first or "-", it.second or "-") for it in found]
    screen.print_table(("variable", "option", "A", "B"), rows)


def _read_options(text: str) -> Options:
    """Of a server that runs, or of one that is started for it and stopped again."""
    from dyno import driver, scratch
    from dyno.compare.experiment.candidates import parse_candidate
    from dyno.engines import Checks, find_engine
    from dyno.servers.kit import options, server

    spec = parse_candidate(text)
    if spec.is_url:
        return options.read(reach_server(text))
    engine = find_engine(spec.engine, driver.ask)
    if spec.engine not in server.KINDS:
        raise UsageError(
            f"{spec.engine} has no list variables",
            hint=f"name a build of {' or '.join(server.KINDS)}, or a URL",
        )
    if isinstance(engine, Checks):
        engine.check(spec.build, {}, spec.keys)
    build = engine.program(spec.build, {}, screen.print_line)
    with scratch.make_folder("play", scratch.find_temporary_folder()) as home:
        home.chmod(0o711)  # the server's user passes through
        (home / "server").mkdir()
        started = engine.start(build, home / "server", spec.keys)
        try:
            rows = driver.ask(started.session, ["SHOW GLOBAL VARIABLES"])[0]
        finally:
            engine.stop(started)
    return options.parse_options({str(name).lower(): value or "" for name, value in rows})
