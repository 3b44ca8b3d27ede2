"""What plays just now: blocks so far, and the intervals so far, which are no verdict.

It is read from the trials that are written down, so a block shows once it is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from dyno.errors import DynoError
from dyno.judge.analysis.effect_words import describe_axis
from dyno.numbers import format_count
from dyno.pages.frame import LIVE, SitePage, quote_key, read_template
from dyno.pages.library import ListedRun
from dyno.report.html.markup import render
from dyno.report.words import format_ends

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
    try:
        now = listed.place.instrument.read_progress(listed.place.path)
    except (DynoError, OSError) as error:
        sentence = error.sentence if isinstance(error, DynoError) else str(error)
        return {**named, "damage": sentence}
    wanted = max(now.wanted, 1)
    return named | {
        "damage": "",
        "blocks": f"{now.blocks} of {wanted} blocks" if now.wanted else "",
        "percent": round(100 * min(now.blocks / wanted, 1.0)),
        "sentence": now.sentence,
        "trials": format_count(*now.played),
        "last": now.last_utc[11:19],
        "size_title": f"{describe_axis([row for _, row in now.rows])} so far" if now.rows else "",
        "rows": [
            {
                "title": title,
                "candidate": row.candidate,
                "size": format_ends(row)[0].removesuffix(" %"),
                "ends": format_ends(row)[1],
                "blocks": row.blocks,
            }
            for title, row in now.rows
        ],
    }
