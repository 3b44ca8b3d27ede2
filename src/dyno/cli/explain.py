"""`dyno explain`: one statement on a running server, stage by stage."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli.exits import write_json_file
from dyno.cli.options import DURATION, OutputFile, add_option
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.engines import PathRequest, StatementPath
    from dyno.record import Candidate
    from dyno.record.explanation import Explanation
    from dyno.runs.resolve.draft import RunDraft


class StatementCommand(click.Command):
    """A command whose SQL may begin with a comment, which is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-- why` is told from `--option` by its blank."""
        told = [f" {each}" if re.match(r"--\s", each) else each for each in args]
        return super().parse_args(ctx, told)


@click.command("explain", cls=StatementCommand)
@click.argument("dsn", metavar="DSN")
@click.argument("sql", metavar="SQL")
@add_option(
    "--against DSN|FILE",
    "Show another server, or an earlier --json file, beside it: whether both answer the same, "
    "and the first stage that differs.",
)
@add_option(
    "--setup FILE",
    "An SQL file or dump that makes the tables of an engine that is started for this.",
    click.Path(exists=True, dir_okay=False, path_type=Path),
)
@add_option(
    "--rollback", "Execute a statement that writes, each time in a transaction that is rolled back."
)
@add_option(
    "--timeout",
    "End a run at the server after this time.",
    DURATION,
    name="limit_s",
    default="30s",
)
@add_option(
    "--runs",
    "Rounds at most: each runs the statement once in every way.",
    click.IntRange(1, 1000),
    default=30,
)
@add_option("--for", "Begin no round after this time.", DURATION, name="for_s", default="10s")
@add_option("--json", "Write the record to this file, too.", OutputFile(), name="json_file")
def command(dsn: str, sql: str, against: str | None, json_file: Path | None, **words: Any) -> None:
    """Show where the time of one statement goes on a server that runs: connection, parse, optimise,
    execute by plan node, storage engine, log, reply.

    DSN is postgres://user:password@host:5432/database, mysql://… or mariadb://…, the path of a
    SQLite or DuckDB file, or ENGINE@VERSION: that engine is started for it, with the tables of
    --setup. The session is read-only by the server's own word. docs/guides/explain.md has an
    example of each engine.

    \b
    dyno explain postgres://app@localhost/shop "SELECT * FROM orders WHERE customer = 7"
    dyno explain postgres@13 "SELECT * FROM orders" --setup shop.sql --against postgres@18
    """
    from dyno import driver
    from dyno.answers import Sameness
    from dyno.cli.terminal.explanation import print_comparison, print_explanation
    from dyno.engines import PathRequest
    from dyno.record.decode import encode
    from dyno.servers.explain.explain import (
        ExplainOptions,
        PathPlayer,
        compare_paths,
        explain_all,
    )

    options = ExplainOptions(words["runs"], words["for_s"], words["limit_s"], words["rollback"])
    request = PathRequest(sql, options.limit_s, options.writes)
    earlier = _read_file(against)
    dsns = [dsn] if against is None or earlier else [dsn, against]
    if words["setup"]:
        _check_setup(dsns)
    with ExitStack() as stack:
        paths = [stack.enter_context(reach(each, request, words["setup"])) for each in dsns]
        players = [PathPlayer(path, driver.ask, sql, options) for path in paths]
        found = explain_all(players, options)
    if json_file:
        write_json_file(json_file, encode(found[0]))
    found += [earlier] if earlier else []
    if len(found) == 1:
        print_explanation(found[0])
    else:
        rows = Sameness("not compared", "a file keeps no rows")
        print_comparison(
            found[0],
            found[1],
            rows if earlier else compare_paths(*players),
            is_paired=earlier is None,
        )


@contextmanager
def reach(dsn: str, request: PathRequest, setup: Path | None) -> Iterator[StatementPath]:
    """The statement's path there; an engine that is named by its version is up meanwhile."""
    from dyno import driver
    from dyno.engines import find_engine
    from dyno.servers.explain.target import find_started, open_path, open_started

    if (started := find_started(driver.ask, dsn)) is None:
        yield open_path(driver.ask, dsn, request)
        return
    from dyno.instruments.time.loaded_engine import run_loaded

    if find_engine(started.engine, driver.ask).embedded and not setup:
        hint = "write the path of a file, or name an SQL file that makes them: --setup FILE"
        raise UsageError(f"{dsn} is started without tables", hint=hint)
    with _draft_start(dsn, setup) as draft:
        _check_keys(dsn, draft.candidates[0])
        with run_loaded(draft) as server:
            yield open_started(driver.ask, started, server.session, request)


@contextmanager
def _draft_start(dsn: str, setup: Path | None) -> Iterator[RunDraft]:
    """The engine, and a workload that does nothing but load the file."""
    from dyno import scratch
    from dyno.cli import judged_run
    from dyno.cli.workload_words import prepare_experiment
    from dyno.runs.experiment import compare_candidates
    from dyno.runs.resolve.experiment import draft_run

    judged_run.sweep()
    options = {"setup": str(setup.resolve())} if setup else {}
    with scratch.make_folder("explain") as folder:
        script = folder / "nothing.pgbench"
        script.write_text("SELECT 1;\n")
        experiment = prepare_experiment(compare_candidates([dsn], str(script), options))
        yield draft_run(experiment, judged_run.print_progress)


def _check_keys(dsn: str, side: Candidate) -> None:
    """`UsageError` for keys that a statement's session would not have."""
    keys = {**side.settings, **side.controls} if side.embedded else side.controls
    if keys:
        name = next(iter(keys))
        hint = "dyno compare has them"
        raise UsageError(f"dyno explain does not take the key '{name}' in {dsn}", hint=hint)


def _check_setup(dsns: Sequence[str]) -> None:
    """`UsageError` where nothing is started that `--setup` could be loaded into."""
    from dyno import driver
    from dyno.servers.explain.target import find_started

    is_there = ":" in dsns[0] or Path(dsns[0]).is_file()
    if is_there and not any(find_started(driver.ask, each) for each in dsns):
        hint = "name engine@version, which is started with it, or load the file yourself"
        raise UsageError(f"--setup makes no tables in {dsns[0]}, which is there", hint=hint)


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
