"""`dyno kit`: functions and procedures put into a MySQL or MariaDB server, and taken out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dyno.cli.options import Word
from dyno.cli.terminal import screen

if TYPE_CHECKING:
    from dyno.servers.kit.server import KitServer


def part_names() -> list[str]:
    """What a shell offers for PART."""
    from dyno.servers.kit.parts import PARTS

    return list(PARTS)


PART = click.argument(
    "parts", nargs=-1, required=True, type=Word("part", part_names), metavar="PART..."
)
DSN = click.option(
    "--dsn",
    required=True,
    metavar="URL",
    help="The server, as `dyno kit --help` says.",
)


def reach(dsn: str) -> KitServer:
    """The server at a URL."""
    from dyno import driver
    from dyno.servers.kit import server

    return server.reach(driver.ask, dsn)


@click.group("kit")
def command() -> None:
    """Put functions and procedures into a MySQL or MariaDB server, and take them out again.

    For MySQL 5.6 to 8.x and MariaDB from 10.1. URL is mysql://user:password@host:3306 or, by its
    socket, mysql://user@%2Frun%2Fmysqld%2Fmysqld.sock; a password may come in MYSQL_PWD instead.
    `dyno kit status` lists the parts, docs/guides/kit/ has a page for each.
    """


@command.command("install")
@PART
@DSN
@click.option(
    "--account",
    "accounts",
    multiple=True,
    metavar="USER@HOST",
    help="Of async: may queue jobs; once for each. Who installs may in any case.",
)
def install(parts: tuple[str, ...], dsn: str, accounts: tuple[str, ...]) -> None:
    """Install each PART; one that is there already stays as it is."""
    from dyno.servers.kit import verbs
    from dyno.servers.kit.parts import find_parts

    found = find_parts(parts)
    verbs.install(reach(dsn), found, screen.line, accounts)


@command.command("upgrade")
@DSN
def upgrade(dsn: str) -> None:
    """Bring every part that is installed to this Dyno's version; mend what is damaged."""
    from dyno.servers.kit import verbs

    verbs.upgrade(reach(dsn), screen.line)


@command.command("status")
@DSN
def status(dsn: str) -> None:
    """Say what the server has of each part."""
    from dyno.servers.kit import verbs

    server = reach(dsn)
    rows = [(it.part.name, it.state, it.detail, it.part.summary) for it in verbs.status(server)]
    screen.table(("part", "state", "version", "what it is"), rows)


@command.command("uninstall")
@PART
@DSN
def uninstall(parts: tuple[str, ...], dsn: str) -> None:
    """Take each PART out; nothing of it stays behind."""
    from dyno.servers.kit import verbs
    from dyno.servers.kit.parts import find_parts

    found = find_parts(parts)
    verbs.uninstall(reach(dsn), found, screen.line)


@command.command("index-json")
@click.argument("column", metavar="SCHEMA.TABLE.COLUMN")
@click.option("--drop", is_flag=True, help="Take the index away.")
@DSN
def index_json(column: str, drop: bool, dsn: str) -> None:
    """Make an index over a column of JSON, for `CALL kit.search(…)`; the part json has it."""
    from dyno.servers.kit import routines

    if drop:
        routines.drop_index(reach(dsn), column)
        screen.line(f"{column}: the index is dropped")
        return
    routines.index_json(reach(dsn), column)
    screen.line(f"{column}: indexed; CALL kit.search('{column}', '{{…}}') finds rows")


@command.command("library")
def library() -> None:
    """Say where dyno_kit.so lies, to copy it to a server on another machine."""
    from dyno.servers.kit import library as _library

    screen.line(str(_library.carried()))
