"""`dyno kit` and `dyno options`: what is put into a MySQL or MariaDB server; its list variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dyno.cli.options import HeadedGroup, Word, add_option
from dyno.cli.terminal import screen
from dyno.errors import UsageError, build_unknown_error

if TYPE_CHECKING:
    from dyno.servers.kit.options import Options
    from dyno.servers.kit.server import KitServer


def complete_part_names() -> list[str]:
    from dyno.servers.kit.library import PARTS

    return list(PARTS)


PART = click.argument(
    "parts", nargs=-1, required=True, type=Word("part", complete_part_names), metavar="PART..."
)
DSN = add_option("--dsn URL", "The server, as `dyno kit --help` says.", required=True)


def reach_server(dsn: str) -> KitServer:
    from dyno import driver
    from dyno.servers.kit import server

    return server.reach_server(driver.ask, dsn)


@click.group("kit", cls=HeadedGroup)
def command() -> None:
    """Install functions and procedures in a MySQL or MariaDB server, and uninstall them.

    For MySQL 5.6 to 9.7 and MariaDB from 10.1. URL is mysql://user:password@host:3306 or, by its
    socket, 'mysql://user@/?socket=/run/mysqld/mysqld.sock'; what it leaves out comes from ~/.my.cnf
    and MYSQL_PWD (docs/guides/addresses.md).
    `dyno kit status` lists the parts, docs/guides/kit/ has a page for each.
    """


@command.command("install")
@PART
@DSN
@add_option(
    "--account USER@HOST ...",
    "For async: an account that may queue jobs; may be repeated. The installing account "
    "always may.",
    name="accounts",
)
def install(parts: tuple[str, ...], dsn: str, accounts: tuple[str, ...]) -> None:
    """Install each PART; one that is installed already stays as it is.

    PART is async, bitmap, files, history, json, options or uuid; `dyno kit status` says what each
    is.
    """
    from dyno.servers.kit import verbs
    from dyno.servers.kit.library import find_parts

    found = find_parts(parts)
    verbs.install(reach_server(dsn), found, screen.print_line, accounts)


@command.command("upgrade")
@DSN
def upgrade(dsn: str) -> None:
    """Upgrade every installed part to this Dyno's version, and repair what is damaged."""
    from dyno.servers.kit import verbs

    verbs.upgrade(reach_server(dsn), screen.print_line)


@command.command("status")
@DSN
def status(dsn: str) -> None:
    """Show which parts the server has, and in which state."""
    from dyno.servers.kit import verbs

    server = reach_server(dsn)
    rows = [
        (it.part.name, it.state, it.detail, it.part.summary) for it in verbs.read_status(server)
    ]
    screen.print_table(("part", "state", "version", "what it is"), rows)


@command.command("uninstall")
@PART
@DSN
def uninstall(parts: tuple[str, ...], dsn: str) -> None:
    """Uninstall each PART; nothing of it remains.

    PART is async, bitmap, files, history, json, options or uuid.
    """
    from dyno.servers.kit import verbs
    from dyno.servers.kit.library import find_parts

    found = find_parts(parts)
    verbs.uninstall(reach_server(dsn), found, screen.print_line)


@command.command("index-json")
@click.argument("column", metavar="SCHEMA.TABLE.COLUMN")
@add_option("--drop", "Drop the index.")
@DSN
def index_json(column: str, drop: bool, dsn: str) -> None:
    """Make an index over a JSON column for `CALL kit.search(…)`; needs the part json."""
    from dyno.servers.kit import routines

    if drop:
        routines.drop_index(reach_server(dsn), column)
        screen.print_line(f"{column}: the index is dropped")
        return
    routines.create_index(reach_server(dsn), column)
    screen.print_line(f"{column}: indexed; CALL kit.search('{column}', '{{…}}') finds rows")


@command.command("library")
def library() -> None:
    """Show where dyno_kit.so is, to copy it to a server on another machine."""
    from dyno.servers.kit import library as _library

    screen.print_line(str(_library.find_own_library()))


@click.group("options", cls=HeadedGroup)
def options_command() -> None:
    """Show, set and compare the options of optimizer_switch, sql_mode and other lists.

    URL is as `dyno kit --help` says; docs/guides/kit/options.md has an example of each.
    """


@options_command.command("show")
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


@options_command.command("set")
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


@options_command.command("diff")
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
    from dyno.engines import Checks, find_engine
    from dyno.runs.experiment.candidates import parse_candidate
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
