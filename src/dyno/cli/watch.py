"""`dyno watch`: a server's counters recorded, and what it was doing at any time since."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli.exits import end_by_signals
from dyno.cli.judged_run import print_progress
from dyno.cli.options import (
    DURATION,
    SECONDS,
    SIZE,
    HeadedGroup,
    OutputFile,
    Parsed,
    add_option,
    parse_duration,
)
from dyno.cli.terminal import screen
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.servers.watch.reading import Asked, ReadRows, Span, WatchRecord

#: So much of a cell is shown.
CELL = 60


def parse_moment(text: str) -> datetime:
    """`now`, `10m` (ago), `03:10` (the last one), `2026-11-22`, `2026-11-22T03:10:00`: in UTC."""
    now, text = datetime.now(UTC), text.strip()
    if text == "now":
        return now
    if re.fullmatch(rf"(?:\d+(?:\.\d+)?(?:{'|'.join(SECONDS)}))+", text):
        return now - timedelta(seconds=parse_duration(text))
    clock = re.fullmatch(r"\d{1,2}:\d{2}(?::\d{2})?", text)
    try:
        if clock:
            today = f"{now:%Y-%m-%d}T{text.zfill(len(text) + (text.index(':') == 1))}"
            found = datetime.fromisoformat(today).replace(tzinfo=UTC)
            return found if found <= now else found - timedelta(days=1)
        found = datetime.fromisoformat(text.replace(" ", "T"))
    except ValueError:
        raise ValueError(f"'{text}' is no time: now, 10m, 03:10, 2026-11-22T03:10") from None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


MOMENT = Parsed("time", parse_moment)


def format_cell(text: str | None) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= CELL else f"{line[: CELL - 1]}…"


def format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


FOLDER = "watched"
#: How much a watcher gives way (nice(1)): a tenth of a busy core's time is left to it.
NICENESS = 10
#: How long an answer is waited for once a watch is to end.
LAST_ANSWER_S = 2.0
FROM = add_option(
    "--from", "The record's folder.", click.Path(path_type=Path), name="folder", default=FOLDER
)
ROWS = add_option("--rows", "At most.", click.IntRange(0), default=10)
WHERE = add_option(
    "--where SQL", "Only rows for which this condition holds.", default="TRUE", show_default=False
)
JSON = add_option("--json", "All rows, as JSON.", name="as_json")


@click.group("watch", cls=HeadedGroup, invoke_without_command=True)
@add_option("--dsn URL", "The server to record, as docs/guides/addresses.md says.")
@add_option(
    "--into",
    "The record's folder; one for each server.",
    click.Path(path_type=Path),
    default=FOLDER,
)
@add_option("--every", "Between samples.", DURATION, default="1s")
@add_option("--flush", "Between writes to disk.", DURATION, default="1m")
@add_option("--keep", "Bytes, at most.", SIZE, default="500MB")
@add_option("--keep-age", "And age.", DURATION, default="14d")
@add_option("--for", "Stop after this time; default: when interrupted.", DURATION, name="for_s")
@click.pass_context
def command(context: click.Context, /, **words: Any) -> None:
    """Record what a MySQL, MariaDB or PostgreSQL server counts, and read it back.

    `dyno watch --dsn URL` records until it is interrupted. `top`, `as-of`, `diff` and `plot` read
    the record, also while it is written. All times are UTC: 03:10, 2026-11-22T03:10, 10m (ago),
    now. docs/guides/kit/watch.md has an example of each.
    """
    if context.invoked_subcommand is not None:
        return
    if not words["dsn"]:
        raise UsageError("no server is named", hint="dyno watch --dsn URL, or one of top, as-of, …")
    _record(**words)


def _record(dsn: str, into: Path, for_s: float | None, **words: Any) -> None:
    from dyno import driver
    from dyno.servers.watch import servers, store
    from dyno.servers.watch.reading import WatchRecord
    from dyno.servers.watch.recorder import Recorder, RecorderOptions
    from dyno.servers.watch.store import list_segments

    reader = store.open_library(driver.ask, screen.print_line)
    watched = servers.reach_server(driver.ask, dsn)
    for remark in watched.remarks:
        screen.print_line(f"note: {remark}")
    wanted = RecorderOptions(
        every_s=words["every"],
        flush_s=words["flush"],
        keep_bytes=words["keep"],
        keep_s=words["keep_age"],
        for_s=for_s or float("inf"),
    )
    stop = threading.Event()
    with (
        store.open_folder(into, watched.kind, watched.name),
        _lower_priority(),
        driver.Conversation(limit_s=60) as ask,
    ):
        writer = store.WatchStore(into.absolute(), driver.ask, reader, _print_note)
        recorder = Recorder(ask, watched, writer, wanted, screen.print_line, stop)
        if list_segments(into):
            try:
                recorder.go_on(WatchRecord(into.absolute(), driver.ask, reader, _print_note))
            except UsageError as nothing:  # all of it is damaged
                _print_note(f"{nothing.message}; counters start again from zero")
        screen.print_line(f"recording {watched.version} at {watched.name} into {into}/")
        late = threading.Timer(LAST_ANSWER_S, ask.abandon)
        try:
            with end_by_signals(stop, late.start):
                taken = recorder.run()
        finally:
            late.cancel()
    if not taken:
        raise KeyboardInterrupt
    screen.print_line(
        f"{taken} samples, {screen.format_bytes(store.measure_size_bytes(into))} in {into}/"
    )


@contextmanager
def _lower_priority() -> Iterator[None]:
    """On a machine that both share, what is watched comes first; not where the kernel shares cores
    among sessions first (autogroups): this one is the terminal's, whose value is not ours to set.
    """
    before = os.nice(0)
    os.nice(NICENESS)
    try:
        yield
    finally:
        with suppress(PermissionError):  # only root may take it back; the process ends anyway
            os.setpriority(os.PRIO_PROCESS, 0, before)


def _print_note(sentence: str) -> None:
    """What a reader of the record should know; on stderr, since stdout may be JSON."""
    screen.print_line(f"note: {sentence}", err=True)


def _open(folder: Path) -> WatchRecord:
    from dyno import driver
    from dyno.servers.watch import reading, store

    library = store.open_library(driver.ask, print_progress)
    return reading.WatchRecord(folder.absolute(), driver.ask, library, _print_note)


@command.command("as-of")
@click.argument("time", type=MOMENT)
@click.argument("report", required=False)
@FROM
@WHERE
@ROWS
@JSON
def as_of(time: datetime, report: str | None, folder: Path, **shown: Any) -> None:
    """Show a REPORT as it stood at a TIME: the counters since the server started. Without one, the
    reports are listed.

    A report has the name and columns of a view of the sys schema; latencies are in ps.
    """
    record = _open(folder)
    if not report:
        _list(record)
        return
    _show(record, report, record.find_span(time), shown)


@command.command("diff")
@click.argument("times", nargs=2, type=MOMENT, metavar="SINCE UNTIL")
@click.argument("report", required=False)
@FROM
@WHERE
@ROWS
@JSON
def diff(times: tuple[datetime, datetime], report: str | None, folder: Path, **shown: Any) -> None:
    """Show what a REPORT's counters grew by between two times. Without one, the reports are
    listed.
    """
    record = _open(folder)
    if not report:
        _list(record)
        return
    since, until = times
    _show(record, report, record.find_span(until, since), shown)


@command.command("top")
@click.argument("time", type=MOMENT, default="now")
@add_option("--for", "Until TIME.", DURATION, name="for_s", default="1m")
@FROM
@ROWS
def top(time: datetime, for_s: float, folder: Path, rows: int) -> None:
    """Show what the server was doing in the minute before TIME (default: now): load, statements,
    waits, files, sessions.
    """
    from dyno.servers.watch.reading import TOP, list_reports, read_title

    record = _open(folder)
    span = record.find_span_before(time, for_s)
    screen.print_line(_format_heading(span))
    for path in list_reports(record.kind, TOP).values():
        screen.print_gap()
        screen.print_line(screen.style_bold(read_title(path)))
        looked = record.find_asked(path, span)
        if looked.is_between:
            _print(record.ask(path, span, rows))
        else:
            screen.print_line(f"not known yet: asked in every {looked.every}th sample")


def _list(record: WatchRecord) -> None:
    from dyno.servers.watch.reading import list_reports, read_title

    found = list_reports(record.kind)
    screen.print_table(
        ("report", "shows"), [(name, read_title(path)) for name, path in found.items()]
    )


def _show(record: WatchRecord, report: str, span: Span, shown: Mapping[str, Any]) -> None:
    as_json = shown["as_json"]
    most = -1 if as_json else shown["rows"]
    path = record.find_report(report)
    answer = record.ask(path, span, most, shown["where"])
    if as_json:
        screen.print_lines(
            json.dumps([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
        )
        return
    looked = record.find_asked(path, span)
    screen.print_line(_format_heading(span))
    if (looked.since, looked.until) != (span.since, span.until):
        screen.print_line(f"asked in every {looked.every}th sample: {_describe_asked(looked)}")
    screen.print_gap()
    _print(answer)


def _describe_asked(looked: Asked) -> str:
    if looked.since is None:
        return f"as of {format_time(looked.until)}"
    if not looked.is_between:
        return f"not since {format_time(looked.until)}"
    return f"{format_time(looked.since)} to {format_time(looked.until)}"


def _format_heading(span: Span) -> str:
    if span.since is None:
        return f"as of {format_time(span.until)}"
    restarts = f", the server restarted {span.restarts} times" if span.restarts else ""
    return (
        f"{format_time(span.since)} to {format_time(span.until)}: {span.samples} samples{restarts}"
    )


def _print(answer: ReadRows) -> None:
    shown = [[format_cell(it) for it in row] for row in answer.rows]
    width = sum(max(map(len, column)) + 2 for column in zip(answer.columns, *shown, strict=True))
    if not shown:
        screen.print_line("nothing")
    elif width <= screen.make_console().width:
        screen.print_table(answer.columns, shown)
    else:
        for row in shown:
            fields = zip(answer.columns, row, strict=True)
            screen.print_paragraph(
                "  ".join(f"{name}={it}" for name, it in fields if it not in ("", "0"))
            )


@command.command("plot")
@click.argument("since", type=MOMENT)
@click.argument("until", type=MOMENT, default="now")
@FROM
@add_option("-o, --output", "The page.", OutputFile(), default="watched.html")
def plot(since: datetime, until: datetime, folder: Path, output: Path) -> None:
    """Plot what the server did between two times, as one HTML file."""
    from dyno.report.html.page import write_user_file
    from dyno.report.watched import TimePlot, build_watched_page
    from dyno.servers.watch.reading import PLOT, list_reports, read_title

    record = _open(folder)
    span = record.find_span(until, max(since, record.begins))
    plots = [
        TimePlot(read_title(path), [(it.name, it.points) for it in record.read_curves(path, span)])
        for path in list_reports(record.kind, PLOT).values()
    ]
    write_user_file(output, build_watched_page(record.server, _format_heading(span), plots))
    screen.print_line(f"wrote {output}")
