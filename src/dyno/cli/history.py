"""`dyno history`: where, over many runs, a metric seems to have changed its level.

Prints the series and the flagged changes in them; with `--gate` the exit code says what they mean.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from dyno.cli.judged_run import DOUBTFUL_EXIT, EXITS
from dyno.cli.options import STRICT, OutputFile, add_option
from dyno.cli.runs import find_runs_home
from dyno.cli.terminal import screen
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.record import FlaggedChange, History, HistorySeries

#: Exit codes by word; *heavier* is a count's.
EXITS_OF_STEPS = EXITS | {"heavier": 1}
#: The worst first.
WORST = ("invalid", "slower", "heavier", "inconclusive")


def choose_exit_code(history: History, since: datetime | None, *, strict: bool = False) -> int:
    """That of the worst slowdown which stands and was flagged on a run since then; 0 without.
    Where `strict`, that of a doubt where a fresh comparison of one of them is doubtful.
    """
    day = since.strftime("%Y-%m-%d") if since else ""
    standing = [
        each
        for series, each in history.flagged_changes
        if each.slowdown_percent > 0 and each.stands and each.state != "accepted"
        if series.is_counted(each)
        if series.points[each.at].began_utc >= day
    ]
    if strict and any(each.trial and each.trial.doubts for each in standing):
        return DOUBTFUL_EXIT
    words = {describe_flagged_change(each) for each in standing}
    return EXITS_OF_STEPS[next((each for each in WORST if each in words), "not slower")]


def describe_flagged_change(flagged: FlaggedChange) -> str:
    """What its fresh comparison said; a suspicion that nobody has tried is inconclusive. A step of
    a count needs none, but where its repetitions vary too far to tell.
    """
    if flagged.is_exact and flagged.is_decided:
        return "heavier"
    return flagged.trial.verdict if flagged.trial else "inconclusive"


BARS = "▁▂▃▄▅▆▇█"
#: Of a long series, the newest points are drawn.
DRAWN = 40
#: Of what is left out, so many are named.
NAMED = 5


def print_history(history: History) -> None:
    from dyno.report.words import describe_changes_worth, describe_one_sided

    screen.print_table(("series", "points", "time"), format_series_rows(history), right=(1,))
    screen.print_lines("\neach bar a build in a run, in the order of the builds; higher is worse\n")
    for series, flagged in history.flagged_changes:
        print_flagged_change(series, flagged, history.alpha)
    print_left_out(history)
    screen.print_paragraph(describe_changes_worth(history))
    if doubt := describe_one_sided(history):
        screen.print_paragraph(f"one-sided: {doubt}")


def format_series_rows(history: History) -> Iterator[tuple[object, ...]]:
    """Each series with its points drawn, and what cut it from an earlier one below."""
    from dyno.report.words import describe_reference, format_series

    for each in history.tested:
        at = [flagged.at for flagged in each.flagged_changes]
        sign = -1.0 if each.metric.better == "higher" else 1.0
        times = [sign * log(point.value) for point in each.points]
        yield format_series(each), len(each.points), draw_bars(times, at)
        if relative := describe_reference(each):
            yield f"  {relative}", "", ""
        if each.cut:
            yield f"  cut from an earlier series: {'; '.join(each.cut)}", "", ""


def draw_bars(values: Sequence[float], changes: Sequence[int]) -> str:
    """A bar for each value, the newest `DRAWN` of them; `|` where a change is flagged."""
    low, high = min(values), max(values)
    size = (high - low) or 1.0
    bars = [BARS[min(int((v - low) / size * len(BARS)), len(BARS) - 1)] for v in values]
    marked = [f"|{bar}" if at in changes else bar for at, bar in enumerate(bars)]
    return ("…" if len(bars) > DRAWN else "") + "".join(marked[-DRAWN:])


def print_flagged_change(series: HistorySeries, flagged: FlaggedChange, alpha: float) -> None:
    """What seems to have changed, between which builds, and what settles it or has."""
    from dyno.report.words import (
        format_change_place,
        format_change_size,
        format_host_change,
        format_past_verdict,
        format_point,
        format_series,
        format_state,
        name_ends,
    )

    before, after = series.points[flagged.at - 1 : flagged.at + 1]
    heading, size = screen.style_bold("flagged"), format_change_size(series, flagged, alpha)
    screen.print_line(heading, f": {format_series(series)}: {size}")
    for name, point in zip(name_ends(series, flagged), (before, after), strict=True):
        screen.print_line(f"  {name + ':':<7} {format_point(point)}")
    if place := format_change_place(series, flagged):
        screen.print_line(f"  place:  {place}")
    if hosts := format_host_change(flagged):
        screen.print_line(f"  beside: {hosts}")
    screen.print_line(f"  verdict: {format_past_verdict(series, flagged)}")
    if state := format_state(flagged):
        screen.print_line(f"  state:   {state}")
    asked = "which functions" if flagged.is_exact else "to confirm or reject"
    screen.print_line(f"  {asked}: {flagged.confirm or flagged.why_none}")
    screen.print_gap()


def print_left_out(history: History) -> None:
    short = len(history.series) - len(history.tested)
    if short:
        screen.print_line(f"not tested: {short} series of fewer than {history.points_least} points")
    for each in history.left_out[:NAMED]:
        screen.print_line(f"left out: {each.run}: {each.why}")
    if len(history.left_out) > NAMED:
        screen.print_line(f"left out: and {len(history.left_out) - NAMED} more")


@click.command("history")
@click.argument("folders", nargs=-1, metavar="[FOLDER]...")
@add_option(
    "--alpha SHARE",
    "The share of unchanged series that may get a flagged change.",
    click.FloatRange(0.002, 0.2),
    default=0.01,
)
@add_option(
    "--html FILE",
    "Write a page with a chart of each series.",
    OutputFile(dir_okay=False, writable=True),
    name="html_file",
)
@add_option(
    "--json FILE",
    "Write series, points and flagged changes as JSON (`record/history.py`, `History`).",
    OutputFile(dir_okay=False, writable=True),
    name="json_file",
)
@add_option("--gate", "Set the exit code by the slowdowns that stand.")
@STRICT
@add_option(
    "--since YYYY-MM-DD",
    "Gate only changes to builds that were played since this day (UTC).",
    click.DateTime(["%Y-%m-%d"]),
)
@add_option("--series NAME", "Only runs of the series of this name.", name="series_name")
@add_option("--reread", "Read every record again, and keep the points of each run anew.")
def command(folders: tuple[str, ...], alpha: float, reread: bool, **words: Any) -> int:
    """Flag changes over the runs in FOLDERs, for a fresh comparison to confirm.

    Runs with equal workload, settings, controls, driver and host (or its group) make a series for
    each primary metric, in the order of their builds. Where the level changes, Dyno names the
    builds before and after, and the command that compares them. Only that comparison gives a
    verdict, which is then shown beside the flagged change. So do rates that hold a limit (`dyno
    capacity`), and the operations and latencies of each path (`dyno disk`), which has no builds to
    compare. Counts of instructions (`dyno count`)
    make series of their own: a build's repetitions are held against those where its level began, as
    `dyno count` does, and *heavier* or *lighter* decides the gate by itself.

    The default FOLDER is that of runs. A URL that fsspec opens will do: s3://bucket/runs. From 100
    runs on an index of them is kept beside them, where DuckDB is installed.

    The exit code is 0. With --gate it depends on the slowdowns that the newest level still shows: 1
    if a fresh comparison confirmed one, 2 if one is flagged and not yet decided, 0 if there is none
    or all were rejected, 64 if no series is long enough; --html and --json alone take any number of
    points. With --strict it is 4 if such a comparison is doubtful. You may run the gate each night:
    SHARE is spent over all nights.
    """
    from dyno.compare.history.history import build_history
    from dyno.compare.history.homes import read_home
    from dyno.compare.history.remote_home import open_home
    from dyno.record.decode import encode
    from dyno.report.accepted import find_states, read_accepted
    from dyno.report.html.page import write_user_file

    is_gate = words["gate"] or words["strict"]
    if words["since"] and not is_gate:
        raise UsageError("--since needs --gate or --strict", hint="add --gate")
    files = [file.resolve() for file in (words["json_file"], words["html_file"]) if file]
    if len(set(files)) < len(files):
        message = f"--json and --html both name {words['json_file']}"
        raise UsageError(message, hint="name two files")
    homes = [open_home(word) for word in folders or (str(find_runs_home()),)]
    with hold_collector():
        read = [read_home(home, anew=reread) for home in homes]
        found = build_history(read, alpha, words["series_name"] or "")
    found = find_states(read_accepted(Path.cwd()), found)
    if not found.tested and (is_gate or not files):
        raise build_no_series_error(found)
    print_history(found)
    if words["json_file"]:
        text = json.dumps(encode(found, former_keys=True), indent=1, allow_nan=False)
        write_user_file(words["json_file"], f"{text}\n")
    if words["html_file"]:
        write_page(found, words["html_file"])
    return choose_exit_code(found, words["since"], strict=words["strict"]) if is_gate else 0


@contextmanager
def hold_collector() -> Iterator[None]:
    """Looks for no cycles meanwhile: all points of a history stay, however many there are."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def build_no_series_error(history: History) -> UsageError:
    from dyno.numbers import format_count

    longest = max((len(each.points) for each in history.series), default=0)
    cuts = [clause for each in history.series for clause in each.cut]
    cut = f"; series were cut where {cuts[-1]}" if cuts else ""
    missing = [f"{each.run} is left out: {each.why}" for each in history.left_out[:NAMED]]
    return UsageError(
        f"no series is long enough: the longest has {format_count(longest, 'point')}",
        cause="; ".join(missing),
        hint=f"at least {history.points_least} are needed, each a build in a run, with equal "
        f"workload, settings, controls, host and driver{cut}",
    )


def write_page(history: History, file: Path) -> None:
    from dyno.report import history as history_page
    from dyno.report.html.page import write_user_file

    links = history_page.ReportLinks(partial(find_report, file.resolve().parent))
    write_user_file(file, history_page.build_history_page(history, links))
    screen.print_gap()
    screen.print_line(f"page: {file}")


def find_report(folder: Path, run: str) -> str:
    """Where the report of the run at a path is, seen from a page in `folder`; empty where there is
    none on this machine.
    """
    report = Path(run, "report.html")
    return quote(os.path.relpath(report, folder)) if report.is_file() else ""
