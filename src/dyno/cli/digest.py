"""`dyno digest`: the classes of a log's statements, without playing anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli.options import add_option
from dyno.cli.terminal import screen

if TYPE_CHECKING:
    from dyno.workloads.replay.classes import LogDigest, LoggedClass
    from dyno.workloads.replay.logs import Log

HOUR_S = 3600
#: Letters of a digest on a terminal; JSON has all.
LETTERS = 300


@click.command("digest")
@click.argument("log", type=click.Path(path_type=Path), metavar="LOG")
@add_option("--limit N", "Show N classes.", click.IntRange(1), default=20, show_default=False)
@add_option(
    "--log-prefix FORMAT",
    "The log_line_prefix of the server that wrote LOG, where it cannot be guessed.",
    default="",
)
@add_option("--json", "Print everything as JSON instead.", name="as_json")
def command(log: Path, limit: int, log_prefix: str, as_json: bool) -> None:
    """Rank the classes of a server log's statements by their time: calls, rows, users, hours.

    Nothing is played, and no server is needed. LOG is any that `--log` replays. Statements that
    differ in literals only are one class.
    """
    from dyno.workloads.replay.classes import count_classes
    from dyno.workloads.replay.formats import LogFile, read_log

    read = read_log(LogFile(log, log_prefix))
    found = count_classes(read)
    if as_json:
        screen.print_verbatim(json.dumps(_build_record(read, found), indent=1))
        return
    span = screen.format_duration(max(found.ended_s - found.began_s, 0))
    screen.print_line(
        f"{read.kind}: {found.calls:,} statements in {len(found.classes):,} classes over {span}"
        + (f", {found.total_s:,.1f} s in all" if found.total_s else ", whose log has no durations")
    )
    _print_classes(found, limit)
    if len(found.classes) > limit:
        rest = found.classes[limit:]
        screen.print_line(
            f"not shown: {len(rest):,} of the classes, calls: {sum(it.calls for it in rest):,} "
            f"(--limit {len(found.classes)})"
        )
    for why, it in read.notes.items():
        screen.print_line(f"note: {it.count:,} {why} ({it})", err=True)
    for why, it in (*found.left_out.items(), *read.unread.items()):
        screen.print_line(f"left out: {it.count:,} {why} ({it})", err=True)


def _print_classes(found: LogDigest, limit: int) -> None:
    """The table, without the columns of which the log says nothing."""
    shown = found.classes[:limit]
    columns: list[tuple[str, list[str]]] = [("calls", [f"{it.calls:,}" for it in shown])]
    if found.total_s:
        columns += [
            ("total s", [f"{it.total_s:,.2f}" for it in shown]),
            ("share", [f"{it.total_s / found.total_s:.0%}" for it in shown]),
            ("mean ms", [_format_ms(it.mean_s) for it in shown]),
            ("p95 ms", [_format_ms(it.find_percentile_s(95)) for it in shown]),
        ]
    if any(it.rows_sent is not None for it in shown):
        columns.append(("rows/examined", [_format_rows(it) for it in shown]))
    numbers = range(len(columns))
    # the statement gets the rest of the screen
    if any(it.users for it in shown):
        columns.append(("users", [_format_users(it) for it in shown]))
    if found.ended_s - found.began_s > HOUR_S:
        columns.append(("busiest hour", [_format_hour(it) for it in shown]))
    digests = (it.digest for it in shown)
    columns.append(
        ("statement", [it if len(it) <= LETTERS else f"{it[:LETTERS]}…" for it in digests])
    )
    heads, cells = zip(*columns, strict=True)
    screen.print_table(heads, zip(*cells, strict=True), right=numbers)


def _format_ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:,.3g}"


def _format_rows(it: LoggedClass) -> str:
    if it.rows_sent is None or it.rows_read is None:
        return ""
    return f"{it.rows_sent / it.calls:,.4g}/{it.rows_read / it.calls:,.4g}"


def _format_users(it: LoggedClass) -> str:
    names = [name for name, _ in it.users.most_common(1)]
    more = f" +{len(it.users) - 1}" if len(it.users) > 1 else ""
    return f"{names[0]}{more}" if names else ""


def _format_hour(it: LoggedClass) -> str:
    ((hour, count),) = it.hours.most_common(1)
    began = datetime.fromtimestamp(hour * HOUR_S, UTC)
    return f"{began:%m-%d %H:00} ({count / it.calls:.0%})"


def _build_record(log: Log, found: LogDigest) -> dict[str, Any]:
    """`--json`: `classes` with whole digests, most expensive first; times in seconds, hours UTC."""
    return {
        "kind": log.kind,
        "statements": found.calls,
        "span_s": round(max(found.ended_s - found.began_s, 0), 6),
        "classes": list(_list_classes(found)),
        "notes": [f"{it.count:,} {why} ({it})" for why, it in log.notes.items()],
        "left_out": [
            f"{it.count:,} {why} ({it})"
            for why, it in (*found.left_out.items(), *log.unread.items())
        ],
    }


def _list_classes(found: LogDigest) -> Iterator[dict[str, Any]]:
    for it in found.classes:
        yield {
            "digest": it.digest,
            "kind": it.kind,
            "line": it.line,
            "calls": it.calls,
            "timed": it.timed,
            "total_s": round(it.total_s, 6) if it.timed else None,
            "mean_s": it.mean_s,
            "p95_s": it.find_percentile_s(95),
            "longest_s": it.longest_s if it.timed else None,
            "rows_sent": it.rows_sent,
            "rows_examined": it.rows_read,
            "users": dict(it.users.most_common()),
            "hours": {
                datetime.fromtimestamp(hour * HOUR_S, UTC).isoformat(): count
                for hour, count in sorted(it.hours.items())
            },
        }
