"""`dyno explain`: one statement on a running server, stage by stage."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli.options import Duration, OutputFile
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.record.explanation import Explanation


@click.command("explain")
@click.argument("dsn", metavar="DSN")
@click.argument("sql", metavar="SQL")
@click.option(
    "--against",
    metavar="DSN|FILE",
    help="Show another server, or an earlier --json file, beside it, and the first stage that "
    "differs.",
)
@click.option(
    "--rollback",
    is_flag=True,
    help="Execute a statement that writes, each time in a transaction that is rolled back.",
)
@click.option(
    "--timeout",
    "limit_s",
    type=Duration(),
    default="30s",
    show_default=True,
    help="End a run at the server after this time.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, 1000),
    default=30,
    show_default=True,
    help="Rounds at most: each runs the statement once in every way.",
)
@click.option(
    "--for",
    "for_s",
    type=Duration(),
    default="10s",
    show_default=True,
    help="Begin no round after this time.",
)
@click.option("--json", "json_file", type=OutputFile(), help="Write the record to this file, too.")
def command(dsn: str, sql: str, against: str | None, json_file: Path | None, **words: Any) -> None:
    """Show where the time of one statement goes on a server that runs: connection, parse, optimise,
    execute by plan node, storage engine, log, reply.

    DSN is postgres://user:password@host:5432/database, mysql://… or mariadb://…, or the path of a
    SQLite or DuckDB file. The session is read-only by the server's own word. docs/guides/explain.md
    has an example of each engine.
    """
    from dyno import driver
    from dyno.cli.terminal.explanation import print_comparison, print_explanation
    from dyno.engines import PathRequest
    from dyno.report.html.page import write_user_file
    from dyno.servers.explain.explain import ExplainOptions, PathPlayer, explain_all
    from dyno.servers.explain.target import open_path

    options = ExplainOptions(words["runs"], words["for_s"], words["limit_s"], words["rollback"])
    request = PathRequest(sql, options.limit_s, options.writes)
    earlier = _read_file(against)
    dsns = [dsn] if against is None or earlier else [dsn, against]
    paths = [open_path(driver.ask, each, request) for each in dsns]
    players = [PathPlayer(path, driver.ask, sql, options) for path in paths]
    found = explain_all(players, options)
    if json_file:
        write_user_file(json_file, json.dumps(asdict(found[0]), indent=1) + "\n")
    found += [earlier] if earlier else []
    if len(found) == 1:
        print_explanation(found[0])
    else:
        print_comparison(found[0], found[1], is_paired=earlier is None)


def _read_file(against: str | None) -> Explanation | None:
    """The record that `--against` names, where it names a file of one; None for a database's."""
    if against is None or not Path(against).is_file():
        return None
    from dyno.record.decode import WrongShape, decode
    from dyno.record.explanation import Explanation

    head = Path(against).read_bytes()[:1]
    if head != b"{":
        return None
    try:
        return decode(Explanation, json.loads(Path(against).read_text()))
    except (ValueError, WrongShape) as error:
        hint = "it takes what --json wrote"
        raise UsageError(f"{against} is no explanation", cause=error, hint=hint) from None
