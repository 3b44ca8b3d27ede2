"""`dyno kit`: functions and procedures put into a MySQL or MariaDB server, and taken out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dyno.cli.headings import HeadedGroup
from dyno.cli.options import Word, add_option
from dyno.cli.terminal import screen

if TYPE_CHECKING:
    from dyno.servers.kit.server import KitServer


def complete_part_names() -> list[str]:
    """What a shell offers for PART."""
    from dyno.servers.kit.parts import PARTS

    return list(PARTS)


PART = click.argument(
    "parts", nargs=-1, required=True, type=Word("part", complete_part_names), metavar="PART..."
)
DSN = add_option("--dsn URL", "The server, as `dyno kit --help` says.", required=True)


def reach_server(dsn: str) -> KitServer:
    """The server at a URL."""
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
    from dyno.servers.kit.parts import find_parts

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
    from dyno.servers.kit.parts import find_parts

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
