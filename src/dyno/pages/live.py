"""What plays just now: blocks so far, and the intervals so far, which are no verdict.

It is read from the trials that are written down, so a block shows once it is over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup

from dyno import numbers
from dyno.errors import DynoError
from dyno.instruments.capacity.folder import CapacityFolder
from dyno.instruments.disk.verdict import judge_disks
from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.judge import analyse_now
from dyno.judge.analysis.run_view import RunView
from dyno.judge.capacity import judge_capacity
from dyno.pages.frame import LIVE, SitePage, quote_key, read_template
from dyno.pages.library import ListedRun
from dyno.record import Comparison, Run, RunKind, Trial
from dyno.record.disk import DiskRun
from dyno.report.html.markup import render
from dyno.report.names import name_measurements
from dyno.report.words import format_count
from dyno.runs.run_folder import DISK_RECORD, RunFolder, read_json

#: How often a page looks, with a script and without one.
EVERY_S, REFRESH_S = 1.0, 5

#: What is said of a run unless its kind says otherwise.
PLAIN = {"damage": "", "blocks": "", "size_title": "slowdown so far"}


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
        return {**named, **PLAIN, **_DESCRIBERS[listed.summary.kind](path)}
    except (DynoError, OSError) as error:
        sentence = error.sentence if isinstance(error, DynoError) else str(error)
        return {**named, "damage": sentence}


def _describe_count(path: Path) -> dict[str, object]:
    """A count is written down at its end, so nothing is known of it before."""
    del path
    return {"sentence": "instructions are counted; the record is written at the end"}


def _describe_capacity(path: Path) -> dict[str, object]:
    folder = CapacityFolder(path)
    plan, blocks = folder.read_plan(), folder.read_blocks()
    result = judge_capacity(plan, blocks) if len(blocks) > 1 else None
    return {
        "blocks": f"{len(blocks)} of {plan.blocks} blocks",
        "percent": round(100 * min(len(blocks) / max(plan.blocks, 1), 1.0)),
        "sentence": f"which rate holds {plan.limit_words}?",
        "trials": format_count(sum(len(block.restarts) for block in blocks), "restart"),
        "last": "",
        "size_title": "change of the rate so far",
        "rows": [
            {
                "title": f"rate that holds {plan.limit_words}",
                "candidate": row.candidate,
                "size": numbers.format_signed_percent(row.change_percent),
                "ends": numbers.format_interval(row.low_percent, row.high_percent),
                "blocks": len(blocks),
            }
            for row in (result.comparisons if result else ())
        ],
    }


def _describe_disks(path: Path) -> dict[str, object]:
    run = read_json(DiskRun, path / DISK_RECORD)
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


def _describe_comparison(path: Path) -> dict[str, object]:
    folder = RunFolder(path)
    run, trials = folder.read_run(), folder.read_trials()
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


_DESCRIBERS: dict[RunKind, Callable[[Path], dict[str, object]]] = {
    "comparison": _describe_comparison,
    "count": _describe_count,
    "capacity": _describe_capacity,
    "disk": _describe_disks,
}


def _judge_so_far(run: Run, trials: Sequence[Trial]) -> list[Comparison]:
    """The comparisons without what the audits say, which need time and are the report's."""
    return Analysis(RunView(run, trials), {}).judge_comparisons()
