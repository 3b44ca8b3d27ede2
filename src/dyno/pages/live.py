"""What plays just now: blocks so far, and the intervals so far, which are no verdict.

It is read from the trials that are written down, so a block shows once it is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from dyno import numbers
from dyno.compare.run_folder import DISK_RECORD, RunFolder, read_json
from dyno.disk.verdict import judge_disks
from dyno.errors import DynoError
from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.judge import analyse_now
from dyno.judge.analysis.run_view import RunView
from dyno.pages.frame import LIVE, SitePage, quote_key, read_template
from dyno.pages.library import ListedRun
from dyno.record import Comparison, Run, Trial
from dyno.record.disk import DiskRun
from dyno.report.html.markup import render
from dyno.report.names import name_measurements
from dyno.report.words import format_count

#: How often a page looks, with a script and without one.
EVERY_S, REFRESH_S = 1.0, 5


def build_live_page(runs: Sequence[ListedRun]) -> SitePage:
    """The page of all runs that are played."""
    playing = [run for run in runs if run.summary.is_playing]
    title = f"{format_count(len(playing), 'run')} playing" if playing else "Nothing is playing"
    return SitePage(
        title=title,
        heading=LIVE,
        body=render_state(runs),
        here=LIVE,
        events="live/events",
        refresh_s=REFRESH_S,
    )


def render_state(runs: Sequence[ListedRun]) -> Markup:
    """What the page has in it."""
    told = [_describe_run(run) for run in runs if run.summary.is_playing]
    now = f"{datetime.now(UTC):%H:%M:%S}"
    return render(read_template("live.html"), runs=told, now=now, refresh_s=REFRESH_S)


def find_state(runs: Sequence[ListedRun]) -> tuple[tuple[str, int], ...]:
    """What tells whether the page would show something else: the runs played, and their trials."""
    playing = [run for run in runs if run.summary.is_playing]
    return tuple((run.key, run.place.find_changed_ns()) for run in playing)


def _describe_run(listed: ListedRun) -> dict[str, object]:
    title = " vs ".join(listed.summary.candidates) or listed.key
    named = {"key": listed.key, "address": quote_key(listed.key), "title": title}
    path = listed.place.path
    try:
        if listed.summary.kind == "disk":
            told = _describe_disks(read_json(DiskRun, path / DISK_RECORD))
        else:
            folder = RunFolder(path)
            told = _describe_progress(folder.read_run(), folder.read_trials())
        return {**named, "damage": "", **told}
    except (DynoError, OSError) as error:
        sentence = error.sentence if isinstance(error, DynoError) else str(error)
        return {**named, "damage": sentence}


def _describe_disks(run: DiskRun) -> dict[str, object]:
    wanted = max(run.analyses[-1], 1)
    rows = judge_disks(run).comparisons if run.blocks > 1 else ()
    return {
        "blocks": f"{run.blocks} of {wanted} blocks",
        "percent": round(100 * min(run.blocks / wanted, 1.0)),
        "sentence": f"{len(run.jobs)} jobs on {len(run.sides)} paths",
        "trials": format_count(len(run.plays), "play"),
        "last": "",
        "rows": [
            {
                "title": row.job,
                "candidate": row.candidate,
                "size": numbers.format_signed_percent(row.slowdown_percent),
                "ends": numbers.format_interval(row.low_percent, row.high_percent),
                "blocks": run.blocks,
            }
            for row in rows
        ],
    }


def _describe_progress(run: Run, trials: Sequence[Trial]) -> dict[str, object]:
    now = analyse_now(run, trials, audits={})
    least = min(now.valid.values(), default=0)
    wanted = max(now.blocks, 1)
    rows = [row for row in _judge_so_far(run, trials) if row.primary]
    return {
        "blocks": f"{least} of {wanted} blocks",
        "percent": round(100 * min(least / wanted, 1.0)),
        "sentence": now.sentence,
        "trials": format_count(len(trials), "trial"),
        "last": trials[-1].started_utc[11:19] if trials else "",
        "rows": [
            {
                "title": it.title,
                "candidate": it.row.candidate,
                "size": numbers.format_signed_percent(it.row.slowdown_percent),
                "ends": numbers.format_interval(it.row.low_percent, it.row.high_percent),
                "blocks": it.row.blocks,
            }
            for it in name_measurements(run, rows)
        ],
    }


def _judge_so_far(run: Run, trials: Sequence[Trial]) -> list[Comparison]:
    """The comparisons without what the audits say, which need time and are the report's."""
    return Analysis(RunView(run, trials), {}).judge_comparisons()
